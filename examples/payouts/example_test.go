package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2026-0001 is processing, requests: 2, payouts: 1
	// 2026-0002: refused, effect not_executed, next fix_new_key
	// 2026-0003: needs_manual_review, effect unknown, next review
	// 2026-0003: needs_manual_review, effect unknown, next review
	// requests in all: 4
	// 2026-0003 is completed
}
