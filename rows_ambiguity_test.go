package unavez_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// "Where two rows could be read against each other", for the providers that resend after an ambiguity.

func resenders() []string { return []string{atIpsofactura, atFiscalisto, atPayouts} }

func TestRowsAnUnknownOutcomeIsNotClearedByAnAnswerAboutTheCaller(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		var rows []row
		unknown := unknownOutcome(unavez.NextResend, afterLoss(provider, 1))
		for _, status := range []int{401, 403} {
			rows = append(rows, row{
				fact: strconv.Itoa(status) + " after a lost answer", answers: then(lostAnswer(), answer(status, errorBody(provider, "NO"))),
				sends: []float64{0, 1}, want: unknown.http(status, "NO").marked(unavez.ErrUnauthorized),
			})
		}
		for _, status := range []int{301, 307} {
			rows = append(rows, row{
				fact: strconv.Itoa(status) + " after a lost answer", sends: []float64{0, 1},
				answers: then(lostAnswer(), answer(status, "", "Location: https://evil.example/")), want: unknown.http(status, ""),
			})
		}
		for _, status := range []int{400, 405, 404, 410, 413, 422, 451} {
			rows = append(rows, row{
				fact: strconv.Itoa(status) + " of a gateway after a timeout", answers: then(silence(), answer(status, "<html>no</html>")),
				sends: []float64{0, 31}, want: unknown.http(status, ""),
			})
		}
		rows = append(rows, row{
			fact: "402 after a lost answer", answers: then(lostAnswer(), answer(402, errorBody(provider, ""))), sends: []float64{0, 1},
			want: unknown.http(402, "").marked(unavez.ErrInsufficientBalance),
		}, row{
			fact: "405 with a code after a lost answer is no listed verdict", answers: then(lostAnswer(), answer(405, errorBody(provider, "METHOD"))),
			sends: []float64{0, 1}, want: unknown.http(405, "METHOD"),
		}, row{
			fact: "certificate after a lost answer", answers: then(lostAnswer(), untrusted()), sends: []float64{0, 1}, want: unknown,
		})
		runRows(t, provider, rows)
	}
}

func TestRowsAnUnknownOutcomeStaysUnknownOverLaterAnswers(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		unknown := unknownOutcome(unavez.NextResend, afterLoss(provider, 8))
		ladder := []float64{0, 1, 3, 7, 15}
		runRows(t, provider, []row{
			{fact: "429 after a lost answer", answers: then(lostAnswer(), repeated(4, slow())), sends: ladder, want: unknown.http(429, "")},
			{fact: "425 after a lost answer", answers: then(lostAnswer(), repeated(4, answer(425, ""))), sends: ladder, want: unknown.http(425, "")},
			{fact: "refused dials after a lost answer", answers: then(lostAnswer(), repeated(4, noConnection())), sends: ladder, want: unknown},
			{fact: "a lost answer after refused dials", answers: then(repeated(4, noConnection()), lostAnswer()), sends: ladder, want: unknown},
			{
				fact: "conflict without a rule after a lost answer", answers: then(lostAnswer(), answer(409, errorBody(provider, "X"))), sends: []float64{0, 1},
				want: review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, "X"),
			},
		})
	}
}

func TestRowsAListedVerdictOnThePayloadIsTrustedAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	runRows(t, atIpsofactura, []row{
		verdictRow(answer(400, errorBody(atIpsofactura, "VALIDATION_ERROR")), "VALIDATION_ERROR", unavez.NextFixNewKey),
		verdictRow(answer(400, errorBody(atIpsofactura, "OTHER")), "OTHER", unavez.NextFixNewKey),
		verdictRow(answer(422, errorBody(atIpsofactura, "CFDI40147")), "CFDI40147", unavez.NextFixNewKey),
		verdictRow(answer(404, errorBody(atIpsofactura, "NOT_FOUND")), "NOT_FOUND", unavez.NextFixNewKey),
	})
	runRows(t, atFiscalisto, []row{
		verdictRow(answer(422, errorBody(atFiscalisto, "invoice_invalid")), "invoice_invalid", unavez.NextFixSameKey),
		verdictRow(answer(422, errorBody(atFiscalisto, "invoice_rejected")), "invoice_rejected", unavez.NextFixNewKey),
		{
			fact: "422 with a code that the page does not list is no verdict", sends: []float64{0, 1},
			answers: then(lostAnswer(), answer(422, errorBody(atFiscalisto, "another_code"))),
			want:    unknownOutcome(unavez.NextResend, 1).http(422, "another_code"),
		},
	})
	runRows(t, atPayouts, []row{
		verdictRow(answer(400, errorBody(atPayouts, "validation_error")), "validation_error", unavez.NextFixNewKey),
		verdictRow(answer(422, errorBody(atPayouts, "validation_error")), "validation_error", unavez.NextFixNewKey),
		verdictRow(answer(200, `{"id":"po_1","status":"failed"}`), "", unavez.NextFixNewKey),
	})
}

