package unavez_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// preparedCase is an operation for Prepare, and the service call that is the same write.
type preparedCase struct {
	write     writeCase
	operation unavez.Operation
}

// preparedCases returns every write of the provider in both forms.
func preparedCases(t *testing.T, provider string) []preparedCase {
	t.Helper()
	var cases []preparedCase
	for _, c := range writeCases(t, provider) {
		operation := unavez.Operation{Name: c.operation}
		switch c.operation {
		case unavez.InvoiceCreate:
			operation.Invoice = invoiceParams(provider)
		case unavez.InvoiceStampXML:
			operation.StampXML = &unavez.StampXMLParams{XML: []byte("<c/>"), Sealed: c.path == "/cfdi/timbrar-sellado"}
		case unavez.InvoiceCancel:
			operation.Cancel = &unavez.CancelParams{ID: "inv_1", Motive: "02"}
		case unavez.PaymentCancel:
			operation.Cancel = &unavez.CancelParams{ID: "pay_1", Motive: "02"}
		case unavez.PaymentCreate:
			operation.Payment = paymentParams(provider)
		case unavez.PaymentStamp:
			operation.PaymentID = "pay_1"
		case unavez.RetentionCreate:
			operation.Retention = &unavez.RetentionParams{Extra: map[string]any{"cveRetenc": "25"}}
		case unavez.PayoutCreate:
			operation.Payout = payoutParams()
		case unavez.RawOperation: // it is tested below
		}
		cases = append(cases, preparedCase{c, operation})
	}
	return cases
}

func TestRowsPreparedIntentIsTheWriteOfTheService(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, c := range preparedCases(t, provider) {
			t.Run(provider+" "+c.write.path, func(t *testing.T) {
				t.Parallel()
				called, prepared := newMock(t, provider), newMock(t, provider)
				_, err := c.write.do(t.Context(), called.play(answer(201, c.write.success)).client, testKey)
				require.NoError(t, err)

				intent, err := prepared.client.Prepare(&c.operation, unavez.WithIdempotencyKey(testKey))
				require.NoError(t, err)
				_, err = prepared.play(answer(201, c.write.success)).client.Send(t.Context(), intent)
				require.NoError(t, err)

				require.Len(t, prepared.writes(), 1)
				require.Equal(t, c.write.path, prepared.writes()[0].Path)
				require.Equal(t, called.writes()[0].Body, prepared.writes()[0].Body)
				require.Equal(t, called.writes()[0].Header, prepared.writes()[0].Header)
			})
		}
	}
}

func TestRowsPrepareRefusesAnOperationWithoutItsParameters(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, c := range preparedCases(t, provider) {
			_, err := newMock(t, provider).client.Prepare(&unavez.Operation{Name: c.write.operation}, unavez.WithIdempotencyKey(testKey))
			require.ErrorIs(t, err, unavez.ErrRefused, "%s at %s", c.write.operation, provider)
		}
	}
}

const creditNotes = "/v1/credit-notes"

func creditNote(name unavez.OperationName) *unavez.RawParams {
	return &unavez.RawParams{Operation: name, Path: creditNotes, Raw: []byte(`{"customer":"cus_1"}`)}
}

func TestRowsOperationWithoutTypesIsSentByteForByte(t *testing.T) {
	t.Parallel()
	b := newMock(t, atFiscalisto).play(answer(201, `{"id":"cn_1","uuid":"`+testUUID+`"}`))
	outcome, err := b.client.Do(t.Context(), creditNote("credit_notes.create"), unavez.WithIdempotencyKey(testKey))
	require.NoError(t, err)
	require.Equal(t, `{"id":"cn_1","uuid":"`+testUUID+`"}`, string(outcome.Raw))
	require.Len(t, b.writes(), 1)
	require.Equal(t, creditNotes, b.writes()[0].Path)
	require.Equal(t, `{"customer":"cus_1"}`, b.writes()[0].Body)
	require.Equal(t, []string{testKey}, b.writes()[0].Header["Idempotency-Key"])
}

func TestRowsOperationWithoutTypesNeedsAFiscalUUIDForSuccess(t *testing.T) {
	t.Parallel()
	b := newMock(t, atFiscalisto).play(answer(201, `{"id":"cn_1"}`))
	_, err := b.client.Do(t.Context(), creditNote("credit_notes.create"), unavez.WithIdempotencyKey(testKey), unavez.WithMaxAttempts(1))
	require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
}

func TestRowsOperationWithoutTypesNeedsANameOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, name := range []unavez.OperationName{
		"", unavez.RawOperation, unavez.InvoiceCreate, unavez.InvoiceStampXML, unavez.InvoiceCancel, unavez.PaymentCreate, unavez.PaymentStamp,
		unavez.PaymentCancel, unavez.RetentionCreate, unavez.PayoutCreate, "invoices.find", "reconcile", " ", "\t\n",
	} {
		_, err := newMock(t, atFiscalisto).client.Do(t.Context(), creditNote(name), unavez.WithIdempotencyKey(testKey))
		require.ErrorIs(t, err, unavez.ErrRefused, "%q", name)
		require.ErrorContains(t, err, "Operation: ", "%q", name)
		_, err = newMock(t, atFiscalisto).client.Prepare(&unavez.Operation{Name: name, Raw: creditNote(name)}, unavez.WithIdempotencyKey(testKey))
		require.Error(t, err, "%q", name)
	}
}

func TestRowsOperationWithoutTypesIsRefusedWhereNoneIsDocumented(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atFacty, atIpsofactura, atPayouts} {
		_, err := newMock(t, provider).client.Do(t.Context(), creditNote("credit_notes.create"), unavez.WithIdempotencyKey(testKey))
		require.ErrorIs(t, err, errors.ErrUnsupported, provider)
		require.ErrorIs(t, err, unavez.ErrRefused, provider)
	}
}

func TestRowsOperationWithoutTypesIsOfNoOtherKind(t *testing.T) {
	t.Parallel()
	for _, name := range []unavez.OperationName{"invoice", "payment", "cancellation", "credit_notes.create"} {
		b := newMock(t, atFiscalisto).play(answer(201, `{"id":"cn_1","uuid":"`+testUUID+`"}`))
		_, err := b.client.Do(t.Context(), creditNote(name), unavez.WithIdempotencyKey(testKey))
		require.NoError(t, err)
		_, err = b.client.Invoices.Reconcile(t.Context(), testKey)
		require.ErrorIs(t, err, unavez.ErrKeyReused, "%q is no invoice", name)
	}
}
