package unavez_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// The tables of Facty's page, row by row: the answers to a write. What its list says is in rows_lookup_test.go.

// list is Facty's answer to a lookup.
func list(rows string) reply { return answer(200, `{"invoices":[`+rows+`]}`) }

func emptyList() reply { return list("") }

// found is one row of Facty's list under the key of the tests.
func found(status string) string {
	uuid := `null`
	if status == "stamped" {
		uuid = `"` + testUUID + `"`
	}
	return `{"id":"inv_1","idempotencyKey":"` + testKey + `","status":"` + status + `","uuid":` + uuid + `}`
}

func stamped() reply { return list(found("stamped")) }
func pending() reply { return list(found("pending")) }
func failed() reply  { return list(found("failed")) }

func TestRowsFactyAnswers(t *testing.T) {
	t.Parallel()
	const provider = atFacty
	success := mainCase(t, provider).success
	once := func(status int, code string) []reply { return then(answer(status, errorBody(provider, code))) }
	no := func(next unavez.Next, status int, code string) want {
		return refused(unavez.NotExecuted, next).http(status, code)
	}
	runRows(t, provider, []row{
		{
			fact: "2xx with uuid is the document", answers: then(answer(201, success, "x-request-id: r_1")), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) {
				t.Helper()
				require.Equal(t, &result{ID: "inv_1", UUID: testUUID, Key: testKey, RequestID: "r_1", Raw: []byte(success)}, got)
			}),
		},
		{fact: "any other 2xx with uuid is the document", answers: then(answer(203, success)), sends: []float64{0}, want: aDocument()},
		{
			fact: "document that echoes another key is not adopted", sends: []float64{0},
			answers: then(answer(200, `{"uuid":"`+testUUID+`","idempotencyKey":"mi-erp:test:factura:1"}`)),
			want:    review(unavez.Unknown, unavez.ReasonKeyMismatch, unavez.NextReview).http(200, ""),
		},
		{fact: "401 UNAUTHORIZED", answers: once(401, "UNAUTHORIZED"), sends: []float64{0}, want: no(unavez.NextResend, 401, "UNAUTHORIZED").marked(unavez.ErrUnauthorized)},
		{fact: "401 INVALID_API_KEY", answers: once(401, "INVALID_API_KEY"), sends: []float64{0}, want: no(unavez.NextResend, 401, "INVALID_API_KEY").marked(unavez.ErrUnauthorized)},
		{fact: "403 MISSING_SCOPE", answers: once(403, "MISSING_SCOPE"), sends: []float64{0}, want: no(unavez.NextResend, 403, "MISSING_SCOPE").marked(unavez.ErrUnauthorized)},
		{fact: "403 ORG_MISMATCH", answers: once(403, "ORG_MISMATCH"), sends: []float64{0}, want: no(unavez.NextResend, 403, "ORG_MISMATCH").marked(unavez.ErrUnauthorized)},
		{
			fact: "402 INSUFFICIENT_TIMBRES", answers: once(402, "INSUFFICIENT_TIMBRES"), sends: []float64{0},
			want: no(unavez.NextResend, 402, "INSUFFICIENT_TIMBRES").marked(unavez.ErrInsufficientBalance),
		},
		{
			fact: "422 with fieldErrors takes the same key", sends: []float64{0},
			answers: then(answer(422, `{"error":"datos","code":"VALIDATION_ERROR","requestId":"r_2","fieldErrors":{"items.0.iva":"debe ser numero"}}`)),
			want: no(unavez.NextFixSameKey, 422, "VALIDATION_ERROR").with(func(t *testing.T, e *unavez.Error) {
				t.Helper()
				require.Equal(t, map[string]string{"items.0.iva": "debe ser numero"}, e.FieldErrors)
				require.Equal(t, "datos", e.Message)
				require.Equal(t, "r_2", e.RequestID)
			}),
		},
		{fact: "429 RATE_LIMITED is the only status that is sent again", answers: then(once(429, "RATE_LIMITED"), answer(201, success)), sends: []float64{0, 1}, want: aDocument()},
		{
			fact: "request id of the header where the body has none", answers: then(answer(400, `{"error":"x"}`, "x-request-id: r_3")), sends: []float64{0},
			want: no(unavez.NextFixSameKey, 400, "").with(func(t *testing.T, e *unavez.Error) { t.Helper(); require.Equal(t, "r_3", e.RequestID) }),
		},
	})
}

