package facty_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
)

func TestEncodeLookupByKey(t *testing.T) {
	t.Parallel()
	for _, operation := range []unavez.OperationName{
		unavez.InvoiceCreate, unavez.PaymentCreate, unavez.PaymentStamp, unavez.RetentionCreate,
	} {
		request, err := newProvider().EncodeLookup(unavez.Query{Operation: operation, Key: "mi-erp:prod:a%2F~/1&x=+"})
		require.NoError(t, err)
		require.Equal(t, unavez.Request{
			Method: http.MethodGet,
			Path:   "/authenticated/acme/invoices?idempotencyKey=mi-erp%3Aprod%3Aa%252F~%2F1%26x%3D%2B",
			Rows: unavez.Rows{
				Lists: []string{"invoices"}, Proof: unavez.ProofUUID,
				Echo: []unavez.Echo{{Member: "idempotencyKey", Want: "mi-erp:prod:a%2F~/1&x=+"}},
				Words: map[string]unavez.RowState{
					"stamped": unavez.RowDone, "pending": unavez.RowPending, "failed": unavez.RowFailed,
				},
			},
		}, request)
	}
}

func TestEncodeLookupByKeyHoldsReference(t *testing.T) {
	t.Parallel()
	request, err := newProvider().EncodeLookup(unavez.Query{
		Operation: unavez.InvoiceCreate, Key: key, Reference: unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "A", Folio: "90"},
	})
	require.NoError(t, err)
	require.Equal(t, []unavez.Echo{
		{Member: "idempotencyKey", Want: key},
		{Member: "serie", Want: "A", WhenPresent: true},
		{Member: "folio", Want: "90", WhenPresent: true},
	}, request.Rows.Echo)
}

func TestEncodeLookupOfDocument(t *testing.T) {
	t.Parallel()
	request, err := newProvider().EncodeLookup(unavez.Query{Reference: unavez.InvoiceRef{ID: "inv 1"}})
	require.NoError(t, err)
	require.Equal(t, unavez.Request{
		Method: http.MethodGet, Path: "/authenticated/acme/invoices/inv%201",
		Rows: unavez.Rows{
			Single: true, MayBeAbsent: true, Proof: unavez.ProofObject, Echo: []unavez.Echo{{Member: "id", Want: "inv 1"}},
		},
	}, request)

	request, err = newProvider().EncodeLookup(unavez.Query{Reference: unavez.InvoiceRef{UUID: "a1b2&c"}})
	require.NoError(t, err)
	require.Equal(t, unavez.Request{
		Method: http.MethodGet, Path: "/authenticated/acme/invoices?uuid=a1b2%26c",
		Rows: unavez.Rows{Lists: []string{"invoices"}, Proof: unavez.ProofObject, Echo: []unavez.Echo{{Member: "uuid", Want: "a1b2&c"}}},
	}, request)
}

func TestEncodeLookupOfCancellation(t *testing.T) {
	t.Parallel()
	cancel, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceCancel, Key: key, Cancel: &unavez.CancelParams{ID: "inv/1", Motive: "02"}})
	require.NoError(t, err)
	request, err := newProvider().EncodeLookup(unavez.Query{Operation: unavez.InvoiceCancel, Key: key, Path: cancel.Path})
	require.NoError(t, err)
	require.Equal(t, "/authenticated/acme/invoices/inv%2F1/sat-status", request.Path)
	require.True(t, request.Rows.Single)
	require.Equal(t, map[string]unavez.RowState{
		"Cancelado": unavez.RowDone, "Vigente": unavez.RowProvesNothing, "No Encontrado": unavez.RowProvesNothing,
	}, request.Rows.Words)
	require.Equal(t, unavez.ProofObject, request.Rows.Proof)

	profile, err := newProvider().Profile(unavez.Test)
	require.NoError(t, err)
	require.Contains(t, profile.Document.Status, "estado", "where sat-status has its word")
}

func TestEncodeLookupUnsupported(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]unavez.Query{
		"nothing":                       {},
		"numbering":                     {Reference: unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "A", Folio: "1"}},
		"an issuer that no row repeats": {Reference: unavez.InvoiceRef{Issuer: "EKU9003173C9", ID: "inv_1"}},
		"no key":                        {Operation: unavez.InvoiceCreate, Reference: unavez.InvoiceRef{UUID: "u"}},
		"payment cancelled":             {Operation: unavez.PaymentCancel, Key: key, Path: "/authenticated/acme/payments/p/cancel"},
		"no recorded path":              {Operation: unavez.InvoiceCancel, Key: key},
		"no id in the path":             {Operation: unavez.InvoiceCancel, Key: key, Path: "/authenticated/acme/invoices//cancel"},
		"another organisation":          {Operation: unavez.InvoiceCancel, Key: key, Path: "/authenticated/other/invoices/i/cancel"},
		"another path":                  {Operation: unavez.InvoiceCancel, Key: key, Path: "/authenticated/acme/invoices/i"},
		"another operation":             {Operation: unavez.PayoutCreate, Key: key},
		"more than one element":         {Operation: unavez.InvoiceCancel, Key: key, Path: "/authenticated/acme/invoices/a/b/cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newProvider().EncodeLookup(query)
			require.ErrorIs(t, err, errors.ErrUnsupported)
		})
	}
	_, err := newProvider().EncodeLookup(unavez.Query{Reference: unavez.InvoiceRef{ID: ".."}})
	require.ErrorContains(t, err, "ID")
	require.NotErrorIs(t, err, errors.ErrUnsupported)
}

func TestOrgIsEscaped(t *testing.T) {
	t.Parallel()
	provider := facty.Provider{Org: "a/b?c", APIKey: "k"}
	request, err := provider.EncodeLookup(unavez.Query{Operation: unavez.InvoiceCreate, Key: key})
	require.NoError(t, err)
	require.Equal(t, "/authenticated/a%2Fb%3Fc/invoices?idempotencyKey=mi-erp%3Aprod%3Afactura%3A4471", request.Path)
}
