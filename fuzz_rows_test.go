package unavez_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/unavez/unavez"
)

// answering answers every request with one body. It is for lookups alone.
type answering struct {
	status int
	body   []byte
	writes int
}

func (a *answering) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		a.writes++
	}
	return &http.Response{
		StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
		Request: request,
	}, nil
}

// FuzzRows gives any bytes as the answer to a lookup. A row is adopted only if it repeats what was asked, exactly and once, and proves
// that it is stamped; it is then returned byte for byte.
func FuzzRows(f *testing.F) {
	const uuid = `"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"`
	const ours, row = `"idempotencyKey":"` + propertyKey + `"`, `{"serie":"B","folio":"77","rfc_emisor":"EKU9003173C9","folio_fiscal":` + uuid + `}`
	for _, body := range []string{
		`{"invoices":[]}`, `{"invoices":null}`, `{}`, `[]`, `null`, `{"data":[]}`, `{"invoices":[],"next":"p2"}`, `{"invoices":{}}`,
		`{"invoices":[{` + ours + `,"status":"stamped","uuid":` + uuid + `}]}`,
		`{"invoices":[{` + ours + `,"status":"stamped","uuid":` + uuid + `},{` + ours + `,"status":"failed"}]}`,
		`{"invoices":[{"idempotencyKey":"x","status":"stamped","uuid":` + uuid + `}]}`,
		`{"invoices":[{"idempotencyKey":"` + strings.ToUpper(propertyKey) + `","status":"stamped","uuid":` + uuid + `}]}`,
		`{"invoices":[{"idempotencyKey":"` + propertyKey + ` ","status":"stamped","uuid":` + uuid + `}]}`,
		`{"invoices":[{"IdempotencyKey":"` + propertyKey + `","status":"stamped","uuid":` + uuid + `}]}`,
		`{"invoices":[{"idempotencyKey":"x",` + ours + `,"status":"stamped","uuid":` + uuid + `}]}`,
		`{"invoices":[{` + ours + `,"idempotencyKey":"x","status":"stamped","uuid":` + uuid + `}]}`,
		`{"invoices":[{"idempotency\u004bey":"` + propertyKey + `","status":"stamped","uuid":` + uuid + `}]}`,
		`{"invoices":[{` + ours + `,"status":"stamped","uuid":"no"}]}`, `{"invoices":[{` + ours + `,"status":"valid","uuid":` + uuid + `}]}`,
		`{"invoices":[null]}`, `{"invoices":[[{` + ours + `}]]}`, `{"invoices":[` + row + `]}`,
		`{"data":[` + row + `]}`, `[` + row + `]`, row, `{"cfdi":[` + row + `,` + row + `]}`, `{"data":[` + row + `],"total":9}`,
		`{"serie":"B","folio":77,"rfc_emisor":"EKU9003173C9","folio_fiscal":` + uuid + `}`,
		`{"serie":"B","folio":"077","rfc_emisor":"EKU9003173C9","folio_fiscal":` + uuid + `}`, `{"serie":"B","folio":"77","folio_fiscal":` + uuid + `}`,
		`{"message":"not found"}`, "\xff", `{"invoices":[{` + ours + `,"status":"stamped","uuid":` + uuid + `,"note":"` + "\xff" + `"}]}`,
	} {
		f.Add(200, []byte(body))
		f.Add(404, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		status = 200 + (status%400+400)%400
		checkRowsOf(t, "facty", unavez.InvoiceRef{}, status, body, map[string]string{"idempotencyKey": propertyKey})
		reference := unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"}
		checkRowsOf(t, "ipsofactura", reference, status, body,
			map[string]string{"rfc_emisor": "EKU9003173C9", "serie": "B", "folio": "77"})
	})
}

func checkRowsOf(t *testing.T, provider string, reference unavez.InvoiceRef, status int, body []byte, echo map[string]string) {
	t.Helper()
	transport := &answering{status: status, body: body}
	client, err := unavez.New(propertyProvider(provider), unavez.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	invoice, err := client.Invoices.Reconcile(context.Background(), propertyKey, unavez.WithReference(reference))
	switch {
	case transport.writes > 0:
		t.Fatalf("%s: a lookup wrote", provider)
	case err != nil:
		return
	case status > 299:
		t.Fatalf("%s: status %d was taken for a document: %q", provider, status, body)
	case !bytes.Contains(body, invoice.Raw):
		t.Fatalf("%s: the row %q does not stand in %q", provider, invoice.Raw, body)
	}
	row := membersOf(t, invoice.Raw)
	for name, want := range echo {
		if len(row[name]) != 1 || scalarOf(row[name][0]) != want {
			t.Fatalf("%s: a row was adopted whose %s is %q, and %q was asked for: %q", provider, name, row[name], want, body)
		}
	}
	if state := row["status"]; provider == "facty" && (len(state) != 1 || scalarOf(state[0]) != "stamped") {
		t.Fatalf("facty: a row was adopted whose status is %q: %q", state, body)
	}
	if len(invoice.UUID) != 36 || !bytes.Contains(invoice.Raw, []byte(invoice.UUID)) && !bytes.Contains(invoice.Raw, []byte(`\u`)) {
		t.Fatalf("%s: the UUID %q is not that of the row %q", provider, invoice.UUID, invoice.Raw)
	}
}

// membersOf reads an object member by member, repeated ones included.
func membersOf(t *testing.T, object []byte) map[string][]json.RawMessage {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(object))
	members := map[string][]json.RawMessage{}
	if _, err := decoder.Token(); err != nil {
		t.Fatalf("%q is no object: %v", object, err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		text, _ := name.(string)
		members[text] = append(members[text], value)
	}
	return members
}
