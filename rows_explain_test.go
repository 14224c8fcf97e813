package unavez_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// What a person reads at night: every situation names what to do next, and nothing that cannot be done.
func TestRowsExplainNamesWhatCanBeDone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	create := func(b *mockBundle, provider string, options ...unavez.CallOption) error {
		_, err := b.client.Invoices.Create(ctx, invoiceParams(provider), options...)
		return err
	}
	key := unavez.WithIdempotencyKey(testKey)
	for fact, row := range map[string]struct {
		call func() error
		says string
	}{
		"no key": {func() error { return create(newMock(t, atFacty), atFacty) }, "Next: correct the call."},
		"an operation that the provider lacks": {func() error {
			_, err := newMock(t, atPayouts).client.Invoices.Create(ctx, invoiceParams(atFacty), key)
			return err
		}, "Next: this provider cannot do it"},
		"credentials": {func() error { return create(newMock(t, atFacty).play(answer(401, "")), atFacty, key) }, "Next: mend that; then the same request"},
		"a key of which the journal knows nothing": {func() error {
			_, err := newMock(t, atPayouts).client.Payouts.Reconcile(ctx, testKey)
			return err
		}, "Here is nothing to Resolve"},
		"a key that another request has": {func() error {
			b := newMock(t, atFacty).play(answer(201, mainCase(t, atFacty).success))
			require.NoError(t, create(b, atFacty, key))
			_, err := corrected(atFacty)(ctx, b)
			return err
		}, "its document is not this one's"},
		"nothing to look for": {func() error {
			_, err := newMock(t, atFacty).client.Invoices.Get(ctx, "")
			return err
		}, "InvoiceRef: is empty"},
	} {
		require.Contains(t, requireError(t, row.call()).Explain(), row.says, fact)
	}
}

func TestRowsCallWhoseContextHasEndedSaysSo(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c, b := mainCase(t, provider), newMock(t, provider)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.do(ctx, b.client, testKey)
		require.ErrorContains(t, err, "context ended before anything was begun; this call has sent nothing")
		require.Equal(t, unavez.NotSent, requireError(t, err).Effect)
		require.Empty(t, b.all())
	}
}

func TestRowsHeldKeySaysWhenTheClaimEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c, journal := newSandbox(t), mainCase(t, atFacty), unavez.NewMemoryJournal(0)
		b.server.Script(sandbox.HangBefore())
		go func() { _, _ = c.do(context.Background(), b.client(atFacty, unavez.WithJournal(journal)), testKey) }()
		time.Sleep(10 * time.Second)
		_, err := c.do(t.Context(), b.client(atFacty, unavez.WithJournal(journal)), testKey)
		require.ErrorContains(t, err, "its claim ends in 1m5s", "75 s, of which 10 are gone")
		time.Sleep(5 * time.Minute)
	})
}

func TestRowsQuantityOfZeroIsRefused(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atFacty, atIpsofactura, atFiscalisto} {
		for _, zero := range []unavez.Decimal{"0", "0.000"} {
			b, params := newMock(t, provider), invoiceParams(provider)
			params.Items[0].Quantity = zero
			_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
			require.Contains(t, requireError(t, err).FieldErrors, "Items[0].Quantity", "%s at %s", zero, provider)
			require.Empty(t, b.all())
		}
	}
}
