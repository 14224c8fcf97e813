package unavez_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// carelessProvider encodes every write as a test wants it.
type carelessProvider struct {
	oddProvider

	request unavez.Request
}

func (p carelessProvider) Encode(*unavez.Operation) (unavez.Request, error) { return p.request, nil }

func TestWriteThatAProviderEncodedWrongIsRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	good := func() unavez.Request {
		return unavez.Request{Method: http.MethodPost, Path: "/v1/invoices", Body: []byte(`{"a":1}`), Proof: unavez.ProofUUID}
	}
	prepare := func(request unavez.Request) (unavez.Intent, error) {
		client, err := unavez.New(carelessProvider{request: request, oddProvider: oddProvider{profile: unavez.Profile{
			Name: "own", BaseURL: "https://api.example", Key: unavez.KeyRule{Min: 1, Max: 64},
			Operations: map[unavez.OperationName]unavez.OperationRules{unavez.InvoiceCreate: {Ambiguity: unavez.AmbiguityResend, Retention: time.Hour}},
		}}})
		require.NoError(t, err)
		return client.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: &unavez.InvoiceParams{}}, unavez.WithIdempotencyKey(testKey))
	}
	_, err := prepare(good())
	require.NoError(t, err)
	for fact, spoil := range map[string]func(*unavez.Request){
		"no method":                  func(r *unavez.Request) { r.Method = "" },
		"a method that reads":        func(r *unavez.Request) { r.Method = http.MethodGet },
		"no path":                    func(r *unavez.Request) { r.Path = "" },
		"a path that is not rooted":  func(r *unavez.Request) { r.Path = "v1/invoices" },
		"no proof of success":        func(r *unavez.Request) { r.Proof = "" },
		"no body":                    func(r *unavez.Request) { r.Body = nil },
		"a body that is a list":      func(r *unavez.Request) { r.Body = []byte(`[]`) },
		"two objects in one body":    func(r *unavez.Request) { r.Body = []byte(`{}{}`) },
		"a body that is not UTF-8":   func(r *unavez.Request) { r.Body = []byte("{\"a\":\"\xff\"}") },
		"a body cut before its end":  func(r *unavez.Request) { r.Body = []byte(`{"a":1`) },
		"a body that is only a text": func(r *unavez.Request) { r.Body = []byte(`"a"`) },
	} {
		request := good()
		spoil(&request)
		_, err := prepare(request)
		require.ErrorIs(t, err, unavez.ErrRefused, fact)
	}
}
