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
	// invoice_invalid: refused, next fix_same_key
	// corrected: stamped 1044.00
	// invoice_rejected: refused, next fix_new_key
	// corrected: stamped 1044.00
	// credit_notes.create stamped
	// invoice mi-erp:test:pedido:A-1042
	// invoice mi-erp:test:pedido:A-1043/2
	// credit-notes mi-erp:test:nota:NC-31
}
