package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/unavez/unavez/sandbox"
)

// An invoice is stamped and the answer is lost. Sent again under the same key, it
// is answered from memory, and the ledger still holds one stamp.
func Example() {
	srv := sandbox.New()
	if err := srv.Listen(); err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	srv.Script(sandbox.CloseAfter())
	for range 2 {
		req, err := http.NewRequest(http.MethodPost, srv.URL()+"/cfdi/timbrar",
			strings.NewReader(`{"rfc_emisor":"EKU9003173C9","serie":"B","folio":"77"}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		req.GetBody = nil // or net/http sends it again behind our back
		req.Header.Set("x-api", "any")
		req.Header.Set("Idempotency-Key", "mi-erp:test:factura:77")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			fmt.Println("no answer, stamps:", srv.Effects("mi-erp:test:factura:77"))
			continue
		}
		_ = res.Body.Close()
		fmt.Println(res.StatusCode, "replayed:", res.Header.Get("Idempotency-Replayed"))
	}
	fmt.Println("stamps:", srv.Effects("mi-erp:test:factura:77"))
	// Output:
	// no answer, stamps: 1
	// 201 replayed: true
	// stamps: 1
}