// ambiguousAtFacty are the answers after which nobody knows: each is looked up before anything is sent.
func ambiguousAtFacty() map[string]reply {
	return map[string]reply{
		"closed connection": lostAnswer(), "500": answer(500, ""), "502 in HTML": answer(502, "<html/>"), "503 with a code": answer(503, errorBody(atFacty, "PAC")),
		"504": answer(504, ""), "599": answer(599, ""), "408": answer(408, ""), "409": answer(409, ""), "409 CONFLICT": answer(409, errorBody(atFacty, "CONFLICT")),
		"empty 201": answer(201, ""), "HTML 200": answer(200, "<html/>"), "cut 201": cutAnswer(201, `{"uuid":"5F`), "201 without uuid": answer(201, `{"id":"inv_1"}`),
		"200 pending": answer(200, `{"id":"inv_1","status":"pending","uuid":null}`), "200 failed": answer(200, `{"id":"inv_1","status":"failed"}`),
		"200 stamped without uuid": answer(200, `{"id":"inv_1","status":"stamped"}`),
	}
}

func TestRowsFactyLooksUpAfterAnAmbiguity(t *testing.T) {
	t.Parallel()
	for name, lost := range ambiguousAtFacty() {
		runRows(t, atFacty, []row{
			{
				fact: name + ", then stamped: the document, without another send", answers: then(lost, stamped()), sends: []float64{0}, looks: []float64{0},
				want: aDocumentWith(func(t *testing.T, got *result) {
					t.Helper()
					require.Equal(t, testUUID, got.UUID)
					require.Equal(t, "stamped", got.Status)
					require.Equal(t, found("stamped"), string(got.Raw))
				}),
			},
			{
				fact: name + ", then pending until stamped", answers: then(lost, pending(), pending(), stamped()), sends: []float64{0}, looks: []float64{0, 1, 3},
				want: aDocument(),
			},
			{
				fact: name + ", then pending for ever: RetryLater without another send", answers: then(lost, repeated(5, pending())), sends: []float64{0},
				looks: []float64{0, 1, 3, 7, 15}, want: retryLater(unavez.Unknown, unavez.NextReconcile, 8).http(200, ""),
			},
			{
				fact: name + ", then failed: a person decides", answers: then(lost, failed()), sends: []float64{0}, looks: []float64{0},
				want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextFixSameKey).http(200, ""),
			},
			{
				fact: name + ", then somebody else's row", answers: then(lost, list(`{"idempotencyKey":"other-key","status":"stamped","uuid":"`+testUUID+`"}`)),
				sends: []float64{0}, looks: []float64{0}, want: review(unavez.Unknown, unavez.ReasonKeyMismatch, unavez.NextReview).http(200, ""),
			},
			{
				fact: name + ", then a word that is not listed", answers: then(lost, list(found("cancelled"))), sends: []float64{0}, looks: []float64{0},
				want: review(unavez.Unknown, unavez.ReasonUnknownStatus, unavez.NextReview).http(200, ""),
			},
		})
	}
}

// "Stamped before" is Executed and not seen yet, whatever the list says: what contradicts it is for a person, never for another send.
func TestRowsFactyStampedBeforeIsLookedUp(t *testing.T) {
	t.Parallel()
	before := answer(400, errorBody(atFacty, "307"))
	odd := func(reason unavez.Reason) want {
		return review(unavez.Executed, reason, unavez.NextReview).http(200, "")
	}
	runRows(t, atFacty, []row{
		{fact: "then stamped", answers: then(before, stamped()), sends: []float64{0}, looks: []float64{0}, want: aDocument()},
		{fact: "then pending, then stamped", answers: then(before, pending(), stamped()), sends: []float64{0}, looks: []float64{0, 1}, want: aDocument()},
		{
			fact: "then pending for ever", answers: then(before, repeated(5, pending())), sends: []float64{0}, looks: []float64{0, 1, 3, 7, 15},
			want: retryLater(unavez.Executed, unavez.NextReconcile, 8).http(200, ""),
		},
		{fact: "then empty lists", answers: then(before, repeated(2, emptyList())), sends: []float64{0}, looks: []float64{0, 1}, want: odd(unavez.ReasonStampedBefore)},
		{fact: "then failed: the two exclude each other", answers: then(before, failed()), sends: []float64{0}, looks: []float64{0}, want: odd(unavez.ReasonContradiction)},
		{fact: "then somebody else's row", answers: then(before, list(otherRow)), sends: []float64{0}, looks: []float64{0}, want: odd(unavez.ReasonKeyMismatch)},
		{fact: "then a word that is not listed", answers: then(before, list(found("cancelled"))), sends: []float64{0}, looks: []float64{0}, want: odd(unavez.ReasonUnknownStatus)},
		{
			fact: "the uuid that it shows is kept as evidence", sends: []float64{0}, looks: []float64{0, 1},
			answers: then(answer(400, `{"code":"307","data":{"uuid":"`+testUUID+`"}}`), repeated(2, emptyList())),
			want: odd(unavez.ReasonStampedBefore).with(func(t *testing.T, e *unavez.Error) {
				t.Helper()
				require.Equal(t, testUUID, e.UUID)
				require.NotContains(t, e.Error(), testUUID)
			}),
		},
	})
}

