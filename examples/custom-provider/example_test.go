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
	// 4471 is issued, requests: 2, invoices: 1
	// 4472 is issued, requests: 4, invoices: 2
	// 4472 with another amount: key reused true, requests: 4, invoices: 2
	// unavez: invoices.create at timbra: refused: Currency: is not part of Timbra's body; give what Timbra takes in Extra or Raw, next: fix same key
}
