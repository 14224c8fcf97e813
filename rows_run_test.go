package unavez_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// row is one line of a table: a conversation, and all that comes of it.
type row struct {
	fact string
	// on is the write; the provider's main one if it is empty.
	on unavez.OperationName
	// before is what happened earlier. What it sends is not counted.
	before func(t *testing.T, b *mockBundle)
	// answers are the provider's turns, all of which must be used.
	answers []reply
	options []unavez.CallOption
	// deadline is the caller's own; none if it is zero.
	deadline time.Duration
	// act is the call; the write of the row if it is nil.
	act func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error)
	// sends and looks are when the writes and the lookups left, in seconds.
	sends, looks []float64
	// ends is when the call returned, if that is not the moment of its last request.
	ends float64
	want want
}

// want is the answer of a call: a document, or every field of its error.
type want struct {
	disposition unavez.Disposition // empty: a document
	effect      unavez.Effect
	next        unavez.Next
	reason      unavez.Reason
	after       time.Duration
	status      int
	code        string
	marks       []error
	cause       error
	texts       []string // in Error()
	check       func(t *testing.T, got *result)
	checkError  func(t *testing.T, e *unavez.Error)
}

func aDocument() want { return want{} }

func aDocumentWith(check func(t *testing.T, got *result)) want { return want{check: check} }

func refused(effect unavez.Effect, next unavez.Next) want {
	return want{disposition: unavez.Refused, effect: effect, next: next}
}

func retryLater(effect unavez.Effect, next unavez.Next, after float64) want {
	return want{
		disposition: unavez.RetryLater, effect: effect, next: next, after: time.Duration(after * float64(time.Second)),
	}
}

func review(effect unavez.Effect, reason unavez.Reason, next unavez.Next) want {
	return want{disposition: unavez.NeedsManualReview, effect: effect, reason: reason, next: next}
}

// unknownOutcome is how an ambiguity ends: RetryLater and ErrOutcomeUnknown.
func unknownOutcome(next unavez.Next, after float64) want {
	return retryLater(unavez.Unknown, next, after).marked(unavez.ErrOutcomeUnknown)
}

func (w want) http(status int, code string) want {
	w.status, w.code = status, code
	return w
}

func (w want) marked(marks ...error) want {
	w.marks = append(append([]error(nil), w.marks...), marks...)
	return w
}

func (w want) causedBy(err error) want {
	w.cause = err
	return w
}

func (w want) saying(texts ...string) want {
	w.texts = append(append([]string(nil), w.texts...), texts...)
	return w
}

func (w want) with(check func(t *testing.T, e *unavez.Error)) want {
	w.checkError = check
	return w
}

// runRows plays every row against a mocked transport, in virtual time.
func runRows(t *testing.T, provider string, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(provider+"/"+r.fact, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { r.run(t, provider) })
		})
	}
}

func (r row) run(t *testing.T, provider string) {
	t.Helper()
	b := newMock(t, provider)
	if r.before != nil {
		r.before(t, b)
		require.Zero(t, b.unplayed(), "the earlier conversation was not played to its end")
		b.restart()
	}
	ctx, cancel := context.WithCancel(t.Context())
	if r.deadline > 0 {
		ctx, cancel = context.WithTimeout(t.Context(), r.deadline)
	}
	defer cancel()
	got, err := r.call(ctx, b.play(r.answers...))
	ended := time.Since(b.began)

	require.Equal(t, at(r.sends...), times(b.writes()), "when the writes left")
	require.Equal(t, at(r.looks...), times(b.lookups()), "when the lookups left")
	require.Zero(t, b.unplayed(), "answers that nobody asked for")
	require.Equal(t, r.end(), ended, "when the call returned")
	requireSameBytes(t, b.writes())
	c := r.writeCase(t, provider)
	for _, write := range b.writes() {
		require.Equal(t, c.path, write.Path, "the path of a write")
	}
	r.want.require(t, got, err)
	if err != nil {
		requireAttempts(t, requireError(t, err), b.all())
		requireWaits(t, requireError(t, err).Attempts)
	}
}

// requireWaits checks, in virtual time, that every attempt tells its number and how long it was waited for.
func requireWaits(t *testing.T, attempts []unavez.Attempt) {
	t.Helper()
	for i, attempt := range attempts {
		require.Equal(t, i+1, attempt.Number, "number of an attempt")
		waited := time.Duration(0)
		if i > 0 {
			waited = attempt.At.Sub(attempts[i-1].At) - attempts[i-1].Duration
		}
		require.Equal(t, waited, attempt.Waited, "wait before attempt %d", i+1)
	}
}

func (r row) writeCase(t *testing.T, provider string) writeCase {
	t.Helper()
	if r.on == "" {
		return mainCase(t, provider)
	}
	return caseOf(t, provider, r.on)
}

