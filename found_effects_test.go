package unavez_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

const stampedBeforeBody = `{"code":"307","message":"CFDI timbrado previamente"}`

func TestStampedBeforeIsNotClearedByAnAnswerAboutTheCaller(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atFiscalisto} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newSandbox(t)
				body := stampedBeforeBody
				if provider == atFiscalisto {
					body = `{"error":` + body + `}`
				}
				b.server.Script(sandbox.Raw(422, nil, body).AfterCommit(), sandbox.Status(401, ""))
				_, err := mainCase(t, provider).do(t.Context(), b.client(provider), testKey)
				e := requireError(t, err)
				require.Equal(t, 1, b.server.Effects(testKey), "one key, one effect")
				require.NotEqual(t, unavez.Refused, e.Disposition, "the ledger holds an effect and an answer said so: %v", e)
				require.NotEqual(t, unavez.NotExecuted, e.Effect, "an answer said that it was stamped: %v", e)
			})
		})
	}
}

func TestStampedBeforeThenNoConnectionKeepsTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		client := b.client(atIpsofactura)
		b.server.Script(sandbox.Raw(422, nil, stampedBeforeBody).AfterCommit())
		b.transport.DisableKeepAlives = true
		go func() { time.Sleep(500 * time.Millisecond); b.listener.Refuse(4) }()
		_, err := mainCase(t, atIpsofactura).do(t.Context(), client, testKey)
		e := requireError(t, err)
		require.NotEqual(t, unavez.NotSent, e.Effect, "an answer said that it was stamped: %v", e)
		time.Sleep(97 * time.Hour)
		_, _ = mainCase(t, atIpsofactura).do(t.Context(), client, testKey)
		require.Equal(t, 1, b.server.Effects(testKey), "one key, one effect")
	})
}

func TestAttemptThatIsLateOnTheWireIsNotSentPastTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		delay := time.Duration(0)
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(delay) // a dial, a name server or a full pool that takes its time
			return b.transport.RoundTrip(r)
		})
		client := newClient(t, atIpsofactura, "http://127.0.0.1", transport, unavez.WithTimeout(30*time.Minute), unavez.WithMaxAttempts(1))
		b.server.Script(sandbox.CloseAfter())
		_, err := mainCase(t, atIpsofactura).do(t.Context(), client, testKey)
		_ = requireError(t, err)
		time.Sleep(96*time.Hour - 6*time.Minute)
		delay = 10 * time.Minute
		_, _ = mainCase(t, atIpsofactura).do(t.Context(), client, testKey)
		require.Equal(t, 1, b.server.Effects(testKey), "one key, one effect")
	})
}

func TestReusedKeyIsNeverSentAgainAfterItsWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atPayouts)
		b.play(answer(409, `{"error":{"code":"idempotency_key_reused"}}`))
		_, err := mainCase(t, atPayouts).do(t.Context(), b.client, testKey)
		require.ErrorIs(t, err, unavez.ErrKeyReused)
		time.Sleep(25 * time.Hour)
		b.play(answer(200, mainCase(t, atPayouts).success)) // the key is new again: this pays
		_, err = mainCase(t, atPayouts).do(t.Context(), b.client, testKey)
		require.ErrorIs(t, err, unavez.ErrKeyReused)
		require.Len(t, b.writes(), 1, "a reused-key answer is never retried")
	})
}

func TestStatusOutsideHTTPPermitsNoResend(t *testing.T) {
	t.Parallel()
	for _, status := range []int{600, 700, 999, 199} {
		synctest.Test(t, func(t *testing.T) {
			b := newMock(t, atIpsofactura)
			b.play(answer(status, `{"code":"WHO_KNOWS"}`))
			_, _ = mainCase(t, atIpsofactura).do(t.Context(), b.client, testKey)
			require.Len(t, b.writes(), 1, "status %d has no rule, and no rule means: do not resend", status)
		})
	}
}

func TestJitterNeverShortensAWaitOfCenturies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atFiscalisto)
		b := newMock(t, atFiscalisto, unavez.WithJitter(1), unavez.WithMaxWait(math.MaxInt64))
		b.play(answer(429, `{}`, "Retry-After: 9000000000"), answer(201, c.success))
		began := time.Now()
		go func() { _, _ = c.do(t.Context(), b.client, testKey) }()
		time.Sleep(time.Hour)
		require.Len(t, b.writes(), 1, "sent again %s after the answer", time.Since(began))
	})
}

func TestVeryLongOptionDoesNotOverflowTheLease(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]unavez.ClientOption{
		"max wait": unavez.WithMaxWait(math.MaxInt64), "timeout": unavez.WithTimeout(math.MaxInt64),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := mainCase(t, atIpsofactura)
				journal := unavez.NewMemoryJournal(0)
				b := newMock(t, atIpsofactura)
				b.play(answer(201, c.success).late(10*time.Second), answer(201, c.success))
				first, second := b.newClient(unavez.WithJournal(journal), option), b.newClient(unavez.WithJournal(journal), option)
				go func() { _, _ = c.do(t.Context(), first, testKey) }()
				synctest.Wait()
				time.Sleep(time.Second)
				_, err := c.do(t.Context(), second, testKey)
				require.Error(t, err, "the record is held by a live client")
				require.Len(t, b.writes(), 1, "two clients wrote at once")
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestVeryLongTimeoutStillSends(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"max": math.MaxInt64, "two days": 48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMock(t, atPayouts)
				b.play(answer(200, mainCase(t, atPayouts).success))
				_, err := mainCase(t, atPayouts).do(t.Context(), b.client, testKey, unavez.WithTimeout(timeout))
				require.NoError(t, err, "nothing was ever sent, and nothing ever will be")
			})
		})
	}
}

func TestWritesAreCountedOverAllCallsOfAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		b := newMock(t, atIpsofactura)
		b.play(lostAnswer(), lostAnswer(), lostAnswer(), lostAnswer(), lostAnswer())
		_, err := c.do(t.Context(), b.client, testKey)
		_ = requireError(t, err)
		b.play(lostAnswer(), lostAnswer(), lostAnswer(), lostAnswer(), lostAnswer())
		go func() { _, _ = c.do(t.Context(), b.client, testKey) }()
		time.Sleep(500 * time.Millisecond)
		record, err := b.client.Record(t.Context(), testKey)
		require.NoError(t, err)
		require.Equal(t, 6, record.Writes, "if the process died now, the journal would not know of the first five")
		time.Sleep(time.Minute)
	})
}

func TestRecordThatWasReadIsACopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atPayouts)
		b.play(lostAnswer())
		_, err := mainCase(t, atPayouts).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
		_ = requireError(t, err)
		record, err := b.client.Record(t.Context(), testKey)
		require.NoError(t, err)
		record.Body[len(record.Body)-3] ^= 1
		b.play(answer(200, mainCase(t, atPayouts).success))
		_, err = b.client.Payouts.Reconcile(t.Context(), testKey)
		require.NoError(t, err)
		require.Equal(t, b.writes()[0].Body, b.writes()[1].Body, "one key, one byte string")
	})
}

func TestLateDocumentOfOldBytesIsNotTheAnswerToNewBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atFiscalisto)
		journal := unavez.NewMemoryJournal(0)
		// the first process is suspended in the middle of its attempt, and its answer comes late
		stalled := roundTripper(func(r *http.Request) (*http.Response, error) {
			buf := make([]byte, 1<<16)
			_, _ = r.Body.Read(buf)
			time.Sleep(time.Hour)
			return answer(201, `{"id":"old","uuid":"`+testUUID+`"}`).perform(r)
		})
		first := newClient(t, atFiscalisto, testHost, stalled, unavez.WithJournal(journal))
		b := newMock(t, atFiscalisto)
		second := b.newClient(unavez.WithJournal(journal))
		go func() { _, _ = c.do(context.Background(), first, testKey) }()
		time.Sleep(5 * time.Minute)
		b.play(answer(422, `{"error":{"code":"invoice_invalid"}}`))
		_, err := c.do(t.Context(), second, testKey)
		require.ErrorIs(t, err, unavez.ErrRefused)
		corrected := invoiceParams(atFiscalisto)
		corrected.Items[0].UnitPrice = "1.00"
		b.play(lostAnswer())
		_, err = second.Invoices.Create(t.Context(), corrected, unavez.WithIdempotencyKey(testKey), unavez.WithMaxAttempts(1))
		_ = requireError(t, err)
		time.Sleep(2 * time.Hour)
		b.play(lostAnswer())
		invoice, err := second.Invoices.Create(t.Context(), corrected, unavez.WithIdempotencyKey(testKey), unavez.WithMaxAttempts(1))
		require.Error(t, err, "the document of the old bytes: %+v", invoice)
	})
}

func TestCallThatLostItsClaimDoesNotSayRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		b := newSandbox(t)
		journal := unavez.NewMemoryJournal(0)
		// the process of the first client is suspended in the middle of its attempt
		stalled := roundTripper(func(r *http.Request) (*http.Response, error) {
			buf := make([]byte, 1<<16)
			_, _ = r.Body.Read(buf)
			time.Sleep(10 * time.Minute)
			return answer(401, `{"code":"UNAUTHORIZED"}`).perform(r)
		})
		first := newClient(t, atIpsofactura, "http://127.0.0.1", stalled, unavez.WithJournal(journal))
		second := b.client(atIpsofactura, unavez.WithJournal(journal))
		go func() {
			time.Sleep(5 * time.Minute)
			_, err := c.do(context.Background(), second, testKey)
			assert.NoError(t, err)
		}()
		_, err := c.do(t.Context(), first, testKey)
		require.Equal(t, 1, b.server.Effects(testKey), "one key, one effect")
		if err != nil {
			e := requireError(t, err)
			require.NotEqual(t, unavez.Refused, e.Disposition, "the journal holds the document: %v", e)
		}
	})
}

