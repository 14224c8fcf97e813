package unavez_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// verdict is an answer to a first send and what its provider's page makes of it.
type verdict struct {
	provider    string
	status      int
	body        string
	disposition unavez.Disposition
	effect      unavez.Effect
	next        unavez.Next
	reason      unavez.Reason
	marks       []error
	// isSentAgain says that the same request may be sent again.
	isSentAgain bool
}

func (v *verdict) String() string { return fmt.Sprintf("%s %d %s", v.provider, v.status, v.body) }

// verdicts are the answers that share a status and differ by a code, or by a word in the body.
func verdicts() []verdict {
	return slices.Concat(ipsofacturaVerdicts(), payoutsVerdicts(), fiscalistoVerdicts())
}

func ipsofacturaVerdicts() []verdict {
	unknown, reused := []error{unavez.ErrOutcomeUnknown}, []error{unavez.ErrKeyReused}
	const at = atIpsofactura
	return []verdict{
		{at, 409, `{"code":"DUPLICATE_IN_PROGRESS"}`, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", nil, true},
		{at, 409, `{"code":"duplicate_in_progress"}`, unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, unavez.ReasonConflict, nil, false},
		{at, 409, `{"code":"FOLIO_TAKEN"}`, unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, unavez.ReasonConflict, nil, false},
		{at, 409, `{}`, unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, unavez.ReasonConflict, nil, false},
		{at, 422, `{"code":"IDEMPOTENCY_KEY_REUSED"}`, unavez.Refused, unavez.NotExecuted, unavez.NextReconcile, "", reused, false},
		{at, 422, `{"code":"CFDI40147"}`, unavez.Refused, unavez.NotExecuted, unavez.NextFixNewKey, "", nil, false},
		{at, 422, ``, unavez.Refused, unavez.NotExecuted, unavez.NextFixNewKey, "", nil, false},
		{at, 503, `{"code":"STAMPING_OUTCOME_UNKNOWN"}`, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
		{at, 503, `{"code":"MAINTENANCE"}`, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
		{at, 503, ``, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
		{at, 400, `{"code":"VALIDATION_ERROR"}`, unavez.Refused, unavez.NotExecuted, unavez.NextFixNewKey, "", nil, false},
		{at, 400, ``, unavez.Refused, unavez.NotExecuted, unavez.NextFixNewKey, "", nil, false},
	}
}

func payoutsVerdicts() []verdict {
	unknown, reused := []error{unavez.ErrOutcomeUnknown}, []error{unavez.ErrKeyReused}
	const at = atPayouts
	code := func(text string) string { return `{"error":{"type":"x","code":"` + text + `"}}` }
	return []verdict{
		{at, 409, code("idempotency_request_in_flight"), unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", nil, true},
		{at, 409, code("idempotency_key_reused"), unavez.Refused, unavez.NotExecuted, unavez.NextReconcile, "", reused, false},
		{at, 409, code("quote_already_consumed"), unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, "*", nil, false},
		{at, 409, code("something_else"), unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, unavez.ReasonConflict, nil, false},
		{at, 409, ``, unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, unavez.ReasonConflict, nil, false},
		{at, 503, code("no_provider_available"), unavez.RetryLater, unavez.NotExecuted, unavez.NextResend, "", nil, true},
		{at, 503, code("other"), unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
		{at, 502, code("provider_error"), unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
		{at, 200, `{"id":"po_1","status":"failed"}`, unavez.Refused, unavez.NotExecuted, unavez.NextFixNewKey, "", nil, false},
		{at, 200, `{"id":"po_1","status":"unknown"}`, unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, "*", unknown, false},
		{at, 200, `{"status":"unknown"}`, unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, "*", unknown, false},
		{at, 200, `{"id":"po_1"}`, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
		{at, 200, `{}`, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
	}
}

func fiscalistoVerdicts() []verdict {
	unknown, reused := []error{unavez.ErrOutcomeUnknown}, []error{unavez.ErrKeyReused}
	const at = atFiscalisto
	code := func(text string) string { return `{"error":{"code":"` + text + `"}}` }
	return []verdict{
		{at, 409, code("request_in_progress"), unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", nil, true},
		{at, 409, code("idempotency_key_reused"), unavez.Refused, unavez.NotExecuted, unavez.NextReconcile, "", reused, false},
		{at, 409, code("other"), unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, unavez.ReasonConflict, nil, false},
		{at, 409, ``, unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, unavez.ReasonConflict, nil, false},
		{at, 422, code("invoice_invalid"), unavez.Refused, unavez.NotExecuted, unavez.NextFixSameKey, "", nil, false},
		{at, 422, code("invoice_rejected"), unavez.Refused, unavez.NotExecuted, unavez.NextFixNewKey, "", nil, false},
		{at, 422, code("other"), unavez.Refused, unavez.NotExecuted, unavez.NextFixSameKey, "", nil, false},
		{at, 400, code("idempotency_key_invalid"), unavez.Refused, unavez.NotExecuted, "*", "", []error{unavez.ErrKeyInvalid}, false},
		{at, 400, code("idempotency_key_missing"), unavez.Refused, unavez.NotExecuted, "*", "", []error{unavez.ErrNoIdempotencyKey}, false},
		{at, 400, ``, unavez.Refused, unavez.NotExecuted, unavez.NextFixSameKey, "", nil, false},
		{at, 202, `{"id":"inv_1","status":"pending","uuid":null}`, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
		{at, 202, ``, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
		{at, 201, `{"id":"inv_1","status":"pending","uuid":null}`, unavez.NeedsManualReview, unavez.Unknown, unavez.NextReview, "*", nil, false},
		{at, 201, `{"id":"inv_1"}`, unavez.RetryLater, unavez.Unknown, unavez.NextResend, "", unknown, true},
	}
}

func (v *verdict) require(t *testing.T, e *unavez.Error) {
	t.Helper()
	require.Equal(t, v.disposition, e.Disposition)
	require.Equal(t, v.effect, e.Effect)
	if v.next != "*" {
		require.Equal(t, v.next, e.Next)
	}
	if v.reason != "*" {
		require.Equal(t, v.reason, e.Reason)
	}
	for _, mark := range []error{unavez.ErrOutcomeUnknown, unavez.ErrKeyReused, unavez.ErrKeyInvalid, unavez.ErrNoIdempotencyKey} {
		if slices.Contains(v.marks, mark) {
			require.ErrorIs(t, e, mark)
		} else {
			require.NotErrorIs(t, e, mark)
		}
	}
	require.Equal(t, v.status, e.HTTPStatus)
}

func TestAnswersThatShareAStatusAreToldApartByWhatTheBodySays(t *testing.T) {
	t.Parallel()
	for _, v := range verdicts() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, v.provider), newMock(t, v.provider, unavez.WithMaxAttempts(2))
				b.play(answer(v.status, v.body, "Retry-After: 5"))
				if v.isSentAgain {
					b.play(answer(v.status, v.body, "Retry-After: 5"))
				}

				made, err := c.do(t.Context(), b.client, testKey)

				require.Nil(t, made)
				e := requireError(t, err)
				if v.isSentAgain && v.effect == unavez.Unknown && len(v.marks) == 0 {
					require.ErrorIs(t, err, unavez.ErrRetryLater) // in flight twice: it may have been executed, or not yet
				} else {
					v.require(t, e)
				}
				if v.isSentAgain {
					require.Equal(t, at(0, 5), times(b.writes()))
				} else {
					require.Len(t, b.writes(), 1, "sent again without a rule that permits it")
				}
				requireSameBytes(t, b.writes())
			})
		})
	}
}

func TestUnknownStampingOutcomeIsNotSleptAboveTheCap(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]reply{
		"in header and body": answer(503, `{"code":"STAMPING_OUTCOME_UNKNOWN","retry_after":60,"idempotency_key":"`+testKey+`"}`, "Retry-After: 60"),
		"in the body":        answer(503, `{"code":"STAMPING_OUTCOME_UNKNOWN","retry_after":60,"idempotency_key":"`+testKey+`"}`),
		"in the header":      answer(503, `{"code":"STAMPING_OUTCOME_UNKNOWN"}`, "Retry-After: 60"),
	} {
		for _, c := range writeCases(t, atIpsofactura) {
			t.Run(c.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newMock(t, atIpsofactura)
					b.play(row)

					_, err := c.do(t.Context(), b.client, testKey)

					e := requireError(t, err)
					require.ErrorIs(t, err, unavez.ErrRetryLater)
					require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					require.Equal(t, time.Minute, e.RetryAfter)
					require.Equal(t, testKey, e.Key)
					require.Zero(t, time.Since(b.began))
					require.Len(t, b.all(), 1)

					b.play(answer(201, c.success, "Idempotency-Replayed: true"))
					first := b.writes()[0]
					time.Sleep(time.Minute)
					made, err := c.do(t.Context(), b.client, testKey)
					require.NoError(t, err, "the same call, later")
					require.NotNil(t, made)
					require.Equal(t, first.Body, b.writes()[1].Body, "the same bytes")
					require.Equal(t, testKey, b.writes()[1].Header.Get("Idempotency-Key"), "the same key")
				})
			})
		}
	}
}

func TestPayoutThatIsUnknownToItsProviderIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 201, 202, 203, 206, 299} {
		for _, body := range []string{`{"id":"po_1","status":"unknown"}`, `{"status":"unknown"}`, `{"id":null,"status":"unknown"}`} {
			t.Run(fmt.Sprint(status, body), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, atPayouts), newMock(t, atPayouts)
					b.play(answer(status, body))

					for i := range 3 {
						_, err := c.do(t.Context(), b.client, testKey)
						e := requireError(t, err)
						require.Equal(t, unavez.NeedsManualReview, e.Disposition, "call %d", i+1)
						require.Equal(t, unavez.NextReview, e.Next)
						_, err = b.client.Payouts.Reconcile(t.Context(), testKey)
						require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
						_, err = b.newClient().Payouts.Reconcile(t.Context(), testKey)
						require.ErrorIs(t, err, unavez.ErrNeedsManualReview, "after a restart")
					}
					require.Len(t, b.all(), 1, "sent again")
				})
			})
		}
	}
}