func (r row) call(ctx context.Context, b *mockBundle) (*result, error) {
	if r.act != nil {
		return r.act(ctx, b, r.options...)
	}
	t, isT := b.tb.(*testing.T)
	if !isT {
		return nil, errors.New("rows run in a *testing.T")
	}
	return r.writeCase(t, b.provider).do(ctx, b.client, testKey, r.options...)
}

// end is when the call is to return: at ends, or with its last request.
func (r row) end() time.Duration {
	last := r.ends
	for _, moments := range [][]float64{r.sends, r.looks} {
		if n := len(moments); n > 0 {
			last = max(last, moments[n-1])
		}
	}
	return at(last)[0]
}

func (w want) require(t *testing.T, got *result, err error) {
	t.Helper()
	if w.disposition == "" {
		require.NoError(t, err, "a document is expected")
		require.NotNil(t, got)
		require.Equal(t, testKey, got.Key, "the document carries its key")
		if w.check != nil {
			w.check(t, got)
		}
		return
	}
	e := requireError(t, err)
	require.Nil(t, got, "no document comes with an error")
	requireRetryAt(t, e)
	require.Equal(t, w.disposition, e.Disposition, "disposition of: %s", err)
	require.Equal(t, w.effect, e.Effect, "effect of: %s", err)
	require.Equal(t, w.reason, e.Reason, "reason of: %s", err)
	require.Equal(t, w.next, e.Next, "next of: %s", err)
	require.Equal(t, w.after, e.RetryAfter, "retry after of: %s", err)
	require.Equal(t, w.status, e.HTTPStatus, "status of: %s", err)
	require.Equal(t, w.code, e.Code, "code of: %s", err)
	require.Equal(t, testKey, e.Key, "the error carries the key")
	require.NotRegexp(t, `: [:,]|: *$|  |, ,`, err.Error(), "a part of the text is empty")
	w.requireMarks(t, err)
	for _, text := range w.texts {
		require.Contains(t, err.Error(), text, "what the text names")
	}
	if w.checkError != nil {
		w.checkError(t, e)
	}
}

// requireMarks checks that the error matches the sentinels named and no other.
func (w want) requireMarks(t *testing.T, err error) {
	t.Helper()
	for _, sentinel := range []error{
		unavez.ErrOutcomeUnknown, unavez.ErrKeyReused, unavez.ErrNoIdempotencyKey, unavez.ErrKeyInvalid, unavez.ErrUnauthorized,
		unavez.ErrInsufficientBalance, unavez.ErrNotFound, unavez.ErrNotRecorded,
	} {
		isWanted := false
		for _, mark := range w.marks {
			isWanted = isWanted || mark == sentinel //nolint:errorlint // identity is meant
		}
		require.Equal(t, isWanted, errors.Is(err, sentinel), "%q on: %s", sentinel, err)
	}
	if w.cause != nil {
		require.ErrorIs(t, err, w.cause, "the cause")
	}
}

// repeated returns n times the same reply.
func repeated(n int, r reply) []reply {
	replies := make([]reply, n)
	for i := range replies {
		replies[i] = r
	}
	return replies
}

// then joins replies and lists of them.
func then(parts ...any) []reply {
	var replies []reply
	for _, part := range parts {
		switch p := part.(type) {
		case reply:
			replies = append(replies, p)
		case []reply:
			replies = append(replies, p...)
		}
	}
	return replies
}

// errorBody is an error answer in the provider's own envelope, with a message that holds a personal datum.
func errorBody(provider, code string) string {
	const message = "rechazado para " + testName
	switch provider {
	case atFacty:
		return `{"error":"` + message + `","code":"` + code + `","requestId":"req_1"}`
	case atIpsofactura:
		return `{"code":"` + code + `","message":"` + message + `"}`
	}
	return `{"error":{"type":"some_error","code":"` + code + `","message":"` + message + `","request_id":"req_1"}}`
}

// codeIn returns the code that an answer shows in the provider's envelope.
func codeIn(provider string, r reply) string {
	var envelope struct {
		Code  string `json:"code"`
		Error any    `json:"error"`
	}
	if json.Unmarshal([]byte(r.body), &envelope) != nil {
		return ""
	}
	if inner, ok := envelope.Error.(map[string]any); ok && provider != atFacty && provider != atIpsofactura {
		code, _ := inner["code"].(string)
		return code
	}
	return envelope.Code
}

func replaceWord(body, word string) string { return strings.Replace(body, "%s", word, 1) }

// untrusted fails the handshake: the certificate is not trusted.
func untrusted() reply { return reply{err: x509.UnknownAuthorityError{}, unsent: true} }
