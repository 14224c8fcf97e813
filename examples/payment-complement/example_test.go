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
	// invoice   mi-erp:test:factura:4475 13688.00
	// payment 1 mi-erp:test:pago:4475/1 8000.00
	// payment 2 mi-erp:test:pago:4475/2 5688.00
	// stamps issued: 3
}
