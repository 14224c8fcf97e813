package unavez_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// What was found about a person's decision to try a failed key again, when others call for the same invoice.

// slowJournal is one that takes its time.
type slowJournal struct {
	unavez.Journal

	begin, load time.Duration
	loadErr     error
}

func (j *slowJournal) Begin(ctx context.Context, intent unavez.Intent) (unavez.Record, error) {
	time.Sleep(j.begin)
	return j.Journal.Begin(ctx, intent)
}

func (j *slowJournal) Load(ctx context.Context, id unavez.RecordID) (unavez.Record, error) {
	record, err := j.Journal.Load(ctx, id)
	time.Sleep(j.load)
	return record, errors.Join(err, j.loadErr)
}

type decisionBundle struct {
	*sandboxBundle

	journal *slowJournal
	client  *unavez.Client
	watched *watch
}

func newDecisions(t *testing.T, faults ...sandbox.Fault) *decisionBundle {
	t.Helper()
	b := &decisionBundle{sandboxBundle: newSandbox(t), journal: &slowJournal{Journal: unavez.NewMemoryJournal(0)}, watched: &watch{}}
	b.server.Script(faults...)
	b.client = b.sandboxBundle.client(atFacty, unavez.WithJournal(b.journal), b.watched.option())
	return b
}

func (b *decisionBundle) create(ctx context.Context, isTriedAgain bool, price unavez.Decimal) (*unavez.Invoice, error) {
	params := invoiceParams(atFacty)
	params.AllowRetryOnFailed, params.Items[0].UnitPrice = isTriedAgain, price
	return b.client.Invoices.Create(ctx, params, unavez.WithIdempotencyKey(testKey))
}

func TestCallWithoutADecisionNeverStampsAFailedKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newDecisions(t, sandbox.Reject("CFDI40147").With(sandbox.Late(2*time.Second)))
		go func() { _, _ = b.create(context.Background(), true, "150.50") }()
		time.Sleep(time.Second)
		b.journal.load = 5 * time.Second
		_, err := b.create(t.Context(), false, "150.50")
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
		require.Zero(t, b.server.Effects(testKey))
	})
}

func TestDecisionThatWasRefusedIsNotCarriedOutAMonthLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newDecisions(t, sandbox.PendingThenFail(0), sandbox.Raw(402, nil, `{}`))
		_, err := b.create(t.Context(), false, "150.50")
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
		_, err = b.create(t.Context(), true, "150.50")
		require.ErrorIs(t, err, unavez.ErrInsufficientBalance)
		time.Sleep(720 * time.Hour)
		_, err = b.create(t.Context(), false, "150.50")
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
		require.Zero(t, b.server.Effects(testKey), "the person decided once, for that call")
	})
}

func TestStaleFailedRowIsNotBelievedByACallWithoutTheDecision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newDecisions(t, sandbox.PendingThenFail(0), sandbox.Queue(1500*time.Millisecond))
		_, err := b.create(t.Context(), false, "150.50")
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = b.create(ctx, true, "150.50")
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
		invoice, err := b.create(t.Context(), false, "150.50")
		require.NoError(t, err, "the second look finds the try")
		require.NotEmpty(t, invoice.UUID)
		_, err = b.create(t.Context(), true, "1.00")
		require.ErrorIs(t, err, unavez.ErrKeyReused, "other bytes do not get its document")
	})
}

func TestJournalThatCannotBeReadAgainRefusesNothingThatWasDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newDecisions(t)
		decided, err := b.create(t.Context(), true, "150.50")
		require.NoError(t, err)
		b.journal.loadErr = errors.New("connection lost")
		found, err := b.create(t.Context(), false, "150.50")
		require.NoError(t, err)
		require.Equal(t, decided.UUID, found.UUID)
	})
}

func TestDecisionIsCarriedOutThoughAnotherCallIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newDecisions(t, sandbox.PendingThenFail(0))
		_, err := b.create(t.Context(), false, "150.50")
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
		b.journal.begin = time.Second
		go func() { _, _ = b.create(context.Background(), false, "150.50") }()
		synctest.Wait()
		_, err = b.create(t.Context(), true, "150.50")
		require.NoError(t, err)
		require.Equal(t, 1, b.server.Effects(testKey))
	})
}

func TestSameInvoiceIsNotCalledReusedWhileItIsBeingRecorded(t *testing.T) {
	t.Parallel()
	for _, isTriedAgain := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newDecisions(t)
			b.journal.begin = time.Second
			go func() { _, _ = b.create(context.Background(), isTriedAgain, "150.50") }()
			synctest.Wait()
			_, err := b.create(t.Context(), !isTriedAgain, "150.50")
			require.NoError(t, err)
			require.Equal(t, 1, b.server.Effects(testKey))
			time.Sleep(time.Minute)
		})
	}
}

func TestCallThatKnowsItsTwinEndsOnce(t *testing.T) {
	t.Parallel()
	for price, sentinel := range map[unavez.Decimal]error{"150.50": nil, "1.00": unavez.ErrKeyReused} {
		synctest.Test(t, func(t *testing.T) {
			b := newDecisions(t)
			_, err := b.create(t.Context(), true, "150.50")
			require.NoError(t, err)
			b.watched.events = nil
			_, err = b.create(t.Context(), false, price)
			require.ErrorIs(t, err, sentinel)
			require.Len(t, b.watched.events, 1, "one call, one end: %s", price)
			require.Equal(t, unavez.EventFinished, b.watched.events[0].Kind)
		})
	}
}

func TestTwinWhoseRecordedBytesAreGoneIsOnlyAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atFacty)
		losingWithFlag(t, b)
		client := b.play(emptyList()).newClient(unavez.WithJournal(forgetful{b.journal}))
		_, err := client.Invoices.Create(t.Context(), invoiceParams(atFacty), unavez.WithIdempotencyKey(testKey))
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
		require.Len(t, b.writes(), 1, "no empty body is sent")
	})
}