func TestRowsFactyTimeoutIsLookedUp(t *testing.T) {
	t.Parallel()
	cause := context.Canceled
	runRows(t, atFacty, []row{
		{fact: "then stamped", answers: then(silence(), stamped()), sends: []float64{0}, looks: []float64{30}, want: aDocument()},
		{
			fact: "cancelled caller gets its error at once and nothing is looked up", answers: then(silence()), sends: []float64{0}, ends: 4,
			act: cancelledAfter(mainCase(t, atFacty), at(4)[0], cause), want: unknownOutcome(unavez.NextReconcile, 1).causedBy(cause),
		},
		{
			fact: "cancelled during the lookup", answers: then(lostAnswer(), silence()), sends: []float64{0}, looks: []float64{0}, ends: 4,
			act: cancelledAfter(mainCase(t, atFacty), at(4)[0], cause), want: unknownOutcome(unavez.NextReconcile, 1).causedBy(cause),
		},
		{
			fact: "cancelled between two lookups", answers: then(lostAnswer(), pending(), pending()), sends: []float64{0}, looks: []float64{0, 1}, ends: 2,
			act: cancelledAfter(mainCase(t, atFacty), at(2)[0], cause), want: unknownOutcome(unavez.NextReconcile, 1).http(200, "").causedBy(cause),
		},
	})
}

func TestRowsFactyConflictIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	conflict := answer(409, errorBody(atFacty, "CONFLICT"))
	contradiction := review(unavez.Unknown, unavez.ReasonContradiction, unavez.NextReconcile).http(200, "")
	runRows(t, atFacty, []row{
		{fact: "409, then an empty list twice, contradict each other", answers: then(conflict, repeated(2, emptyList())), sends: []float64{0}, looks: []float64{0, 1}, want: contradiction},
		{
			fact: "409, empty list, then stamped", answers: then(conflict, emptyList(), stamped()), sends: []float64{0}, looks: []float64{0, 1}, want: aDocument(),
		},
		{
			fact: "409 after a resend, then empty lists", sends: []float64{0, 1}, looks: []float64{0, 1, 1, 3},
			answers: then(lostAnswer(), repeated(2, emptyList()), conflict, repeated(2, emptyList())), want: contradiction,
		},
		{
			fact: "409, then a lookup that fails", answers: then(conflict, answer(403, errorBody(atFacty, "NO"))), sends: []float64{0}, looks: []float64{0},
			want: unknownOutcome(unavez.NextReconcile, 1).http(403, "NO").marked(unavez.ErrUnauthorized),
		},
	})
}

