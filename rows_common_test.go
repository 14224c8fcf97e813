package unavez_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// The table "what came back, for every provider". Facty's ways after an ambiguity are in rows_facty_test.go.

func TestRowsNothingWasSent(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		runRows(t, provider, notSentRows(mainCase(t, provider)))
	}
}

func notSentRows(c writeCase) []row {
	return []row{
		{
			fact: "refused dial is waited for and the write is sent", answers: then(noConnection(), answer(201, c.success)),
			sends: []float64{0, 1}, want: aDocument(),
		},
		{
			fact: "refused dials end as RetryLater and NotSent after five tries", answers: repeated(5, noConnection()),
			sends: []float64{0, 1, 3, 7, 15}, want: retryLater(unavez.NotSent, unavez.NextResend, 8),
		},
		{
			fact: "dials that nobody answers are NotSent", answers: repeated(5, noConnectionInTime()),
			sends: []float64{0, 31, 63, 97, 135}, ends: 165,
			want: retryLater(unavez.NotSent, unavez.NextResend, 8).causedBy(context.DeadlineExceeded),
		},
		{
			fact: "untrusted certificate stops as Refused and NotSent", answers: then(untrusted()),
			sends: []float64{0}, want: refused(unavez.NotSent, unavez.NextResend),
		},
		{
			fact: "wrong host in the certificate stops as Refused and NotSent", sends: []float64{0},
			answers: then(reply{err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "provider.example"}, unsent: true}),
			want:    refused(unavez.NotSent, unavez.NextResend),
		},
		{
			fact: "context that ended before the call sends nothing", act: withEndedContext(c),
			want: retryLater(unavez.NotSent, unavez.NextResend, 1).causedBy(context.Canceled),
		},
		{
			fact: "deadline during the dial is NotSent at once", answers: then(noConnectionInTime()), deadline: 5 * time.Second,
			sends: []float64{0}, ends: 5, want: retryLater(unavez.NotSent, unavez.NextResend, 1).causedBy(context.DeadlineExceeded),
		},
		{
			fact: "stream that the peer refused is NotSent and sent again", answers: then(refusedStream(), answer(201, c.success)),
			sends: []float64{0, 1}, want: aDocument(),
		},
		{
			fact: "refused streams end as RetryLater and NotSent", answers: repeated(5, refusedStream()),
			sends: []float64{0, 1, 3, 7, 15}, want: retryLater(unavez.NotSent, unavez.NextResend, 8),
		},
		{
			fact: "GOAWAY before the stream is NotSent and sent again", sends: []float64{0, 1},
			answers: then(notProcessed("http2: Transport: cannot retry err [http2: Transport received Server's graceful shutdown GOAWAY]"+
				" after Request.Body was written; define Request.GetBody to avoid this error"), answer(201, c.success)),
			want: aDocument(),
		},
	}
}

func withEndedContext(c writeCase) func(context.Context, *mockBundle, ...unavez.CallOption) (*result, error) {
	return func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return c.do(ended, b.client, testKey, options...)
	}
}

func refusedStream() reply {
	return notProcessed("http2: Transport: cannot retry err [stream error: stream ID 3; REFUSED_STREAM; received from peer]" +
		" after Request.Body was written; define Request.GetBody to avoid this error")
}

func TestRowsSentWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atFiscalisto, atPayouts} {
		runRows(t, provider, lostRows(mainCase(t, provider)))
	}
}

// afterLoss is what a caller is told to wait after an ambiguity: payouts stay in flight for a minute.
func afterLoss(provider string, seconds float64) float64 {
	if provider == atPayouts {
		return max(seconds, 60)
	}
	return seconds
}

