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
	// 4471: retry_later, effect unknown, next reconcile
	// 4471: stamped after all, stamps issued for mi-erp:test:factura:4471: 1
	// 4472: retry_later, effect unknown, next reconcile, in 1s
	// 4472: stamped, stamps issued for mi-erp:test:factura:4472: 1
}
