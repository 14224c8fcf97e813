package bench_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/unavez/unavez"
)

// BenchmarkDeriveKey is the key of a record: four parts, escaped; and one that is too long for its provider.
func BenchmarkDeriveKey(b *testing.B) {
	client := newSDK(b, places(b)[0])
	for _, row := range []struct{ name, id string }{
		{"plain", "4471"}, {"escaped", "pedido ñ:4471"}, {"shortened", strings.Repeat("2026/08/11/0123456789/", 5)},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.DeriveKey("factura", row.id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncode is what a provider makes of an invoice.
func BenchmarkEncode(b *testing.B) {
	facty := provider("https://facty.example")
	operation := &unavez.Operation{Name: unavez.InvoiceCreate, Key: key(1), Invoice: params()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := facty.Encode(operation); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClassify is a whole call that ends with an error: the answer read, its rule found, the error built and recorded. Waits
// are forbidden, so that none is slept.
func BenchmarkClassify(b *testing.B) {
	for _, row := range []struct {
		name, body string
		status     int
		is         error
	}{
		{"refused-422", `{"error":"wrong","code":"VALIDATION_ERROR","requestId":"req_1","fieldErrors":{"items.0.unitPrice":"must be a number"}}`, 422, unavez.ErrRefused},
		{"later-429", `{"error":"slow down","code":"RATE_LIMITED","requestId":"req_1"}`, 429, unavez.ErrRetryLater},
		{"gateway-502", `<html><head><title>502 Bad Gateway</title></head></html>`, 502, unavez.ErrRetryLater},
	} {
		b.Run(row.name, func(b *testing.B) {
			at := place{"memory", answering{row.status, row.body}, "https://facty.example"}
			client := newSDK(b, at, unavez.WithMaxWait(0), unavez.WithJournal(unavez.NewMemoryJournal(1<<30)))
			invoice := params()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, err := client.Invoices.Create(context.Background(), invoice, unavez.WithDomainID("factura", strconv.Itoa(i)))
				if !errors.Is(err, row.is) {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParseObject reads a good answer as the SDK does.
func BenchmarkParseObject(b *testing.B) {
	data := []byte(answer)
	b.ReportAllocs()
	for b.Loop() {
		object, ok := unavez.ParseObject(data)
		if !ok || object.Text("uuid") == "" {
			b.Fatal(http.StatusText(http.StatusInternalServerError))
		}
	}
}
