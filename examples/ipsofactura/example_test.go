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
	// 503 STAMPING_OUTCOME_UNKNOWN: retry_later, next resend, in 1m0s
	// B-77 has a UUID: true
	// same UUID: true, replayed: true, stamps issued: 1
}