func verdictRow(verdict reply, code string, next unavez.Next) row {
	return row{
		fact: strconv.Itoa(verdict.status) + " " + code, answers: then(lostAnswer(), verdict), sends: []float64{0, 1},
		want: refused(unavez.NotExecuted, next).http(verdict.status, code),
	}
}

func TestRowsReusedKeyIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	for provider, reused := range reusedAnswers() {
		c := mainCase(t, provider)
		code := codeIn(provider, reused)
		isRefused := refused(unavez.NotExecuted, unavez.NextReconcile).http(reused.status, code).marked(unavez.ErrKeyReused)
		isReview := review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReview).http(reused.status, code).marked(unavez.ErrKeyReused)
		noNewKey := func(t *testing.T, e *unavez.Error) {
			t.Helper()
			require.NotContains(t, []unavez.Next{unavez.NextFixNewKey, unavez.NextResend}, e.Next, "neither another key nor a resend is suggested")
		}
		runRows(t, provider, []row{
			{fact: "on the first send it is Refused", answers: then(reused), sends: []float64{0}, want: isRefused},
			{fact: "after a lost answer a person decides", answers: then(lostAnswer(), reused), sends: []float64{0, 1}, want: isReview.with(noNewKey)},
			{fact: "after a timeout a person decides", answers: then(silence(), reused), sends: []float64{0, 31}, want: isReview.with(noNewKey)},
			{fact: "after a 503 a person decides", answers: then(answer(503, ""), reused), sends: []float64{0, 1}, want: isReview.with(noNewKey)},
			{fact: "after a refused dial it is Refused", answers: then(noConnection(), reused), sends: []float64{0, 1}, want: isRefused},
			{fact: "after a 429 it is Refused", answers: then(slow(), reused), sends: []float64{0, 1}, want: isRefused},
			{
				fact: "in the next call after a lost answer a person decides", before: losing(c), answers: then(reused), sends: []float64{0},
				want: isReview.with(noNewKey),
			},
			{
				fact: "after a restart a person decides", before: losing(c), answers: then(reused), sends: []float64{0}, act: afterRestart(c),
				want: isReview.with(noNewKey),
			},
		})
	}
}

func reusedAnswers() map[string]reply {
	return map[string]reply{
		atIpsofactura: answer(422, errorBody(atIpsofactura, "IDEMPOTENCY_KEY_REUSED")),
		atFiscalisto:  answer(409, errorBody(atFiscalisto, "idempotency_key_reused")),
		atPayouts:     answer(409, errorBody(atPayouts, "idempotency_key_reused")),
	}
}

// losing is an earlier call of one attempt whose answer was lost.
func losing(c writeCase) func(t *testing.T, b *mockBundle) {
	return func(t *testing.T, b *mockBundle) {
		t.Helper()
		b.play(lostAnswer())
		_, err := c.do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
	}
}

// afterRestart calls through another client of the same journal.
func afterRestart(c writeCase) func(context.Context, *mockBundle, ...unavez.CallOption) (*result, error) {
	return func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		return c.do(ctx, b.newClient(), testKey, options...)
	}
}

func TestRowsInFlightIsWaitedForAndSentAgain(t *testing.T) {
	t.Parallel()
	for provider, inFlight := range inFlightAnswers() {
		c := mainCase(t, provider)
		code := codeIn(provider, inFlight)
		busy := inFlight
		busy.header = answer(0, "", "Retry-After: 3").header
		runRows(t, provider, []row{
			{fact: "then the document", answers: then(inFlight, inFlight, answer(200, c.success)), sends: []float64{0, 1, 3}, want: aDocument()},
			{fact: "with Retry-After", answers: then(busy, busy, answer(200, c.success)), sends: []float64{0, 3, 6}, want: aDocument()},
			{
				fact: "once, and the budget is over", options: []unavez.CallOption{unavez.WithMaxAttempts(1)}, answers: then(inFlight), sends: []float64{0},
				want: retryLater(unavez.Unknown, unavez.NextResend, afterLoss(provider, 1)).http(409, code),
			},
			{
				fact: "for ever ends as RetryLater", answers: repeated(5, inFlight), sends: []float64{0, 1, 3, 7, 15},
				want: retryLater(unavez.Unknown, unavez.NextResend, afterLoss(provider, 8)).http(409, code),
			},
			{
				fact: "for ever after a lost answer is unknown", answers: then(lostAnswer(), repeated(4, inFlight)), sends: []float64{0, 1, 3, 7, 15},
				want: unknownOutcome(unavez.NextResend, afterLoss(provider, 8)).http(409, code),
			},
			{
				fact: "with a long Retry-After ends at once", sends: []float64{0},
				answers: then(answer(409, inFlight.body, "Retry-After: 120")),
				want:    retryLater(unavez.Unknown, unavez.NextResend, 120).http(409, code),
			},
		})
	}
}