func lostRows(c writeCase) []row {
	ladder := []float64{0, 1, 3, 7, 15}
	unknown := unknownOutcome(unavez.NextResend, afterLoss(c.provider, 8))
	soon := unknownOutcome(unavez.NextResend, afterLoss(c.provider, 1))
	cause := errors.New("the caller went home")
	return []row{
		{fact: "closed connection is sent again", answers: then(lostAnswer(), answer(201, c.success)), sends: []float64{0, 1}, want: aDocument()},
		{fact: "closed connections end as unknown", answers: repeated(5, lostAnswer()), sends: ladder, want: unknown},
		{fact: "reset is sent again", answers: then(reply{err: errors.New("read: connection reset by peer")}, answer(201, c.success)), sends: []float64{0, 1}, want: aDocument()},
		{
			fact: "stream error is unknown", answers: repeated(5, reply{err: errors.New("stream error: stream ID 1; INTERNAL_ERROR")}),
			sends: ladder, want: unknown,
		},
		{fact: "timeout of the attempt is sent again", answers: then(silence(), answer(201, c.success)), sends: []float64{0, 31}, want: aDocument()},
		{
			fact: "timeouts end as unknown", answers: repeated(5, silence()), sends: []float64{0, 31, 63, 97, 135}, ends: 165,
			want: unknown.causedBy(context.DeadlineExceeded),
		},
		{
			fact: "timeout of the option bounds one attempt", options: []unavez.CallOption{unavez.WithTimeout(2 * time.Second)},
			answers: then(silence(), answer(201, c.success).late(1999*time.Millisecond)), sends: []float64{0, 3}, ends: 4.999, want: aDocument(),
		},
		{
			fact: "deadline of the caller ends a sent attempt at once", answers: then(silence()), deadline: 5 * time.Second,
			sends: []float64{0}, ends: 5, want: soon.causedBy(context.DeadlineExceeded),
		},
		{
			fact: "cancelled caller gets its cause at once", answers: then(silence()), sends: []float64{0}, ends: 4,
			act: cancelledAfter(c, 4*time.Second, cause), want: soon.causedBy(cause),
		},
		{
			fact: "caller cancelled during a wait gets its cause at once", answers: then(lostAnswer(), lostAnswer()), sends: []float64{0, 1}, ends: 2,
			act: cancelledAfter(c, 2*time.Second, cause), want: soon.causedBy(cause),
		},
	}
}

func cancelledAfter(
	c writeCase, d time.Duration, cause error,
) func(context.Context, *mockBundle, ...unavez.CallOption) (*result, error) {
	return func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		cancellable, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(d, func() { cancel(cause) })
		defer timer.Stop()
		return c.do(cancellable, b.client, testKey, options...)
	}
}

