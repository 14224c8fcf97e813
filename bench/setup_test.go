package bench_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
)

const answer = `{"id":"inv_1","uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55","status":"stamped","serie":"A","folio":90,` +
	`"total":349.16,"moneda":"MXN","stampedAt":"2026-08-11T10:20:30"}`

// place is where a benchmark sends: a transport, and an address that it takes.
type place struct {
	name      string
	transport http.RoundTripper
	baseURL   string
}

// places are a transport that answers at once without a network, and a server on a loopback socket, whose work is measured as well.
func places(tb testing.TB) []place {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, answer)
	}))
	tb.Cleanup(server.Close)
	return []place{
		{"memory", answering{http.StatusCreated, answer}, "https://facty.example"},
		{"loopback", &http.Transport{MaxIdleConnsPerHost: 1024}, server.URL},
	}
}

// answering reads every request and gives one answer.
type answering struct {
	status int
	body   string
}

func (a answering) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(a.body)), Body: io.NopCloser(bytes.NewReader([]byte(a.body))), Request: request,
	}, nil
}

func params() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{
			Quantity: "2", ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", UnitPrice: "150.50", TaxObject: "02",
			Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}
}

func provider(baseURL string) facty.Provider {
	return facty.Provider{BaseURL: baseURL, Org: "acme", APIKey: "fk_1"}
}

// body is what a program without the SDK encodes: the same members, by encoding/json.
type body struct {
	Type           string `json:"type"`
	IdempotencyKey string `json:"idempotencyKey"`
	ClientID       string `json:"clientId"`
	UsoCFDI        string `json:"usoCfdi"`
	FormaPago      string `json:"formaPago"`
	MetodoPago     string `json:"metodoPago"`
	Items          []item `json:"items"`
}

type item struct {
	Quantity      json.Number `json:"quantity"`
	ClaveProdServ string      `json:"claveProdServ"`
	ClaveUnidad   string      `json:"claveUnidad"`
	Description   string      `json:"description"`
	UnitPrice     json.Number `json:"unitPrice"`
	IVA           json.Number `json:"iva"`
	ObjetoImp     string      `json:"objetoImp"`
}

type invoice struct {
	ID        string      `json:"id"`
	UUID      string      `json:"uuid"`
	Status    string      `json:"status"`
	Serie     string      `json:"serie"`
	Folio     json.Number `json:"folio"`
	Total     json.Number `json:"total"`
	Moneda    string      `json:"moneda"`
	StampedAt string      `json:"stampedAt"`
}

func newBody(key string) *body {
	return &body{
		Type: "ingreso", IdempotencyKey: key, ClientID: "cli_1", UsoCFDI: "G03", FormaPago: "03", MetodoPago: "PUE",
		Items: []item{{
			Quantity: "2", ClaveProdServ: "86121700", ClaveUnidad: "E48", Description: "Servicio", UnitPrice: "150.50", IVA: "0.16", ObjetoImp: "02",
		}},
	}
}

const invoicesPath = "/authenticated/acme/invoices"

func key(i int) string { return "mi-erp:test:factura:" + strconv.Itoa(i) }

func setHeader(header http.Header) {
	header.Set("X-Api-Key", "fk_1")
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
}
