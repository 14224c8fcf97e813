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
	// 101 is stamped, total 1044.00
	// 102 again in 1h0m0s, outcome unknown: false
	// 103 is for a person, reason failed, next fix_same_key
	// 104 is refused with CFDI40147, next fix_same_key, fields map[items:rejected by the SAT: CFDI40147]
	// stamps issued: 1
}