func inFlightAnswers() map[string]reply {
	return map[string]reply{
		atIpsofactura: answer(409, errorBody(atIpsofactura, "DUPLICATE_IN_PROGRESS")),
		atFiscalisto:  answer(409, errorBody(atFiscalisto, "request_in_progress")),
		atPayouts:     answer(409, errorBody(atPayouts, "idempotency_request_in_flight")),
	}
}

func TestRowsTheLastAnswerIsKept(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		c := mainCase(t, provider)
		code, body := "BUSY", errorBody(provider, "BUSY")
		keeps := func(t *testing.T, e *unavez.Error) {
			t.Helper()
			require.Equal(t, "rechazado para "+testName, e.Message, "the message of the last answer")
			if provider != atIpsofactura {
				require.Equal(t, "req_1", e.RequestID, "the request id of the last answer")
			}
		}
		unknown := func(after float64) want {
			return unknownOutcome(unavez.NextResend, afterLoss(provider, after)).http(503, code).with(keeps)
		}
		runRows(t, provider, []row{
			{fact: "when the attempts run out", answers: repeated(5, answer(503, body)), sends: []float64{0, 1, 3, 7, 15}, want: unknown(8)},
			{fact: "when the wait is above the cap", answers: then(answer(503, body, "Retry-After: 99")), sends: []float64{0}, want: unknown(99)},
			{fact: "when the deadline is too near", deadline: time.Second, answers: then(answer(503, body)), sends: []float64{0}, want: unknown(1)},
			{
				fact: "when the caller leaves during the wait", answers: then(answer(503, body, "Retry-After: 20")), sends: []float64{0}, ends: 5,
				act: cancelledAfter(c, 5*time.Second, context.Canceled), want: unknown(20).causedBy(context.Canceled),
			},
			{
				fact: "when connections are lost after it", answers: then(answer(503, body), repeated(4, lostAnswer())), sends: []float64{0, 1, 3, 7, 15},
				want: unknown(8),
			},
			{
				fact: "when dials are refused after it", answers: then(answer(503, body), repeated(4, noConnection())), sends: []float64{0, 1, 3, 7, 15},
				want: unknown(8),
			},
			{
				fact: "when the caller leaves during the next attempt", answers: then(answer(503, body), silence()), sends: []float64{0, 1}, ends: 9,
				act: cancelledAfter(c, 9*time.Second, context.Canceled), want: unknown(1).causedBy(context.Canceled),
			},
		})
	}
}

func TestRowsEnvelopesOfOddShapeChangeNothing(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		var rows []row
		for _, body := range []string{
			`{"error":"x"}`, `{"error":["a"]}`, `{"error":{"code":null}}`, `{"error":{"code":{"a":1}}}`, `{"code":["X"]}`, `[]`, `"text"`, `null`,
			`{"error":null}`, `{"message":7}`, `{"error":{"code":"a","code":"b"}}`, `{"code":"a","code":"b"}`, "\xff\xfe", `{"error":`,
		} {
			rows = append(rows, row{
				fact: "503 " + strconv.Quote(body), answers: repeated(5, answer(503, body)), sends: []float64{0, 1, 3, 7, 15},
				want: unknownOutcome(unavez.NextResend, afterLoss(provider, 8)).http(503, ""),
			}, row{
				fact: "409 " + strconv.Quote(body), answers: then(answer(409, body)), sends: []float64{0},
				want: review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, ""),
			}, row{
				fact: "403 " + strconv.Quote(body), answers: then(answer(403, body)), sends: []float64{0},
				want: refused(unavez.NotExecuted, unavez.NextResend).http(403, "").marked(unavez.ErrUnauthorized),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsACodeMayBeANumber(t *testing.T) {
	t.Parallel()
	runRows(t, atPayouts, []row{{
		fact: "400 with the code 40017", answers: then(answer(400, `{"error":{"code":40017}}`)), sends: []float64{0},
		want: refused(unavez.NotExecuted, unavez.NextFixNewKey).http(400, "40017"),
	}})
}