func TestRowsGoodStatusThatProvesNothing(t *testing.T) {
	t.Parallel()
	bodies := map[string]reply{
		"empty body": answer(201, ""), "HTML": answer(200, "<html>502</html>"), "empty object": answer(200, "{}"), "array": answer(200, "[]"),
		"null": answer(200, "null"), "no content": answer(204, ""), "cut body": cutAnswer(201, `{"id":"inv_1","uu`),
		"uuid null":            answer(200, `{"id":"x_1","uuid":null,"folio_fiscal":null,"status":null}`),
		"uuid not well-formed": answer(201, `{"id":"x_1","uuid":"5F0C2B9E","folio_fiscal":""}`), "two objects": answer(201, `{"id":"a"}{"id":"b"}`),
		"uuid not valid text": answer(201, `{"uuid":"`+"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C5\xf1"+`","folio_fiscal":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C5`+"\xf1"+`"}`),
	}
	for _, provider := range []string{atIpsofactura, atFiscalisto, atPayouts} {
		c := mainCase(t, provider)
		var rows []row
		for name, body := range bodies {
			rows = append(rows, row{
				fact: name + " is sent again", answers: then(body, answer(201, c.success)), sends: []float64{0, 1}, want: aDocument(),
			}, row{
				fact: name + " ends as unknown", answers: repeated(5, body), sends: []float64{0, 1, 3, 7, 15},
				want: unknownOutcome(unavez.NextResend, afterLoss(provider, 8)).http(body.status, ""),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsWordWithoutARuleStops(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		var rows []row
		for _, word := range []string{`"valid"`, `"cancelled"`, `"STAMPED"`, `"Stamped "`, `"Failed"`, `7`} {
			body := `{"id":"x_1","status":` + word + `}`
			if provider == atPayouts {
				body = `{"status":` + word + `}` // with an id any word is a payout
			}
			rows = append(rows, row{
				fact: "200 without proof and with the word " + word, answers: then(answer(200, body)), sends: []float64{0},
				want: review(unavez.Unknown, unavez.ReasonUnknownStatus, unavez.NextReview).http(200, ""),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsProofReturnsTheDocumentWithItsWordAsGiven(t *testing.T) {
	t.Parallel()
	proofs := map[string]string{
		atFacty: `{"id":"d_1","uuid":"` + testUUID + `","status":%s}`, atIpsofactura: `{"id":"d_1","folio_fiscal":"` + testUUID + `","status":%s}`,
		atFiscalisto: `{"id":"d_1","uuid":"` + testUUID + `","status":%s}`, atPayouts: `{"id":"d_1","status":%s}`,
	}
	for provider, proof := range proofs {
		var rows []row
		for _, word := range []string{"stamped", "valid", "STAMPED", "cancelled", "pending"} {
			body := replaceWord(proof, `"`+word+`"`)
			rows = append(rows, row{
				fact: "word " + word, answers: then(answer(200, body)), sends: []float64{0},
				want: aDocumentWith(func(t *testing.T, got *result) {
					t.Helper()
					require.Equal(t, word, got.Status)
					require.Equal(t, "d_1", got.ID)
					require.Equal(t, body, string(got.Raw))
					if provider != atPayouts {
						require.Equal(t, testUUID, got.UUID)
					}
				}),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsRedirectIsRefusedAndNamesTheHost(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		var rows []row
		for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
			rows = append(rows, row{
				fact: strconv.Itoa(status), answers: then(answer(status, "", "Location: https://evil.example/steal?k=1")), sends: []float64{0},
				want: refused(unavez.NotExecuted, unavez.NextResend).http(status, "").saying("evil.example"),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsRedirectToNoReadableHostIsRefusedAndNamesNone(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		var rows []row
		for _, location := range []string{
			"", "/elsewhere", "elsewhere", "http://[::1", "http://%zz/", "https:///path", "mailto:a@example.com", "http://host name/", "http://ho\"st/",
		} {
			rows = append(rows, row{
				fact: strconv.Quote(location), answers: then(answer(302, "", "Location: "+location)), sends: []float64{0},
				want: refused(unavez.NotExecuted, unavez.NextResend).http(302, "").saying("host (none named)"),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsStatusOutsideHTTPIsForAPerson(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		var rows []row
		for _, status := range []int{600, 700, 999} {
			rows = append(rows, row{
				fact: strconv.Itoa(status), answers: then(answer(status, "")), sends: []float64{0},
				want: review(unavez.Unknown, unavez.ReasonUnknownStatus, unavez.NextReview).http(status, ""),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsAnswersAboutTheCaller(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		var rows []row
		for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
			rows = append(rows, row{
				fact: strconv.Itoa(status) + " is Refused and ErrUnauthorized", answers: then(answer(status, errorBody(provider, "SOME_CODE"))),
				sends: []float64{0}, want: refused(unavez.NotExecuted, unavez.NextResend).http(status, "SOME_CODE").marked(unavez.ErrUnauthorized),
			})
		}
		rows = append(rows, row{
			fact: "402 is Refused and ErrInsufficientBalance", answers: then(answer(402, errorBody(provider, "SOME_CODE"))),
			sends: []float64{0}, want: refused(unavez.NotExecuted, unavez.NextResend).http(402, "SOME_CODE").marked(unavez.ErrInsufficientBalance),
		})
		runRows(t, provider, rows)
	}
}

func TestRowsWaitAndResend(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		var rows []row
		for _, status := range []int{http.StatusTooEarly, http.StatusTooManyRequests} {
			rows = append(rows, row{
				fact: strconv.Itoa(status) + " is sent again", answers: then(repeated(2, answer(status, "")), answer(201, c.success)),
				sends: []float64{0, 1, 3}, want: aDocument(),
			}, row{
				fact: strconv.Itoa(status) + " ends as RetryLater and NotExecuted", answers: repeated(5, answer(status, errorBody(provider, "SLOW"))),
				sends: []float64{0, 1, 3, 7, 15}, want: retryLater(unavez.NotExecuted, unavez.NextResend, 8).http(status, "SLOW"),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsConflictWithoutARuleStops(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atFiscalisto, atPayouts} {
		var rows []row
		for _, code := range []string{"", "SOMETHING_ELSE", "duplicate_in_progress", "REQUEST_IN_PROGRESS"} {
			rows = append(rows, row{
				fact: "409 with the code " + strconv.Quote(code), answers: then(answer(409, errorBody(provider, code))), sends: []float64{0},
				want: review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, code),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsOtherClientErrorsAreRefused(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		var rows []row
		for _, status := range []int{400, 404, 405, 406, 410, 412, 413, 415, 417, 421, 422, 423, 424, 426, 428, 431, 451, 499} {
			for _, code := range []string{"", "SOME_CODE"} {
				rows = append(rows, row{
					fact: strconv.Itoa(status) + " with the code " + strconv.Quote(code), answers: then(answer(status, errorBody(provider, code))),
					sends: []float64{0}, want: refused(unavez.NotExecuted, correctedNext(provider)).http(status, code),
				})
			}
		}
		runRows(t, provider, rows)
	}
}

// correctedNext is the row "corrected request after a 4xx".
func correctedNext(provider string) unavez.Next {
	switch provider {
	case atFacty, atFiscalisto:
		return unavez.NextFixSameKey
	}
	return unavez.NextFixNewKey
}

func TestRowsServerErrorsAreUnknown(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atFiscalisto, atPayouts} {
		c := mainCase(t, provider)
		var rows []row
		for _, status := range []int{408, 500, 501, 502, 503, 504, 507, 599} {
			name := strconv.Itoa(status)
			rows = append(rows, row{
				fact: name + " is sent again", answers: then(answer(status, errorBody(provider, "")), answer(201, c.success)),
				sends: []float64{0, 1}, want: aDocument(),
			}, row{
				fact: name + " ends as unknown", answers: repeated(5, answer(status, errorBody(provider, "SOME_CODE"))), sends: []float64{0, 1, 3, 7, 15},
				want: unknownOutcome(unavez.NextResend, afterLoss(provider, 8)).http(status, "SOME_CODE"),
			}, row{
				fact:    name + " in HTML keeps status and Retry-After and shows no HTML",
				answers: then(answer(status, "<html>gateway of ACME</html>", "Retry-After: 2"), answer(status, "<html>gateway</html>", "Retry-After: 40")),
				sends:   []float64{0, 2},
				want: unknownOutcome(unavez.NextResend, afterLoss(provider, 40)).http(status, "").with(func(t *testing.T, e *unavez.Error) {
					t.Helper()
					require.NotContains(t, e.Error(), "html")
				}),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsStampedBeforeIsExecutedAndAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atFiscalisto} {
		c := mainCase(t, provider)
		var rows []row
		for name, before := range map[string]reply{
			"code 307 on 409": answer(409, errorBody(provider, "307")), "code CFDI307 on 422": answer(422, errorBody(provider, "CFDI307")),
			"code on 400": answer(400, errorBody(provider, "307")), "code on 500": answer(500, errorBody(provider, "307")),
			"message on 200": answer(200, `{"status":"error","message":"307 stamped before","error":{"message":"307 stamped before"}}`),
		} {
			rows = append(rows, row{
				fact: name + " is followed by the same request", answers: then(before, answer(201, c.success)), sends: []float64{0, 1}, want: aDocument(),
			}, row{
				fact: name + " ends for a person and never as Refused", answers: repeated(5, before), sends: []float64{0, 1, 3, 7, 15},
				want: review(unavez.Executed, unavez.ReasonStampedBefore, unavez.NextReview).http(before.status, codeIn(provider, before)),
			})
		}
		runRows(t, provider, rows)
	}
}

func TestRowsMalformedAddressIsRefused(t *testing.T) {
	t.Parallel()
	client, err := unavez.New(malformedPath{newProvider(t, atFiscalisto, testHost)})
	require.NoError(t, err)
	_, err = mainCase(t, atFiscalisto).do(t.Context(), client, testKey)
	refused(unavez.NotSent, unavez.NextFixSameKey).require(t, nil, err)
}

// malformedPath is a provider that encodes an address which is none.
type malformedPath struct{ unavez.Provider }

func (p malformedPath) Encode(operation *unavez.Operation) (unavez.Request, error) {
	request, err := p.Provider.Encode(operation)
	request.Path = "/v1/\x7f"
	return request, err
}
