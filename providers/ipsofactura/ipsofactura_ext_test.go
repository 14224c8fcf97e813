package ipsofactura_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/providertest"
	"github.com/unavez/unavez/providers/ipsofactura"
)

const key = "mi-erp:test:factura:77"

func newProvider() ipsofactura.Provider { return ipsofactura.Provider{APIKey: providertest.Secret} }

func TestProfile(t *testing.T) {
	t.Parallel()
	profile, err := newProvider().Profile(unavez.Production)
	require.NoError(t, err)
	require.Equal(t, "ipsofactura", profile.Name)
	require.Equal(t, "https://api.ipsofactura.com", profile.BaseURL)
	require.Equal(t, "prod https://api.ipsofactura.com", profile.Account)
	require.Equal(t, http.Header{"X-Api": {providertest.Secret}}, profile.Header)
	require.Equal(t, unavez.KeyRule{Min: 1, Max: 100, Header: "Idempotency-Key"}, profile.Key)
	require.Equal(t, "Idempotency-Replayed", profile.ReplayedHeader)
	require.Len(t, profile.Operations, 4)
	for name, rules := range profile.Operations {
		require.Equal(t, unavez.AmbiguityResend, rules.Ambiguity, name)
		require.Equal(t, 96*time.Hour, rules.Retention, name)
		require.True(t, rules.EmptyProves, "after it the same request under the same key is safe: %s", name)
	}

	profile, err = ipsofactura.Provider{BaseURL: "https://sandbox.test", APIKey: "k", Account: "matriz"}.Profile(unavez.Test)
	require.NoError(t, err)
	require.Equal(t, "https://sandbox.test", profile.BaseURL)
	require.Equal(t, "test https://sandbox.test matriz", profile.Account)
}

func TestProfileRefuses(t *testing.T) {
	t.Parallel()
	_, err := newProvider().Profile(unavez.Test)
	require.ErrorContains(t, err, "BaseURL", "test never reaches production by omission")
	_, err = newProvider().Profile("")
	require.ErrorContains(t, err, "BaseURL")
	_, err = ipsofactura.Provider{}.Profile(unavez.Production)
	require.ErrorContains(t, err, "APIKey")
	_, err = ipsofactura.Provider{APIKey: "k\x00" + providertest.Private}.Profile(unavez.Production)
	require.ErrorContains(t, err, "APIKey")
	require.NotContains(t, err.Error(), providertest.Private)
}

func TestSecret(t *testing.T) {
	t.Parallel()
	provider := newProvider()
	provider.BaseURL, provider.Account = "https://u:"+providertest.Secret+"@ipso.test/x", "matriz"
	providertest.KeepsSecret(t, provider, "ipsofactura", "https://ipso.test/x", "matriz", "APIKey", "[redacted]")
}

func TestRules(t *testing.T) {
	t.Parallel()
	providertest.Rules(t, newProvider(), func(client *unavez.Client) error {
		_, err := client.Invoices.Create(context.Background(), newInvoice(), unavez.WithIdempotencyKey(key))
		return err
	})
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	providertest.Unsupported(t, newProvider(),
		&unavez.Operation{Name: unavez.PaymentStamp, PaymentID: "p"},
		&unavez.Operation{Name: unavez.PaymentCancel, Cancel: &unavez.CancelParams{}},
		&unavez.Operation{Name: unavez.RetentionCreate, Retention: &unavez.RetentionParams{}},
		&unavez.Operation{Name: unavez.PayoutCreate, Payout: &unavez.PayoutParams{}},
		&unavez.Operation{Name: "webhooks.create", Raw: &unavez.RawParams{Operation: "webhooks.create"}},
	)
}

func TestEncodeLookup(t *testing.T) {
	t.Parallel()
	reference := unavez.InvoiceRef{Issuer: "Ñ&A010101AB1", Series: "B 1", Folio: "007"}
	asked := []unavez.Echo{
		{Member: "serie", Want: "B 1"}, {Member: "folio", Want: "007"}, {Member: "rfc_emisor", Want: "Ñ&A010101AB1"},
	}
	lists := []string{"", "data", "items", "results", "cfdi"}
	const byNumbering = "/cfdi?serie=B+1&folio=007&rfc_emisor=%C3%91%26A010101AB1"
	for name, row := range map[string]struct {
		query unavez.Query
		path  string
		rows  unavez.Rows
	}{
		"a document by its numbering": {
			unavez.Query{Reference: reference},
			byNumbering,
			unavez.Rows{Lists: lists, Single: true, Proof: unavez.ProofObject, Echo: asked},
		},
		"a document by its id": {
			unavez.Query{Reference: unavez.InvoiceRef{ID: "cfdi/1"}},
			"/cfdi/cfdi%2F1",
			unavez.Rows{Single: true, MayBeAbsent: true, Proof: unavez.ProofObject, Echo: []unavez.Echo{{Member: "id", Want: "cfdi/1"}}},
		},
		"a write": {
			unavez.Query{
				Operation: unavez.InvoiceCreate, Key: key, Reference: reference,
				Body: []byte(`{"rfc_emisor":"Ñ&A010101AB1","serie":"B 1","folio":"007","tipo_comprobante":"E"}`),
			},
			byNumbering,
			unavez.Rows{Lists: lists, Single: true, Proof: unavez.ProofUUID, Echo: append([]unavez.Echo{
				{Member: "tipo_comprobante", Want: "E", WhenPresent: true},
				{Member: "serie", Want: "B 1", WhenPresent: true},
				{Member: "folio", Want: "007", WhenPresent: true},
				{Member: "rfc_emisor", Want: "Ñ&A010101AB1", WhenPresent: true},
			}, asked...)},
		},
		"a write that the journal does not know": {
			unavez.Query{Operation: unavez.InvoiceStampXML, Key: key, Reference: reference},
			byNumbering,
			unavez.Rows{Lists: lists, Single: true, Proof: unavez.ProofUUID, Echo: asked},
		},
		"a payment": {
			unavez.Query{Operation: unavez.PaymentCreate, Key: key, Reference: reference},
			byNumbering,
			unavez.Rows{Lists: lists, Single: true, Proof: unavez.ProofUUID, Echo: append([]unavez.Echo{
				{Member: "tipo_comprobante", Want: "P", WhenPresent: true},
			}, asked...)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := newProvider().EncodeLookup(row.query)
			require.NoError(t, err)
			require.Equal(t, unavez.Request{Method: http.MethodGet, Path: row.path, Rows: row.rows}, request)
		})
	}
}

func TestEncodeLookupUnsupported(t *testing.T) {
	t.Parallel()
	whole := unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"}
	for name, query := range map[string]unavez.Query{
		"a key alone":    {Operation: unavez.InvoiceCreate, Key: key, Body: []byte(`{"serie":"B","folio":"77","rfc_emisor":"EKU9003173C9"}`)},
		"no issuer":      {Reference: unavez.InvoiceRef{Series: "B", Folio: "77"}},
		"no series":      {Reference: unavez.InvoiceRef{Issuer: "EKU9003173C9", Folio: "77"}},
		"no folio":       {Reference: unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B"}},
		"a uuid":         {Reference: unavez.InvoiceRef{UUID: "5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"}},
		"a cancellation": {Operation: unavez.InvoiceCancel, Key: key, Reference: whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newProvider().EncodeLookup(query)
			require.ErrorIs(t, err, errors.ErrUnsupported)
		})
	}
	_, err := newProvider().EncodeLookup(unavez.Query{Reference: unavez.InvoiceRef{ID: ".."}})
	require.ErrorContains(t, err, "ID")
}
