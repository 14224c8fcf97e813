package unavez_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// Lookups by an identity: Get, Find, and Reconcile with a reference at Ipsofactura.

func finding(reference unavez.InvoiceRef) func(context.Context, *mockBundle, ...unavez.CallOption) (*result, error) {
	return func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		i, err := b.client.Invoices.Find(ctx, reference, options...)
		return invoiceResult(i), err
	}
}

// findRow is a row of a plain read, which has no key.
func findRow(fact string, reference unavez.InvoiceRef, answers []reply, looks []float64, w want) row {
	act := finding(reference)
	keyed := func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		got, err := act(ctx, b, options...)
		if got != nil {
			got.Key = testKey // what the rows expect of a document; a read has none
		}
		var e *unavez.Error
		if errors.As(err, &e) {
			e.Key = testKey
		}
		return got, err
	}
	return row{fact: fact, act: keyed, answers: answers, looks: looks, want: w}
}

func TestRowsFactyFindAndGet(t *testing.T) {
	t.Parallel()
	byID, byUUID := unavez.InvoiceRef{ID: "inv_1"}, unavez.InvoiceRef{UUID: testUUID}
	const one = `{"id":"inv_1","uuid":"` + testUUID + `","status":"cancelled","folio":90}`
	missing := refused(unavez.NotExecuted, "").marked(unavez.ErrNotFound)
	hasWord := aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.Equal(t, "cancelled", got.Status) })
	once := []float64{0}
	runRows(t, atFacty, []row{
		findRow("by id, whatever the status word", byID, then(answer(200, one)), once, hasWord),
		findRow("by id, another id is not adopted", byID, then(answer(200, `{"id":"inv_2","uuid":"`+testUUID+`"}`)), once,
			review(unavez.NotExecuted, unavez.ReasonKeyMismatch, unavez.NextReview).http(200, "")),
		findRow("by id, 404 is not found", byID, then(answer(404, errorBody(atFacty, "NOT_FOUND"))), once, missing.http(404, "NOT_FOUND")),
		findRow("by uuid", byUUID, then(list(one)), once, hasWord),
		findRow("by uuid, in the other case", byUUID, then(list(`{"id":"inv_1","uuid":"5f0c2b9e-8a41-4c77-9b0d-2e6a1d3f4c55","status":"cancelled"}`)), once, hasWord),
		findRow("by uuid, none", byUUID, then(emptyList()), once, missing.http(200, "")),
		findRow("by uuid, somebody else's", byUUID, then(list(otherRow)), once, review(unavez.NotExecuted, unavez.ReasonKeyMismatch, unavez.NextReview).http(200, "")),
		findRow("by uuid, twice", byUUID, then(list(one+","+one)), once, review(unavez.NotExecuted, unavez.ReasonDuplicate, unavez.NextReview).http(200, "")),
		findRow("a read may be repeated", byID, then(answer(500, ""), lostAnswer(), slow(), answer(200, one)), []float64{0, 1, 3, 7}, hasWord),
		findRow("a read that never answers is RetryLater", byID, repeated(5, answer(500, "")), []float64{0, 1, 3, 7, 15},
			retryLater(unavez.NotExecuted, unavez.NextResend, 8).http(500, "")),
		findRow("401", byID, then(answer(401, "")), once, refused(unavez.NotExecuted, unavez.NextResend).http(401, "").marked(unavez.ErrUnauthorized)),
		findRow("redirect is not followed", byID, then(answer(302, "", "Location: https://evil.example/")), once, refused(unavez.NotExecuted, unavez.NextResend).http(302, "")),
		findRow("HTML teaches nothing", byID, then(answer(200, "<html/>")), once, retryLater(unavez.NotExecuted, unavez.NextResend, 1).http(200, "")),
	})
}

