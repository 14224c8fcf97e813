package unavez_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

func TestCallerThatLeftDoesNotKeepTheOthersAsleep(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"other bytes", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := mainCase(t, atIpsofactura)
				b := newMock(t, atIpsofactura)
				b.play(answer(503, `{"code":"X"}`, "Retry-After: 20").late(time.Second))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				go func() {
					time.Sleep(300 * time.Millisecond)
					if how == "cancelled" {
						other, leave := context.WithTimeout(context.Background(), time.Hour)
						time.AfterFunc(300*time.Millisecond, leave)
						_, _ = c.do(other, b.client, testKey)
						return
					}
					params := invoiceParams(atIpsofactura)
					params.Folio = "78"
					_, err := b.client.Invoices.Create(context.Background(), params, unavez.WithIdempotencyKey(testKey))
					assert.ErrorIs(t, err, unavez.ErrKeyReused)
				}()
				began := time.Now()
				_, err := c.do(ctx, b.client, testKey)
				e := requireError(t, err)
				require.Equal(t, time.Second, time.Since(began), "Retry-After 20 s is past the deadline of the only caller: RetryLater at once: %v", e)
				require.Equal(t, 20*time.Second, e.RetryAfter, "the wait that was asked for and not slept")
			})
		})
	}
}

func TestCreateOfOtherBytesNeverGetsWhatAReconcileFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		row := `{"invoices":[{"id":"inv_1","idempotencyKey":"` + testKey + `","status":"stamped","uuid":"` + testUUID + `"}]}`
		journal := unavez.NewMemoryJournal(0)
		isLost := atomic.Bool{}
		isLost.Store(true)
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				buf := make([]byte, 1<<16)
				_, _ = r.Body.Read(buf)
				return nil, net.ErrClosed
			}
			if isLost.Load() {
				return nil, net.ErrClosed
			}
			time.Sleep(time.Second) // as an answer that is already on its way
			return answer(200, row).perform(r)
		})
		client := newClient(t, atFacty, testHost, transport, unavez.WithJournal(journal), unavez.WithMaxWait(0))
		_, err := mainCase(t, atFacty).do(t.Context(), client, testKey)
		_ = requireError(t, err)
		isLost.Store(false)

		first, leaveFirst := context.WithCancel(t.Context())
		go func() { _, _ = client.Reconcile(first, testKey) }()
		synctest.Wait()
		time.AfterFunc(200*time.Millisecond, leaveFirst)
		second, leaveSecond := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer leaveSecond()
		params := invoiceParams(atFacty)
		params.Items[0].UnitPrice = "999999.00"
		invoice, err := client.Invoices.Create(second, params, unavez.WithIdempotencyKey(testKey))
		require.Error(t, err, "the document of other bytes was returned as success: %+v", invoice)
		time.Sleep(5 * time.Second) // the answer that was on its way arrives
	})
}

func TestReconcilesOfTwoKindsAreTwoQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := &hookedJournal{Journal: unavez.NewMemoryJournal(0)}
		b := newMock(t, atFacty)
		client := b.newClient(unavez.WithJournal(journal))
		b.play(answer(200, `{"invoices":[]}`).late(2*time.Second), answer(200, `{"invoices":[]}`).late(2*time.Second))
		go func() { _, _ = client.Invoices.Reconcile(context.Background(), testKey) }()
		synctest.Wait()
		_, err := client.Payments.Reconcile(t.Context(), testKey)
		e := requireError(t, err)
		require.NotEqual(t, unavez.ReasonNeverArrived, e.Reason, "an empty list is no proof for a payment: %v", e)
		require.Equal(t, "payments.create", e.Op, "the answer to another question was given")
	})
}

