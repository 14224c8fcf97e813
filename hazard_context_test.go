package unavez_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

func TestTimeoutOfTheAttemptIsNotTakenForTheCallersEnd(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMock(t, c.provider, unavez.WithTimeout(time.Second))
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				b.play(silence())
				if c.doubtOf() == isResent {
					b.play(answer(201, c.success))
				}
				switch {
				case c.provider == atFacty && c.operation == unavez.InvoiceCancel:
					b.play(answer(200, `{"estado":"Cancelado"}`))
				case c.doubtOf() == isAsked || c.doubtOf() == isAskedOnly:
					b.play(answer(200, `{"invoices":[{"id":"inv_1","paymentId":"pay_1","uuid":"`+testUUID+
						`","idempotencyKey":"`+testKey+`","status":"stamped"}]}`))
				}

				made, err := c.do(ctx, b.client, testKey)

				require.NoError(t, ctx.Err(), "the caller still had time")
				if c.doubtOf() == isLeft {
					require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					require.ErrorIs(t, err, unavez.ErrRetryLater)
					return
				}
				require.NoError(t, err)
				require.NotNil(t, made)
				require.Empty(t, b.unplayed())
			})
		})
	}
}

// ending is a way in which the caller's context ends, and the error that the caller must find.
type ending struct {
	name string
	make func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc)
	want error
}

var errImpatient = errors.New("the user closed the window")

func endings() []ending {
	cancelAfter := func(ctx context.Context, cancel func(), after time.Duration) (context.Context, context.CancelFunc) {
		stop := time.AfterFunc(after, cancel)
		return ctx, func() { stop.Stop(); cancel() }
	}
	return []ending{
		{"deadline", context.WithTimeout, context.DeadlineExceeded},
		{"cancel", func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(parent)
			return cancelAfter(ctx, cancel, after)
		}, context.Canceled},
		{"cause", func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(parent)
			return cancelAfter(ctx, func() { cancel(errImpatient) }, after)
		}, errImpatient},
		{"deadline with a cause", func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(parent, after, errImpatient)
		}, errImpatient},
	}
}

func TestCallersEndDuringAnAttemptEndsTheCallAtOnce(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, end := range endings() {
			for name, reply := range map[string]reply{"while connecting": noConnectionInTime(), "after the write": silence()} {
				t.Run(provider+" "+end.name+" "+name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						c, b := mainCase(t, provider), newMock(t, provider)
						b.play(reply)
						ctx, cancel := end.make(t.Context(), 1500*time.Millisecond)
						defer cancel()

						_, err := c.do(ctx, b.client, testKey)

						e := requireError(t, err)
						require.ErrorIs(t, err, end.want)
						require.Equal(t, unavez.RetryLater, e.Disposition)
						require.Equal(t, 1500*time.Millisecond, time.Since(b.began), "the caller is told at once")
						require.Len(t, b.all(), 1, "something was tried for a caller who has gone")
						require.Equal(t, !reply.unsent, errors.Is(err, unavez.ErrOutcomeUnknown))
						want := unavez.Unknown
						if reply.unsent {
							want = unavez.NotSent
						}
						require.Equal(t, want, e.Effect)
					})
				})
			}
		}
	}
}

func TestCancelDuringAWaitEndsTheCallAtOnceAndKeepsTheLastAnswer(t *testing.T) {
	t.Parallel()
	for _, row := range waitingAnswers() {
		for _, end := range endings()[1:3] { // a deadline inside a wait is seen before it
			t.Run(fmt.Sprintf("%s %d %s %s", row.provider, row.status, row.body, end.name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, row.provider), newMock(t, row.provider)
					b.play(answer(row.status, row.body, "Retry-After: 20"))
					ctx, cancel := end.make(t.Context(), 5*time.Second)
					defer cancel()

					_, err := c.do(ctx, b.client, testKey)

					e := requireError(t, err)
					require.ErrorIs(t, err, end.want)
					require.ErrorIs(t, err, unavez.ErrRetryLater)
					require.Equal(t, 5*time.Second, time.Since(b.began))
					require.Equal(t, row.status, e.HTTPStatus, "the last answer was lost")
					require.GreaterOrEqual(t, e.RetryAfter, 20*time.Second, "the time that was asked was lost")
					require.Len(t, b.all(), 1)
				})
			})
		}
	}
}

func TestDeadlineInsideAWaitIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, row := range waitingAnswers() {
		t.Run(fmt.Sprintf("%s %d %s", row.provider, row.status, row.body), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, row.provider), newMock(t, row.provider)
				b.play(answer(row.status, row.body), answer(row.status, row.body))
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
				defer cancel()

				_, err := c.do(ctx, b.client, testKey)

				e := requireError(t, err)
				require.Equal(t, at(0, 1), times(b.writes()), "the next wait of 2 s ends past the deadline")
				require.NoError(t, ctx.Err(), "the call ends before the deadline does")
				require.Equal(t, unavez.RetryLater, e.Disposition)
			})
		})
	}
}

func TestEveryAttemptHasATimeoutOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atFiscalisto, atPayouts} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, provider), newMock(t, provider, unavez.WithTimeout(time.Second))
				for range 5 {
					b.play(silence())
				}

				_, err := c.do(t.Context(), b.client, testKey)

				e := requireError(t, err)
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.Equal(t, at(0, 2, 5, 10, 19), times(b.writes()), "one second, and then 1, 2, 4, 8 s")
				require.Len(t, e.Attempts, 5)
			})
		})
	}
}