func TestRowsReadThatTheCallerLeavesIsRetryLater(t *testing.T) {
	t.Parallel()
	left := findRow("during an answer", unavez.InvoiceRef{ID: "inv_1"}, then(silence()), []float64{0},
		retryLater(unavez.NotExecuted, unavez.NextResend, 1).causedBy(context.DeadlineExceeded))
	left.deadline, left.ends = 2*time.Second, 2
	runRows(t, atFacty, []row{left})
}

func TestRowsLookupsAskWhereThePagesSay(t *testing.T) {
	t.Parallel()
	for _, ask := range []struct {
		provider, path string
		reference      unavez.InvoiceRef
	}{
		{atFacty, "/authenticated/acme/invoices/inv_1", unavez.InvoiceRef{ID: "inv_1"}},
		{atFacty, "/authenticated/acme/invoices/a%2Fb", unavez.InvoiceRef{ID: "a/b"}},
		{atFacty, "/authenticated/acme/invoices?uuid=" + testUUID, unavez.InvoiceRef{UUID: testUUID}},
		{atIpsofactura, "/cfdi/cfdi_1", unavez.InvoiceRef{ID: "cfdi_1"}},
		{atIpsofactura, "/cfdi?serie=B&folio=007&rfc_emisor=EKU9003173C9", unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "007"}},
	} {
		b := newMock(t, ask.provider, unavez.WithMaxAttempts(1)).play(answer(403, ""))
		_, err := b.client.Invoices.Find(t.Context(), ask.reference)
		require.Error(t, err)
		require.Len(t, b.lookups(), 1)
		require.Equal(t, ask.path, b.lookups()[0].Path)
	}
}

func TestRowsFindIsUnsupportedWhereNoLookupIsDocumented(t *testing.T) {
	t.Parallel()
	for provider, reference := range map[string]unavez.InvoiceRef{
		atFiscalisto: {ID: "inv_1"}, atPayouts: {ID: "po_1"}, atFacty: {Issuer: "EKU9003173C9", Series: "B", Folio: "7"}, atIpsofactura: {UUID: testUUID},
	} {
		b := newMock(t, provider)
		_, err := b.client.Invoices.Find(t.Context(), reference)
		require.ErrorIs(t, err, errors.ErrUnsupported, provider)
		require.Equal(t, unavez.Refused, requireError(t, err).Disposition)
		if reference.ID != "" {
			_, err = b.client.Invoices.Get(t.Context(), reference.ID)
			require.ErrorIs(t, err, errors.ErrUnsupported, provider)
		}
	}
}

// ourCFDI is the row of the invoice that the tests send to Ipsofactura.
const ourCFDI = `{"id":"cfdi_1","serie":"B","folio":"77","rfc_emisor":"EKU9003173C9","tipo_comprobante":"I","folio_fiscal":"` + testUUID + `"}`

func withoutProof(word string) string {
	return `{"id":"cfdi_1","serie":"B","folio":"77","rfc_emisor":"EKU9003173C9","folio_fiscal":null,"status":` + word + `}`
}