func TestReconcileOfTheRightKindIsNotToldReused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := false
		journal := &hookedJournal{Journal: unavez.NewMemoryJournal(0), begin: func(context.Context) error {
			if slow {
				time.Sleep(time.Second)
			}
			return nil
		}}
		b := newMock(t, atFacty)
		client := b.newClient(unavez.WithJournal(journal))
		b.play(answer(200, mainCase(t, atFacty).success))
		_, err := mainCase(t, atFacty).do(t.Context(), client, testKey)
		require.NoError(t, err)
		slow = true
		go func() { _, _ = client.Payments.Reconcile(context.Background(), testKey) }()
		synctest.Wait()
		_, err = client.Invoices.Reconcile(t.Context(), testKey)
		require.NoError(t, err, "the invoice is in the journal; a wrong question of another caller was answered")
	})
}

func TestLeaverOfAReconcileIsNotToldToResendAFailedKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atFacty)
		b.play(answer(409, `{"code":"CONFLICT"}`), answer(200, `{"invoices":[{"idempotencyKey":"`+testKey+`","status":"failed"}]}`))
		_, err := mainCase(t, atFacty).do(t.Context(), b.client, testKey)
		_ = requireError(t, err)
		// two callers reconcile; one leaves
		b.play(answer(200, `{"invoices":[{"idempotencyKey":"`+testKey+`","status":"failed"}]}`).late(5 * time.Second))
		go func() { _, _ = b.client.Reconcile(context.Background(), testKey) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = b.client.Reconcile(ctx, testKey)
		time.Sleep(time.Minute)
		e := requireError(t, err)
		require.NotEqual(t, unavez.NextResend, e.Next, "the record says failed, or nobody knows yet: %v", e)
		require.NotEqual(t, unavez.NotSent, e.Effect, "a failed key was sent: %v", e)
		time.Sleep(time.Minute)
	})
}

func TestOperationThatAllCallersHaveLeftEnds(t *testing.T) {
	t.Parallel()
	c := mainCase(t, atIpsofactura)
	for i := range 150 { // in real time, since it is a race that is looked for
		began, ended := make(chan struct{}), make(chan struct{})
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			close(began)
			defer close(ended)
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		client := newClient(t, atIpsofactura, testHost, transport, unavez.WithMaxAttempts(1))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{}, 2)
		go func() { _, _ = c.do(ctx, client, testKey); done <- struct{}{} }()
		<-began
		go func() {
			params := invoiceParams(atIpsofactura)
			params.Folio = "78"
			second, leave := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer leave()
			_, _ = client.Invoices.Create(second, params, unavez.WithIdempotencyKey(testKey))
			done <- struct{}{}
		}()
		for range i {
			runtime.Gosched()
		}
		cancel()
		<-done
		<-done
		select {
		case <-ended:
		case <-time.After(2 * time.Second):
			require.Fail(t, "nobody waits any more and the operation goes on", "iteration %d", i)
		}
	}
}

func TestLeaverOfARunningOperationIsNotToldNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		b := newMock(t, atIpsofactura)
		b.play(noConnection(), answer(201, c.success))
		go func() { _, _ = c.do(context.Background(), b.client, testKey) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := c.do(ctx, b.client, testKey)
		time.Sleep(time.Minute)
		e := requireError(t, err)
		require.Len(t, b.writes(), 2, "the operation goes on without the caller that left")
		require.NotEqual(t, unavez.NotSent, e.Effect, "the operation went on and half a second later it was sent: %v", e)
	})
}

func TestPanicOfATransportLeavesTheKeyUsable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		isBad := true
		b := newMock(t, atIpsofactura)
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			if isBad {
				panic("a transport's bug")
			}
			return b.transport.RoundTrip(r)
		})
		client := newClient(t, atIpsofactura, testHost, transport)
		require.Panics(t, func() { _, _ = c.do(context.Background(), client, testKey) })
		isBad = false
		b.play(answer(201, c.success))
		time.Sleep(time.Hour) // the lease has ended
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.do(ctx, client, testKey)
		require.NoError(t, err, "every later call of this key waits for a flight that never lands")
	})
}

func TestGoexitOfATransportDoesNotHangTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		transport := roundTripper(func(*http.Request) (*http.Response, error) {
			runtime.Goexit() // as t.FailNow in a mocked transport or an observer
			return nil, nil
		})
		client := newClient(t, atIpsofactura, testHost, transport)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.do(ctx, client, testKey)
		}()
		time.Sleep(2 * time.Second)
		select {
		case <-done:
		default:
			require.Fail(t, "the caller hangs although its deadline is over")
		}
	})
}

func TestJournalThatHangsInExtendDoesNotHangTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		journal := &hookedJournal{Journal: unavez.NewMemoryJournal(0), extend: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-release:
				return nil
			}
		}}
		b := newMock(t, atIpsofactura)
		client := b.newClient(unavez.WithJournal(journal))
		b.play(answer(503, `{"code":"X"}`), answer(201, mainCase(t, atIpsofactura).success))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		time.AfterFunc(time.Hour, func() { close(release) })
		_, err := mainCase(t, atIpsofactura).do(ctx, client, testKey)
		_ = requireError(t, err)
		require.Less(t, time.Since(began), time.Minute, "the caller's deadline was 5 s, and a journal that hangs in Extend honours ctx")
	})
}

// The property found it: an answer that was cut by the caller's end was followed by a wait of which nobody was left to hear.
func TestNoWaitBeginsWhenTheLastCallerHasLeftDuringAnAnswer(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		synctest.Test(t, func(t *testing.T) {
			var waits atomic.Int32
			b, c := newSandbox(t), mainCase(t, provider)
			b.server.Script(sandbox.StallBody(0))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(1500*time.Millisecond, cancel)
			_, err := c.do(ctx, b.client(provider, unavez.WithObserver(func(_ context.Context, event unavez.Event) {
				if event.Kind == unavez.EventWait {
					waits.Add(1)
				}
			})), testKey)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
			require.Zero(t, waits.Load(), "waits begun at %s", provider)
		})
	}
}

func TestJitterNeverSleepsPastTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		b := newMock(t, atIpsofactura, unavez.WithJitter(1)).play(answer(429, `{}`, "Retry-After: 10"), answer(201, c.success))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		_, err := c.do(ctx, b.client, testKey)
		require.NoError(t, err, "the wait that was asked for fits, and the jitter gives way")
	})
}

func TestCallerThatLeavesDuringAWaitDoesNotKeepTheOthersAsleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		b := newMock(t, atIpsofactura).play(answer(503, `{}`, "Retry-After: 20").late(time.Second))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		other, leave := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, leave)
		go func() {
			time.Sleep(time.Millisecond)
			_, _ = c.do(other, b.client, testKey)
		}()
		_, err := c.do(ctx, b.client, testKey)
		require.Equal(t, 2*time.Second, time.Since(began), "nobody is left who could wait 20 s: %v", err)
		require.Equal(t, 20*time.Second, requireError(t, err).RetryAfter)
	})
}

func TestAnswerThatCameAsTheCallerLeftIsBelieved(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			transport := roundTripper(func(r *http.Request) (*http.Response, error) {
				_, err := io.Copy(io.Discard, r.Body)
				cancel()
				synctest.Wait()
				return &http.Response{
					StatusCode: http.StatusBadRequest, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(errorBody(provider, "X"))),
				}, err
			})
			_, err := mainCase(t, provider).do(ctx, newClient(t, provider, testHost, transport), testKey)
			require.ErrorIs(t, err, unavez.ErrRefused, provider)
			require.Equal(t, http.StatusBadRequest, requireError(t, err).HTTPStatus)
		})
	}
}

func TestCallerThatLeavesDuringAWaitEndsNothingForWhoCanWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		b := newMock(t, atIpsofactura).play(answer(503, `{}`, "Retry-After: 20").late(time.Second), answer(201, c.success))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		other, leave := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, leave)
		go func() {
			time.Sleep(time.Millisecond)
			_, _ = c.do(other, b.client, testKey)
		}()
		_, err := c.do(ctx, b.client, testKey)
		require.NoError(t, err)
		require.Equal(t, 21*time.Second, time.Since(began))
	})
}
