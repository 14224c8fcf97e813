package unavez_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
)

func TestExtraThatHoldsItselfIsRefused(t *testing.T) {
	t.Parallel()
	cycle := map[string]any{}
	cycle["a"] = cycle
	params := payoutParams()
	params.Extra = map[string]any{"x": cycle}
	b := newMock(t, atPayouts)
	_, err := b.client.Payouts.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
	require.Equal(t, unavez.NotSent, requireError(t, err).Effect, "an Extra without an end was sent") // or the stack overflowed
}

func TestEmptyNumberInExtraIsNotZero(t *testing.T) {
	t.Parallel()
	params := payoutParams()
	params.Extra = map[string]any{"amount": json.Number("")}
	b := newMock(t, atPayouts)
	_, err := b.client.Prepare(&unavez.Operation{Name: unavez.PayoutCreate, Payout: params}, unavez.WithIdempotencyKey(testKey))
	require.ErrorIs(t, err, unavez.ErrRefused, "an empty json.Number would become the amount 0")
	require.ErrorContains(t, err, `Extra["amount"]`)
}

func TestNamesInExtraAreNotShownByAnError(t *testing.T) {
	t.Parallel()
	params := payoutParams()
	params.Extra = map[string]any{"perPerson": map[string]any{testRFC: 12.5}}
	b := newMock(t, atPayouts)
	_, err := b.client.Payouts.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
	_ = requireError(t, err) // which checks that no text shows testRFC
}

func TestExtraMayNotNameTheKeyInAnotherCase(t *testing.T) {
	t.Parallel()
	b := newMock(t, atFacty)
	params := invoiceParams(atFacty)
	params.Extra = map[string]any{"IdempotencyKey": "another-key-entirely"}
	_, err := b.client.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: params}, unavez.WithIdempotencyKey(testKey))
	require.Error(t, err, "a server that reads names without case takes the last member for the key")
}

func TestSendRefusesAnIntentWithoutAValidKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		client := b.client(atIpsofactura)
		intent, err := client.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: invoiceParams(atIpsofactura)},
			unavez.WithIdempotencyKey(testKey))
		require.NoError(t, err)
		for _, key := range []string{"", "with space", "a\r\nX: y", strings.Repeat("k", 101)} {
			intent.RecordID = client.RecordID(key)
			_, err = client.Send(t.Context(), intent)
			require.ErrorIs(t, err, unavez.ErrKeyInvalid, "key %q", key)
		}
		require.Zero(t, b.writes(), "something was sent without a valid key")
	})
}

func TestNewRefusesATypedNil(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() {
		_, err := unavez.New((*facty.Provider)(nil), unavez.WithEnvironment(unavez.Test))
		require.Error(t, err)
	})
}

func TestNilContextIsRefusedByRecordAndResolve(t *testing.T) {
	t.Parallel()
	b := newMock(t, atIpsofactura)
	_, err := b.client.Record(nil, testKey) //nolint:staticcheck // a nil context is what is tested
	require.ErrorContains(t, err, "ctx is nil")
	err = b.client.Resolve(nil, testKey, unavez.Resolution{}) //nolint:staticcheck // a nil context is what is tested
	require.ErrorContains(t, err, "ctx is nil")
}

func TestClientPrintedByValueShowsNoSecret(t *testing.T) {
	t.Parallel()
	b := newMock(t, atFacty)
	text := fmt.Sprintf("%+v", reflect.ValueOf(b.client).Elem().Interface())
	require.NotContains(t, text, testAPIKey, "the text of a client shows the API key")
}
