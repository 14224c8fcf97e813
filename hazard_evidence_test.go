package unavez_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// toldAnswer is an answer that says all that a provider's envelope can say, and after which the same request is sent again.
func toldAnswer(provider string) reply {
	headers := []string{"Retry-After: 2", "X-Request-Id: req_7"}
	switch provider {
	case atFacty:
		return answer(429, `{"code":"RATE_LIMITED","error":"demasiadas peticiones","requestId":"req_7","fieldErrors":{"items":"muchas"}}`, headers...)
	case atIpsofactura:
		return answer(503, `{"code":"STAMPING_OUTCOME_UNKNOWN","message":"no se pudo confirmar","retry_after":2}`, headers...)
	}
	return answer(503, `{"error":{"type":"api_error","code":"busy_now","message":"vuelva luego","request_id":"req_7"}}`, headers...)
}

// requireTold asks for every field that the answer filled.
func requireTold(t *testing.T, provider string, e *unavez.Error) {
	t.Helper()
	told := map[string][4]string{
		atFacty:       {"RATE_LIMITED", "demasiadas peticiones", "req_7", "muchas"},
		atIpsofactura: {"STAMPING_OUTCOME_UNKNOWN", "no se pudo confirmar", "", ""},
		atFiscalisto:  {"busy_now", "vuelva luego", "req_7", ""},
		atPayouts:     {"busy_now", "vuelva luego", "req_7", ""},
	}[provider]
	status := 503
	if provider == atFacty {
		status = 429
	}
	require.Equal(t, status, e.HTTPStatus, "the status of the last answer")
	require.Equal(t, told[0], e.Code, "the code of the last answer")
	require.Equal(t, told[1], e.Message, "the message of the last answer")
	require.Equal(t, told[2], e.RequestID, "the request id of the last answer")
	require.Equal(t, told[3], e.FieldErrors["items"], "the field errors of the last answer")
	require.Equal(t, testKey, e.Key)
	require.Equal(t, provider, e.Provider)
	require.NotEmpty(t, e.Op)
	require.GreaterOrEqual(t, e.RetryAfter, time.Second)
	requireRetryAt(t, e)
}

func TestErrorKeepsTheLastAnswerHoweverTheCallEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		options  []unavez.CallOption
		deadline time.Duration
		cancel   time.Duration
		then     func(told reply) []reply
		attempts int
		cause    error
	}{
		"attempts used up": {
			options: []unavez.CallOption{unavez.WithMaxAttempts(2)}, then: func(told reply) []reply { return []reply{told} }, attempts: 2,
		},
		"one attempt": {options: []unavez.CallOption{unavez.WithMaxAttempts(1)}, attempts: 1},
		"cap":         {options: []unavez.CallOption{unavez.WithMaxWait(time.Second)}, attempts: 1},
		"deadline":    {deadline: 1500 * time.Millisecond, attempts: 1},
		"cancel while waiting": {
			cancel: time.Second, attempts: 1, cause: context.Canceled,
		},
		"cancel during the next attempt": {
			cancel: 3 * time.Second, then: func(reply) []reply { return []reply{silence()} }, attempts: 2, cause: context.Canceled,
		},
		"deadline during the next attempt": {
			deadline: 3 * time.Second, then: func(reply) []reply { return []reply{silence()} }, attempts: 2, cause: context.DeadlineExceeded,
		},
		"connection refused after the answer": {
			options: []unavez.CallOption{unavez.WithMaxAttempts(2)}, then: func(reply) []reply { return []reply{noConnection()} }, attempts: 2,
		},
	} {
		for _, provider := range allProviders() {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, provider), newMock(t, provider)
					b.play(toldAnswer(provider))
					if row.then != nil {
						b.play(row.then(toldAnswer(provider))...)
					}
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					if row.cancel > 0 {
						time.AfterFunc(row.cancel, stop)
					}
					if row.deadline > 0 {
						ctx, stop = context.WithTimeout(ctx, row.deadline)
						defer stop()
					}

					_, err := c.do(ctx, b.client, testKey, row.options...)

					e := requireError(t, err)
					require.ErrorIs(t, err, unavez.ErrRetryLater, "the disposition")
					if row.cause != nil {
						require.ErrorIs(t, err, row.cause, "the cause")
					}
					requireTold(t, provider, e)
					require.Len(t, e.Attempts, row.attempts)
					require.Equal(t, e.HTTPStatus, e.Attempts[0].HTTPStatus)
					require.Equal(t, e.Code, e.Attempts[0].Code)
					require.Equal(t, e.RequestID, e.Attempts[0].RequestID)
				})
			})
		}
	}
}

func TestErrorOfALostAnswerKeepsTheAnswerBeforeIt(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]reply{"connection closed": lostAnswer(), "silence": silence(), "body cut": cutAnswer(201, `{"id":"in`)} {
		for _, provider := range []string{atIpsofactura, atFiscalisto, atPayouts} {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, provider), newMock(t, provider, unavez.WithMaxAttempts(2), unavez.WithTimeout(time.Second))
					b.play(toldAnswer(provider), lost)

					_, err := c.do(t.Context(), b.client, testKey)

					e := requireError(t, err)
					require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					require.Equal(t, 503, e.Attempts[0].HTTPStatus)
					if lost.status != 0 {
						require.Equal(t, lost.status, e.HTTPStatus, "the last answer is the one that was cut")
						return
					}
					requireTold(t, provider, e)
				})
			})
		}
	}
}

func TestErrorOfARefusalKeepsEveryFieldOfTheAnswer(t *testing.T) {
	t.Parallel()
	for provider, row := range map[string]reply{
		atFacty:       answer(422, `{"code":"VALIDATION_ERROR","error":"datos","requestId":"req_7","fieldErrors":{"items":"falta"}}`),
		atIpsofactura: answer(422, `{"code":"CFDI40147","message":"datos"}`), atFiscalisto: answer(422,
			`{"error":{"code":"invoice_invalid","message":"datos","request_id":"req_7"}}`),
		atPayouts: answer(422, `{"error":{"code":"validation_error","message":"datos","request_id":"req_7"}}`),
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			c, b := mainCase(t, provider), newMock(t, provider)
			b.play(row)

			_, err := c.do(t.Context(), b.client, testKey)

			e := requireError(t, err)
			require.Equal(t, unavez.Refused, e.Disposition)
			require.Equal(t, 422, e.HTTPStatus)
			require.NotEmpty(t, e.Code)
			require.Equal(t, "datos", e.Message)
			require.Equal(t, testKey, e.Key)
			if provider != atIpsofactura {
				require.Equal(t, "req_7", e.RequestID)
			}
			if provider == atFacty {
				require.Equal(t, map[string]string{"items": "falta"}, e.FieldErrors)
			}
			require.Len(t, e.Attempts, 1)
		})
	}
}

func TestCauseOfATransportErrorIsFoundBesideTheDisposition(t *testing.T) {
	t.Parallel()
	cause := errors.New("the wire was cut")
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMock(t, c.provider, unavez.WithMaxAttempts(1))
				b.play(reply{err: cause, unsent: true})

				_, err := c.do(t.Context(), b.client, testKey)

				require.ErrorIs(t, err, cause)
				require.ErrorIs(t, err, unavez.ErrRetryLater)
				require.ErrorIs(t, requireError(t, err).Attempts[0].Err, cause)
			})
		})
	}
}