func TestRowsIpsofacturaReconcileByIdentity(t *testing.T) {
	t.Parallel()
	c := mainCase(t, atIpsofactura)
	nothing := unknownOutcome(unavez.NextReconcile, 1)
	odd := func(reason unavez.Reason) want {
		return review(unavez.Unknown, reason, unavez.NextReview).http(200, "")
	}
	findings := map[string]struct {
		body string
		want want
	}{
		"bare array": {`[` + ourCFDI + `]`, aDocument()}, "one object": {ourCFDI, aDocument()}, "data": {`{"data":[` + ourCFDI + `]}`, aDocument()},
		"items": {`{"items":[` + ourCFDI + `]}`, aDocument()}, "results": {`{"results":[` + ourCFDI + `]}`, aDocument()}, "cfdi": {`{"cfdi":[` + ourCFDI + `]}`, aDocument()},
		"further page and ours": {`{"data":[` + ourCFDI + `],"next":"p2"}`, aDocument()}, "further page": {`{"data":[],"next":"p2"}`, nothing.http(200, "")},
		"folio as a number": {`[{"serie":"B","folio":77,"rfc_emisor":"EKU9003173C9","folio_fiscal":"` + testUUID + `"}]`, aDocument()},
		"folio with zeros":  {`[{"serie":"B","folio":"077","rfc_emisor":"EKU9003173C9","folio_fiscal":"` + testUUID + `"}]`, odd(unavez.ReasonKeyMismatch)},
		"another series":    {`[{"serie":"C","folio":"77","rfc_emisor":"EKU9003173C9","folio_fiscal":"` + testUUID + `"}]`, odd(unavez.ReasonKeyMismatch)},
		"another issuer":    {`[{"serie":"B","folio":"77","rfc_emisor":"URE180429TM6","folio_fiscal":"` + testUUID + `"}]`, odd(unavez.ReasonKeyMismatch)},
		"echo is missing":   {`[{"serie":"B","folio":"77","folio_fiscal":"` + testUUID + `"}]`, odd(unavez.ReasonKeyMismatch)},
		"another type": {
			`[{"serie":"B","folio":"77","rfc_emisor":"EKU9003173C9","tipo_comprobante":"E","folio_fiscal":"` + testUUID + `"}]`, odd(unavez.ReasonKeyMismatch),
		},
		"two of ours":        {`[` + ourCFDI + `,` + ourCFDI + `]`, listedTwice(unavez.Executed, testUUID, testUUID)},
		"no uuid, no word":   {`[` + withoutProof(`null`) + `]`, odd(unavez.ReasonUnknownStatus)},
		"no uuid and a word": {`[` + withoutProof(`"stamped"`) + `]`, odd(unavez.ReasonUnknownStatus)},
		"word beside the proof": {
			`[{"serie":"B","folio":"77","rfc_emisor":"EKU9003173C9","status":"loquesea","folio_fiscal":"` + testUUID + `"}]`, aDocument(),
		},
		"an object with a list that is none, and a row": {`{"data":null,` + ourCFDI[1:], nothing.http(200, "")},
		"an object that has only an id":                 {`{"id":"cfdi_9"}`, odd(unavez.ReasonKeyMismatch)},
		"an object that has only a uuid":                {`{"folio_fiscal":"` + testUUID + `"}`, odd(unavez.ReasonKeyMismatch)},
		"an object that has only a status":              {`{"status":"x"}`, odd(unavez.ReasonKeyMismatch)},
		"empty object":                                  {`{}`, nothing.http(200, "")}, "message": {`{"message":"x"}`, nothing.http(200, "")}, "data null": {`{"data":null}`, nothing.http(200, "")},
		"rows are texts": {`["x"]`, nothing.http(200, "")}, "text": {`"x"`, nothing.http(200, "")}, "HTML": {`<html/>`, nothing.http(200, "")},
	}
	reference := unavez.WithReference(unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"})
	var rows []row
	for name, f := range findings {
		for _, only := range [][]unavez.CallOption{{reference}, {reference, unavez.WithLookupOnly()}} {
			rows = append(rows, row{
				fact: name, before: losing(c), act: reconciling, options: only, answers: then(answer(200, f.body)), looks: []float64{0}, want: f.want,
			})
		}
	}
	rows = append(rows, row{
		fact: "the reference of another document asks nothing and adopts nothing", before: losing(c), act: reconciling,
		options: []unavez.CallOption{unavez.WithReference(unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "78"})},
		want:    unknownOutcome(unavez.NextReconcile, 1),
	})
	runRows(t, atIpsofactura, rows)
}

func TestRowsIpsofacturaEmptyListByIdentity(t *testing.T) {
	t.Parallel()
	reference := unavez.WithReference(unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"})
	runRows(t, atIpsofactura, []row{{
		fact: "is NeverArrived and the same request is safe", before: losing(mainCase(t, atIpsofactura)), act: reconciling, options: []unavez.CallOption{reference},
		answers: then(answer(200, `[]`)), looks: []float64{0}, want: review(unavez.Unknown, unavez.ReasonNeverArrived, unavez.NextResend).http(200, ""),
	}})
}
