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
	// level=DEBUG msg=unavez event=attempt op=invoices.create provider=facty key_sha256=2fdaf5b2ffa8 attempt=1 kind=write effect=not_executed status=429 code=RATE_LIMITED
	// level=INFO msg=unavez event=wait op=invoices.create provider=facty key_sha256=2fdaf5b2ffa8 wait=1s
	// level=DEBUG msg=unavez event=attempt op=invoices.create provider=facty key_sha256=2fdaf5b2ffa8 attempt=2 kind=write effect=unknown status=502
	// level=DEBUG msg=unavez event=attempt op=invoices.create provider=facty key_sha256=2fdaf5b2ffa8 attempt=3 kind=lookup effect=not_executed status=200
	// level=DEBUG msg=unavez event=finished op=invoices.create provider=facty key_sha256=2fdaf5b2ffa8
	// stamped after 2 writes and 1 lookups, stamps issued: 1
}
