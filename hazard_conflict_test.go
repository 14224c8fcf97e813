package unavez_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// conflictAnswer is an answer that says that the key, or what it is for, is taken.
type conflictAnswer struct {
	provider string
	meaning  string // in flight, reused, consumed or without a rule
	reply    reply
}

func conflictAnswers() []conflictAnswer {
	nested := func(code string) string { return `{"error":{"code":"` + code + `"}}` }
	rows := []conflictAnswer{
		{atIpsofactura, "in flight", answer(409, `{"code":"DUPLICATE_IN_PROGRESS"}`)},
		{atIpsofactura, "reused", answer(422, `{"code":"IDEMPOTENCY_KEY_REUSED"}`)},
		{atPayouts, "in flight", answer(409, nested("idempotency_request_in_flight"))},
		{atPayouts, "reused", answer(409, nested("idempotency_key_reused"))},
		{atPayouts, "consumed", answer(409, nested("quote_already_consumed"))},
		{atFiscalisto, "in flight", answer(409, nested("request_in_progress"))},
		{atFiscalisto, "reused", answer(409, nested("idempotency_key_reused"))},
	}
	for _, provider := range []string{atIpsofactura, atPayouts, atFiscalisto} {
		for _, body := range []string{
			``, `{}`, `null`, `[]`, `"IDEMPOTENCY"`, `{"code":"X"}`, `{"code":null}`, `{"error":"x"}`, `{"error":{"code":"other"}}`, `{"error":{"code":409}}`,
			`{"code":"duplicate_in_progress"}`, `{"error":{"code":"IDEMPOTENCY_REQUEST_IN_FLIGHT"}}`, `{"error":{"code":"request_in_progress "}}`,
		} {
			rows = append(rows, conflictAnswer{provider, "without a rule", answer(409, body)})
		}
	}
	return rows
}

// past is what happened to the operation before the conflict.
type past struct {
	name string
	// first is the reply before the conflict in the same call; nil if the conflict is the first answer.
	first *reply
	// isRestart says that first ended a call of its own, in an earlier process.
	isRestart bool
	// isUncertain says that something may have been executed by then.
	isUncertain bool
}

func pasts() []past {
	lost, unsent, slow := lostAnswer(), noConnection(), answer(429, "")
	return []past{
		{name: "on the first send"},
		{name: "after a lost answer", first: &lost, isUncertain: true},
		{name: "after a refused connection", first: &unsent},
		{name: "after 429", first: &slow},
		{name: "after a restart with a lost answer", first: &lost, isRestart: true, isUncertain: true},
		{name: "after a restart with a refused connection", first: &unsent, isRestart: true},
	}
}

// meet plays the past and then the conflict, and returns what the call with the conflict in it ended as.
func (p *past) meet(t *testing.T, b *mockBundle, c writeCase, replies ...reply) (*result, error) {
	t.Helper()
	client := b.client
	if p.first != nil {
		b.play(*p.first)
	}
	if p.isRestart {
		if c.provider == atFacty && p.isUncertain {
			b.play(answer(502, "")) // the lookup
		}
		_, err := c.do(t.Context(), client, testKey, unavez.WithMaxAttempts(1))
		require.ErrorIs(t, err, unavez.ErrRetryLater)
		client = b.newClient()
	}
	b.play(replies...)
	return c.do(t.Context(), client, testKey)
}

func (p *past) writes() int {
	if p.first == nil {
		return 1
	}
	return 2
}

func TestConflictIsTreatedByItsCodeAndByWhatWasSentBefore(t *testing.T) {
	t.Parallel()
	for _, row := range conflictAnswers() {
		for _, p := range pasts() {
			t.Run(fmt.Sprintf("%s %d %s %s", row.provider, row.reply.status, row.reply.body, p.name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, row.provider), newMock(t, row.provider)
					if row.meaning == "in flight" {
						made, err := p.meet(t, b, c, row.reply, answer(201, c.success))
						require.NoError(t, err, "the request in flight is waited for")
						require.NotNil(t, made)
						require.Len(t, b.writes(), p.writes()+1)
						requireSameBytes(t, b.writes())
						return
					}

					_, err := p.meet(t, b, c, row.reply)

					e := requireError(t, err)
					require.Len(t, b.writes(), p.writes(), "sent again after the conflict")
					row.require(t, e, p.isUncertain)
					require.NotEqual(t, unavez.NextFixNewKey, e.Next, "a new key is suggested while the first request may have run")
				})
			})
		}
	}
}

