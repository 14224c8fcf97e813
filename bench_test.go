package unavez_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
)

const benchmarkAnswer = `{"id":"inv_1","uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55","status":"stamped","serie":"A","folio":90,` +
	`"total":349.16,"moneda":"MXN","stampedAt":"2026-08-11T10:20:30"}`

// memoryTransport answers every write with a stamp, without a network.
type memoryTransport struct{}

func (memoryTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, request.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusCreated, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: int64(len(benchmarkAnswer)),
		Body: io.NopCloser(bytes.NewReader([]byte(benchmarkAnswer))), Request: request,
	}, nil
}

func benchmarkParams() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{
			Quantity: "2", ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", UnitPrice: "150.50", TaxObject: "02",
			Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}
}

// bareBody is what a program without the SDK would encode: the same members, by encoding/json.
type bareBody struct {
	Type           string     `json:"type"`
	IdempotencyKey string     `json:"idempotencyKey"`
	ClientID       string     `json:"clientId"`
	UsoCFDI        string     `json:"usoCfdi"`
	FormaPago      string     `json:"formaPago"`
	MetodoPago     string     `json:"metodoPago"`
	Items          []bareItem `json:"items"`
}

type bareItem struct {
	Quantity      json.Number `json:"quantity"`
	ClaveProdServ string      `json:"claveProdServ"`
	ClaveUnidad   string      `json:"claveUnidad"`
	Description   string      `json:"description"`
	UnitPrice     json.Number `json:"unitPrice"`
	IVA           json.Number `json:"iva"`
	ObjetoImp     string      `json:"objetoImp"`
}

type bareInvoice struct {
	ID        string      `json:"id"`
	UUID      string      `json:"uuid"`
	Status    string      `json:"status"`
	Serie     string      `json:"serie"`
	Folio     json.Number `json:"folio"`
	Total     json.Number `json:"total"`
	Moneda    string      `json:"moneda"`
	StampedAt string      `json:"stampedAt"`
}

// bareCreate is the same POST and decode with net/http and encoding/json alone.
func bareCreate(ctx context.Context, client *http.Client, base, key string) (*bareInvoice, error) {
	body, err := json.Marshal(&bareBody{
		Type: "ingreso", IdempotencyKey: key, ClientID: "cli_1", UsoCFDI: "G03", FormaPago: "03", MetodoPago: "PUE",
		Items: []bareItem{{
			Quantity: "2", ClaveProdServ: "86121700", ClaveUnidad: "E48", Description: "Servicio", UnitPrice: "150.50", IVA: "0.16", ObjetoImp: "02",
		}},
	})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/authenticated/acme/invoices", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", "fk_1")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var invoice bareInvoice
	return &invoice, json.Unmarshal(answer, &invoice)
}

func benchmarkBare(b *testing.B, client *http.Client, base string) {
	b.Helper()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := bareCreate(b.Context(), client, base, "mi-erp:test:factura:"+strconv.Itoa(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkCreate(b *testing.B, httpClient *http.Client, base string) {
	b.Helper()
	client, err := unavez.New(facty.Provider{BaseURL: base, Org: "acme", APIKey: "fk_1"}, unavez.WithHTTPClient(httpClient),
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test))
	if err != nil {
		b.Fatal(err)
	}
	params := benchmarkParams()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := client.Invoices.Create(context.Background(), params, unavez.WithDomainID("factura", strconv.Itoa(i))); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkCreateCancellable(b *testing.B, httpClient *http.Client, base string) {
	b.Helper()
	client, err := unavez.New(facty.Provider{BaseURL: base, Org: "acme", APIKey: "fk_1"}, unavez.WithHTTPClient(httpClient),
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test))
	if err != nil {
		b.Fatal(err)
	}
	params := benchmarkParams()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := client.Invoices.Create(ctx, params, unavez.WithDomainID("factura", strconv.Itoa(i))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInMemory compares one Create with the same POST by net/http alone, without a network.
func BenchmarkInMemory(b *testing.B) {
	client := &http.Client{Transport: memoryTransport{}}
	b.Run("net-http", func(b *testing.B) { benchmarkBare(b, client, "https://facty.example") })
	b.Run("unavez", func(b *testing.B) { benchmarkCreate(b, client, "https://facty.example") })
	b.Run("unavez-cancellable", func(b *testing.B) { benchmarkCreateCancellable(b, client, "https://facty.example") })
}

// BenchmarkLoopback does so over a loopback socket, the server's work included.
func BenchmarkLoopback(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, benchmarkAnswer)
	}))
	defer server.Close()
	b.Run("net-http", func(b *testing.B) { benchmarkBare(b, &http.Client{Transport: &http.Transport{}}, server.URL) })
	b.Run("unavez", func(b *testing.B) { benchmarkCreate(b, &http.Client{Transport: &http.Transport{}}, server.URL) })
	b.Run("unavez-cancellable", func(b *testing.B) {
		benchmarkCreateCancellable(b, &http.Client{Transport: &http.Transport{}}, server.URL)
	})
}