func TestRowsFactyEmptyList(t *testing.T) {
	t.Parallel()
	success := mainCase(t, atFacty).success
	empties := repeated(2, emptyList())
	runRows(t, atFacty, []row{
		{
			fact: "is believed after one more wait and a second look, and the same bytes are sent", sends: []float64{0, 1}, looks: []float64{0, 1},
			answers: then(lostAnswer(), empties, answer(201, success)), want: aDocument(),
		},
		{
			fact: "at first, then stamped: nothing is sent again", sends: []float64{0}, looks: []float64{0, 1}, answers: then(lostAnswer(), emptyList(), stamped()), want: aDocument(),
		},
		{
			fact: "at first, then pending, then stamped", sends: []float64{0}, looks: []float64{0, 1, 3}, answers: then(lostAnswer(), emptyList(), pending(), stamped()), want: aDocument(),
		},
		{
			fact: "between two pendings is not believed at once", sends: []float64{0}, looks: []float64{0, 1, 3, 7},
			answers: then(lostAnswer(), emptyList(), pending(), emptyList(), stamped()), want: aDocument(),
		},
		{
			fact: "with every attempt lost ends as unknown", sends: []float64{0, 1, 3, 7, 15}, looks: []float64{0, 1, 1, 3, 3, 7, 7, 15, 15},
			answers: then(lostAnswer(), empties, lostAnswer(), empties, lostAnswer(), empties, lostAnswer(), empties, lostAnswer(), emptyList()),
			want:    unknownOutcome(unavez.NextReconcile, 8).http(200, ""),
		},
		{
			fact: "with one attempt ends as unknown", options: []unavez.CallOption{unavez.WithMaxAttempts(1)}, sends: []float64{0}, looks: []float64{0},
			answers: then(lostAnswer(), emptyList()), want: unknownOutcome(unavez.NextReconcile, 1).http(200, ""),
		},
		{
			fact: "with no attempt left after the second look ends as unknown", options: []unavez.CallOption{unavez.WithMaxAttempts(2)},
			sends: []float64{0, 1}, looks: []float64{0, 1, 1}, answers: then(lostAnswer(), empties, lostAnswer(), emptyList()),
			want: unknownOutcome(unavez.NextReconcile, 2).http(200, ""),
		},
		{
			fact: "with a cap of zero ends as unknown", options: []unavez.CallOption{unavez.WithMaxWait(0)}, sends: []float64{0}, looks: []float64{0},
			answers: then(lostAnswer(), emptyList()), want: unknownOutcome(unavez.NextReconcile, 1).http(200, ""),
		},
		{
			fact: "with a deadline before the second look ends as unknown", deadline: 500 * time.Millisecond, sends: []float64{0}, looks: []float64{0},
			answers: then(lostAnswer(), emptyList()), want: unknownOutcome(unavez.NextReconcile, 1).http(200, ""),
		},
		{
			fact: "then 401 on the resend stays unknown", sends: []float64{0, 1}, looks: []float64{0, 1}, answers: then(lostAnswer(), empties, answer(401, "")),
			want: unknownOutcome(unavez.NextReconcile, 1).http(401, "").marked(unavez.ErrUnauthorized),
		},
		{
			fact: "then a listed verdict on the resend is trusted", sends: []float64{0, 1}, looks: []float64{0, 1},
			answers: then(lostAnswer(), empties, answer(422, `{"fieldErrors":{"items":"x"}}`)), want: refused(unavez.NotExecuted, unavez.NextFixSameKey).http(422, ""),
		},
		{
			fact: "then a 422 that names no field is no listed verdict", sends: []float64{0, 1}, looks: []float64{0, 1},
			answers: then(lostAnswer(), empties, answer(422, errorBody(atFacty, "VALIDATION_ERROR"))),
			want:    unknownOutcome(unavez.NextReconcile, 1).http(422, "VALIDATION_ERROR"),
		},
	})
}

func TestRowsFactyWaitsShareOneLadder(t *testing.T) {
	t.Parallel()
	success := mainCase(t, atFacty).success
	runRows(t, atFacty, []row{
		{fact: "429, then lost, then pending", answers: then(slow(), lostAnswer(), pending(), stamped()), sends: []float64{0, 1}, looks: []float64{1, 3}, want: aDocument()},
		{
			fact: "Retry-After of the lost answer is kept before the lookup", answers: then(answer(503, "", "Retry-After: 5"), stamped()), sends: []float64{0},
			looks: []float64{5}, want: aDocument(),
		},
		{
			fact: "Retry-After of the lost answer above the cap ends at once", answers: then(answer(503, errorBody(atFacty, "X"), "Retry-After: 50")), sends: []float64{0},
			want: unknownOutcome(unavez.NextReconcile, 50).http(503, "X"),
		},
		{fact: "Retry-After of a lookup is kept", answers: then(lostAnswer(), pendingFor("4"), stamped()), sends: []float64{0}, looks: []float64{0, 4}, want: aDocument()},
		{
			fact: "lookup that is slowed down is asked again", answers: then(lostAnswer(), slow(), answer(503, ""), lostAnswer(), stamped()), sends: []float64{0},
			looks: []float64{0, 1, 3, 7}, want: aDocument(),
		},
		{
			fact: "lookup that never answers ends as unknown", answers: then(lostAnswer(), repeated(5, lostAnswer())), sends: []float64{0}, looks: []float64{0, 1, 3, 7, 15},
			want: unknownOutcome(unavez.NextReconcile, 8),
		},
		{
			fact: "the write's answer is kept where the lookups never answer", answers: then(answer(503, errorBody(atFacty, "PAC")), repeated(5, lostAnswer())),
			sends: []float64{0}, looks: []float64{0, 1, 3, 7, 15}, want: unknownOutcome(unavez.NextReconcile, 8).http(503, "PAC"),
		},
		{
			fact: "refused dial of a lookup is no permission to send", answers: then(lostAnswer(), noConnection(), emptyList(), emptyList(), answer(201, success)),
			sends: []float64{0, 3}, looks: []float64{0, 1, 3}, want: aDocument(),
		},
	})
}

func pendingFor(seconds string) reply {
	r := pending()
	r.header.Set("Retry-After", seconds)
	return r
}