func TestGoodStatusWithoutProofIsNotTakenForAStamp(t *testing.T) {
	t.Parallel()
	malformed := []string{
		`null`, `""`, `" "`, `"pending"`, `0`, `true`, `[]`, `{}`, `["` + testUUID + `"]`, `{"uuid":"` + testUUID + `"}`,
		`"` + testUUID + ` "`, `" ` + testUUID + `"`, `"` + testUUID[:35] + `"`, `"` + testUUID + `0"`, `"{` + testUUID + `}"`,
		`"` + strings.ReplaceAll(testUUID, "-", "") + `"`, `"` + strings.Replace(testUUID, "5F", "5G", 1) + `"`, `"urn:uuid:` + testUUID + `"`,
	}
	for _, c := range everyWrite(t) {
		member := map[string]string{atIpsofactura: "folio_fiscal", atPayouts: "id"}[c.provider]
		if member == "" {
			member = "uuid"
		}
		if strings.Contains(string(c.operation), "cancel") || c.provider == atPayouts {
			continue // a cancellation is any object; an id of a payout has no form
		}
		for _, status := range []int{200, 201, 203, 299} {
			for i, value := range append(malformed, "absent") {
				t.Run(fmt.Sprintf("%s %d %d", c, status, i), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { requireNoStamp(t, c, status, member, value) })
				})
			}
		}
	}
}

func requireNoStamp(t *testing.T, c writeCase, status int, member, value string) {
	t.Helper()
	b := newMock(t, c.provider, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
	body := `{"serie":"A","` + member + `":` + value + `}`
	if value == "absent" {
		body = `{"serie":"A"}`
	}
	b.play(answer(status, body))
	if c.doubtOf() == isAsked || c.doubtOf() == isAskedOnly {
		b.play(answer(200, `{"invoices":[]}`))
	}

	made, err := c.do(t.Context(), b.client, testKey)

	require.Nil(t, made, "%d %s was taken for a stamp", status, body)
	require.Equal(t, unavez.RetryLater, requireError(t, err).Disposition, body)
	require.ErrorIs(t, err, unavez.ErrOutcomeUnknown, body)
}
