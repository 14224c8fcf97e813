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
	// POST /authenticated/acme/invoices
	// GET /authenticated/acme/invoices?idempotencyKey=mi-erp%3Atest%3Afactura%3A4471
	// A-1 stamped, stamps issued: 1
	// found by its UUID: true
	// refused, CFDI40161, next fix_same_key
	// stamped under the same key: true
}