func (r *conflictAnswer) require(t *testing.T, e *unavez.Error, isUncertain bool) {
	t.Helper()
	switch {
	case r.meaning == "reused" && isUncertain:
		require.Equal(t, unavez.NeedsManualReview, e.Disposition)
		require.ErrorIs(t, e, unavez.ErrKeyReused)
		require.Equal(t, unavez.ReasonKeyReused, e.Reason)
		require.Equal(t, unavez.Unknown, e.Effect)
	case r.meaning == "reused":
		require.Equal(t, unavez.Refused, e.Disposition)
		require.ErrorIs(t, e, unavez.ErrKeyReused)
		require.Equal(t, unavez.NextReconcile, e.Next)
		require.Equal(t, unavez.NotExecuted, e.Effect)
	default:
		require.Equal(t, unavez.NeedsManualReview, e.Disposition)
		require.NotErrorIs(t, e, unavez.ErrKeyReused)
		require.Equal(t, unavez.Unknown, e.Effect)
	}
}

func TestReviewAfterAConflictIsAnsweredAgainWithoutSending(t *testing.T) {
	t.Parallel()
	for _, row := range conflictAnswers() {
		if row.meaning == "in flight" {
			continue
		}
		t.Run(fmt.Sprintf("%s %d %s", row.provider, row.reply.status, row.reply.body), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, row.provider), newMock(t, row.provider)
				p := pasts()[1]
				_, err := p.meet(t, b, c, row.reply)
				require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
				sent := len(b.all())

				for _, client := range []*unavez.Client{b.client, b.newClient()} {
					_, err = c.do(t.Context(), client, testKey)
					e := requireError(t, err)
					require.Equal(t, unavez.NeedsManualReview, e.Disposition)
					require.Equal(t, row.reply.status, e.HTTPStatus, "the evidence of the last answer")
					_, err = c.reconcile(t.Context(), client, testKey)
					require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
				}
				require.Len(t, b.all(), sent, "something was sent for an operation that waits for a person")
			})
		})
	}
}

func TestConflictAtFactyIsLookedUpAndNeverSentAgain(t *testing.T) {
	t.Parallel()
	row := func(status, uuid string) string {
		return `{"invoices":[{"id":"inv_1","idempotencyKey":"` + testKey + `","status":"` + status + `","uuid":` + uuid + `}]}`
	}
	for name, found := range map[string]struct {
		lookups []reply
		want    func(t *testing.T, made *result, err error)
	}{
		"stamped": {[]reply{answer(200, row("stamped", `"`+testUUID+`"`))}, func(t *testing.T, made *result, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, testUUID, made.UUID)
		}},
		"failed": {[]reply{answer(200, row("failed", "null"))}, func(t *testing.T, _ *result, err error) {
			t.Helper()
			e := requireError(t, err)
			require.Equal(t, unavez.ReasonFailed, e.Reason)
			require.Equal(t, unavez.NextFixSameKey, e.Next)
		}},
		"empty": {[]reply{answer(200, `{"invoices":[]}`), answer(200, `{"invoices":[]}`)}, func(t *testing.T, _ *result, err error) {
			t.Helper()
			e := requireError(t, err)
			require.Equal(t, unavez.NeedsManualReview, e.Disposition)
			require.Equal(t, unavez.NextReconcile, e.Next)
		}},
		"pending to the end": {[]reply{
			answer(200, row("pending", "null")), answer(200, row("pending", "null")), answer(200, row("pending", "null")),
			answer(200, row("pending", "null")), answer(200, row("pending", "null")),
		}, func(t *testing.T, _ *result, err error) {
			t.Helper()
			require.Equal(t, unavez.RetryLater, requireError(t, err).Disposition)
		}},
	} {
		for _, code := range []string{``, `{"code":"CONFLICT"}`, `{"code":"idempotency_key_reused"}`, `{"code":"DUPLICATE_IN_PROGRESS"}`, `null`} {
			for _, p := range pasts()[:1] {
				t.Run(name+" "+code, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						c, b := mainCase(t, atFacty), newMock(t, atFacty)
						made, err := p.meet(t, b, c, append([]reply{answer(409, code)}, found.lookups...)...)
						found.want(t, made, err)
						require.Len(t, b.writes(), 1)
						require.Empty(t, b.unplayed())
					})
				})
			}
		}
	}
}