func TestCallThatLostItsClaimGetsTheDocumentOfTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		b := newSandbox(t)
		journal := unavez.NewMemoryJournal(0)
		stalled := roundTripper(func(*http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Minute) // suspended while it dials
			return nil, net.ErrClosed
		})
		first := newClient(t, atIpsofactura, "http://127.0.0.1", stalled, unavez.WithJournal(journal))
		second := b.client(atIpsofactura, unavez.WithJournal(journal))
		go func() {
			time.Sleep(5 * time.Minute)
			_, _ = c.do(context.Background(), second, testKey)
		}()
		_, err := c.do(t.Context(), first, testKey)
		require.NoError(t, err, "the document that the other process has got is the answer")
		require.Equal(t, 1, b.server.Effects(testKey), "one key, one effect")
	})
}

func TestOutageDoesNotFillTheJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atIpsofactura)
		client := b.newClient(unavez.WithJournal(unavez.NewMemoryJournal(2)), unavez.WithMaxAttempts(1))
		b.play(noConnection(), noConnection(), answer(201, mainCase(t, atIpsofactura).success))
		for i := range 2 {
			_, err := mainCase(t, atIpsofactura).do(t.Context(), client, fmt.Sprint("outage-", i))
			require.Equal(t, unavez.NotSent, requireError(t, err).Effect, "no connection")
		}
		time.Sleep(24 * 365 * time.Hour)
		_, err := mainCase(t, atIpsofactura).do(t.Context(), client, testKey)
		require.NoError(t, err, "records of which nothing was ever sent fill the journal for ever")
	})
}

func TestGuardAgainstAnotherProviderKnowsAShortenedKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := unavez.NewMemoryJournal(0)
		id := strings.Repeat("x", 200)
		first := newMock(t, atFacty)
		first.play(lostAnswer(), lostAnswer())
		_, err := first.newClient(unavez.WithJournal(journal)).Invoices.Create(t.Context(), invoiceParams(atFacty),
			unavez.WithDomainID("factura", id), unavez.WithMaxAttempts(1))
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
		second := newMock(t, atIpsofactura)
		client := second.newClient(unavez.WithJournal(journal))
		key, err := client.DeriveKey("factura", id)
		require.NoError(t, err)
		second.play(answer(201, mainCase(t, atIpsofactura).success))
		_, err = client.Invoices.Create(t.Context(), invoiceParams(atIpsofactura), unavez.WithIdempotencyKey(key))
		require.Error(t, err, "the same record is unresolved at the other provider, and this stamped it")
	})
}

// A person's try of a failed key was lost while it waited in a queue: the row that still said failed was taken for its outcome, and other
// bytes then got the document of that try.
func TestRowThatFailedBeforeIsNotTheOutcomeOfAnotherTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		b.server.Script(sandbox.PendingThenFail(0), sandbox.Queue(10*time.Second))
		client := b.client(atFacty)
		create := func(price unavez.Decimal, isTried bool) (*unavez.Invoice, error) {
			params := invoiceParams(atFacty)
			params.Items[0].UnitPrice, params.AllowRetryOnFailed = price, isTried
			return client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey), unavez.WithTimeout(time.Second))
		}
		_, err := create("100.00", false)
		require.Equal(t, unavez.NotExecuted, requireError(t, err).Effect)

		_, err = create("200.00", true)
		require.Equal(t, unavez.Unknown, requireError(t, err).Effect, "the try is under way: %v", err)
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)

		time.Sleep(20 * time.Second)
		require.Equal(t, 1, b.server.Effects(testKey))
		_, err = create("300.00", true)
		require.ErrorIs(t, err, unavez.ErrKeyReused, "the document of the try is not that of other bytes")

		found, err := client.Invoices.Reconcile(t.Context(), testKey)
		require.NoError(t, err)
		require.Equal(t, unavez.Decimal("464.00"), found.Total)
		_, err = create("200.00", false)
		require.NoError(t, err)
		require.Equal(t, 1, b.server.Effects(testKey))
	})
}

func TestJitterNeverSendsPastTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		b.server.Script(sandbox.Status(503, "", "Retry-After: 345000").AfterCommit()) // 95.8 h; the key lives 96 h
		client := b.client(atIpsofactura, unavez.WithJitter(1), unavez.WithMaxWait(192*time.Hour))
		_, _ = mainCase(t, atIpsofactura).do(t.Context(), client, testKey)
		require.Equal(t, 1, b.server.Effects(testKey))
	})
}

// stoppingJournal stands for a process that is stopped for a while just before it sleeps.
type stoppingJournal struct {
	unavez.Journal

	stopped time.Duration
}

func (j stoppingJournal) Extend(ctx context.Context, claim unavez.Claim, writes int, lease time.Duration) error {
	time.Sleep(j.stopped)
	return j.Journal.Extend(ctx, claim, writes, lease)
}

func TestProcessThatWasStoppedDuringAWaitSendsNothingPastTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		b.server.Script(sandbox.Status(503, "").AfterCommit())
		client := b.client(atIpsofactura, unavez.WithJournal(stoppingJournal{unavez.NewMemoryJournal(0), 97 * time.Hour}))
		_, err := mainCase(t, atIpsofactura).do(t.Context(), client, testKey)
		require.Equal(t, 1, b.server.Effects(testKey))
		require.Equal(t, unavez.ReasonKeyExpired, requireError(t, err).Reason)
	})
}
