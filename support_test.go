package unavez_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/internal/memnet"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/providers/payouts"
	"github.com/unavez/unavez/sandbox"
)

// The names of the providers, as errors and the journal have them.
const (
	atFacty       = "facty"
	atIpsofactura = "ipsofactura"
	atFiscalisto  = "fiscalisto"
	atPayouts     = "payouts"
)

const (
	// testKey fits the rule of every provider.
	testKey = "mi-erp:test:factura:4471"
	// testUUID is the fiscal UUID that scripted answers show.
	testUUID = "5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"
	// testAPIKey, testName and testRFC must never appear in a text.
	testAPIKey = "fk_planted-secret-4711"
	testName   = "UNIVERSIDAD ROBOTICA ESPANOLA"
	testRFC    = "URE180429TM6"
	// testHost is where a mocked provider lives.
	testHost = "https://provider.example"
)

func allProviders() []string { return []string{atFacty, atIpsofactura, atFiscalisto, atPayouts} }

// newProvider returns a provider by its name. For the sandbox the base URL is that of the server, for all four.
func newProvider(tb testing.TB, name, baseURL string) unavez.Provider {
	tb.Helper()
	switch name {
	case atFacty:
		return facty.Provider{BaseURL: baseURL, Org: "acme", APIKey: testAPIKey}
	case atIpsofactura:
		return ipsofactura.Provider{BaseURL: baseURL, APIKey: testAPIKey}
	case atFiscalisto:
		return fiscalisto.Provider{BaseURL: baseURL, APIKey: testAPIKey}
	case atPayouts:
		return payouts.Provider{BaseURL: baseURL, APIKey: testAPIKey}
	}
	require.FailNow(tb, "no such provider", name)
	return nil
}

// newClient returns a client of a provider over a transport, with the namespace of testKey in the test environment.
func newClient(
	tb testing.TB, provider, baseURL string, transport http.RoundTripper, options ...unavez.ClientOption,
) *unavez.Client {
	tb.Helper()
	all := []unavez.ClientOption{
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test), unavez.WithHTTPClient(&http.Client{Transport: transport}),
	}
	client, err := unavez.New(newProvider(tb, provider, baseURL), append(all, options...)...)
	require.NoError(tb, err)
	return client
}

// sandboxBundle is the sandbox behind a network in memory. Make it inside a bubble.
type sandboxBundle struct {
	tb        testing.TB
	server    *sandbox.Server
	listener  *memnet.Listener
	transport *http.Transport
}

func newSandbox(tb testing.TB, options ...sandbox.Option) *sandboxBundle {
	tb.Helper()
	b := &sandboxBundle{tb: tb, server: sandbox.New(options...), listener: memnet.Listen()}
	b.transport = &http.Transport{DialContext: b.listener.DialContext}
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(b.listener) }()
	tb.Cleanup(func() {
		b.transport.CloseIdleConnections()
		require.NoError(tb, b.server.Close())
		require.NoError(tb, <-served)
	})
	return b
}

// client returns a client of the sandbox. Clients of one bundle share its network and nothing else.
func (b *sandboxBundle) client(provider string, options ...unavez.ClientOption) *unavez.Client {
	b.tb.Helper()
	return newClient(b.tb, provider, "http://127.0.0.1", b.transport, options...)
}

// writes returns how many writes arrived at the sandbox, lookups how many GETs did.
func (b *sandboxBundle) writes() int  { return b.count(http.MethodPost) }
func (b *sandboxBundle) lookups() int { return b.count(http.MethodGet) }

func (b *sandboxBundle) count(method string) int {
	n := 0
	for _, request := range b.server.Requests() {
		if request.Method == method {
			n++
		}
	}
	return n
}

// mockBundle is a client over a transport that plays a scripted conversation, and records what crossed it.
type mockBundle struct {
	tb        testing.TB
	provider  string
	client    *unavez.Client
	journal   *unavez.MemoryJournal
	transport *httpmock.MockTransport
	began     time.Time

	mu       sync.Mutex
	script   []reply
	requests []sentRequest
}

// sentRequest is a request as the transport got it. At counts from the making of the bundle, or from restart.
type sentRequest struct {
	Method, Path string // the path with its query, escaped as sent
	Header       http.Header
	Body         string
	At           time.Duration
	IsSent       bool // false for a dial that failed
}

// newMock returns a bundle. Requests beyond the script fail the test.
func newMock(tb testing.TB, provider string, options ...unavez.ClientOption) *mockBundle {
	tb.Helper()
	b := &mockBundle{
		tb: tb, provider: provider, journal: unavez.NewMemoryJournal(0), transport: httpmock.NewMockTransport(), began: time.Now(),
	}
	b.transport.RegisterNoResponder(b.respond)
	b.client = b.newClient(options...)
	return b
}

// newClient returns another client of the same conversation and the same journal, as after a restart.
func (b *mockBundle) newClient(options ...unavez.ClientOption) *unavez.Client {
	b.tb.Helper()
	return newClient(b.tb, b.provider, testHost, b.transport, append([]unavez.ClientOption{unavez.WithJournal(b.journal)}, options...)...)
}

// play appends to the script.
func (b *mockBundle) play(replies ...reply) *mockBundle {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.script = append(b.script, replies...)
	return b
}

// restart forgets the requests so far and counts the time from now.
func (b *mockBundle) restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests, b.began = nil, time.Now()
}

// unplayed returns how many replies nobody asked for.
func (b *mockBundle) unplayed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.script)
}

func (b *mockBundle) all() []sentRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]sentRequest(nil), b.requests...)
}

// writes returns the writes in order, failed dials included; lookups the GETs.
func (b *mockBundle) writes() []sentRequest  { return ofMethod(b.all(), http.MethodPost) }
func (b *mockBundle) lookups() []sentRequest { return ofMethod(b.all(), http.MethodGet) }

func ofMethod(requests []sentRequest, method string) []sentRequest {
	var found []sentRequest
	for _, request := range requests {
		if request.Method == method {
			found = append(found, request)
		}
	}
	return found
}

// times returns when the requests were made.
func times(requests []sentRequest) []time.Duration {
	var at []time.Duration
	for _, request := range requests {
		at = append(at, request.At)
	}
	return at
}

// at spells moments in seconds.
func at(seconds ...float64) []time.Duration {
	var moments []time.Duration
	for _, second := range seconds {
		moments = append(moments, time.Duration(second*float64(time.Second)))
	}
	return moments
}

func (b *mockBundle) respond(request *http.Request) (*http.Response, error) {
	now, found, isScripted := b.next()
	sent := sentRequest{
		Method: request.Method, Path: request.URL.RequestURI(), Header: request.Header.Clone(), At: now,
	}
	if !isScripted {
		b.record(sent)
		b.tb.Errorf("request %s %s at %s is not in the script", sent.Method, sent.Path, now)
		return nil, errors.New("not in the script")
	}
	if !found.unsent {
		sent.IsSent = !found.denied
		if request.Body != nil {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				return nil, err
			}
			sent.Body = string(body)
		}
	}
	b.record(sent)
	return found.perform(request)
}

func (b *mockBundle) next() (time.Duration, reply, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(b.began)
	if len(b.script) == 0 {
		return now, reply{}, false
	}
	found := b.script[0]
	b.script = b.script[1:]
	return now, found, true
}

func (b *mockBundle) record(sent sentRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, sent)
}

// reply is one turn of a scripted conversation.
type reply struct {
	status int
	body   string
	header http.Header
	err    error
	after  time.Duration // before the answer
	unsent bool          // nothing of the request is read
	denied bool          // the request is read, and the peer says that it was not processed
	hangs  bool          // until the attempt ends
	isCut  bool          // the body ends with an error
}

// answer replies with a status, a body and headers such as "Retry-After: 3".
func answer(status int, body string, headers ...string) reply {
	r := reply{status: status, body: body, header: make(http.Header)}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.header.Add(name, value)
	}
	return r
}

// noConnection fails before a byte was read, as a refused dial does.
func noConnection() reply {
	return reply{err: errors.New("dial mem: connection refused"), unsent: true}
}

// noConnectionInTime hangs before a byte was read, as a dial does that nobody answers.
func noConnectionInTime() reply { return reply{hangs: true, unsent: true} }

// lostAnswer reads the request and closes the connection.
func lostAnswer() reply { return reply{err: io.EOF} }

// notProcessed reads the request and fails with an error of net/http.
func notProcessed(text string) reply { return reply{err: errors.New(text), denied: true} }

// silence reads the request and says nothing until the attempt ends.
func silence() reply { return reply{hangs: true} }

// cutAnswer replies with a body that ends too early.
func cutAnswer(status int, body string) reply {
	r := answer(status, body)
	r.isCut = true
	return r
}

// late delays a reply.
func (r reply) late(d time.Duration) reply {
	r.after = d
	return r
}

func (r reply) perform(request *http.Request) (*http.Response, error) {
	if r.hangs {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	if r.after > 0 {
		timer := time.NewTimer(r.after)
		defer timer.Stop()
		select {
		case <-request.Context().Done():
			return nil, request.Context().Err()
		case <-timer.C:
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	response := httpmock.NewStringResponse(r.status, r.body)
	response.Header, response.Request = r.header.Clone(), request
	if r.isCut {
		response.Body = io.NopCloser(io.MultiReader(strings.NewReader(r.body), brokenReader{}))
	}
	return response, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// result is what every service answers, in one shape.
type result struct {
	ID, PaymentID, UUID, Status, Key, RequestID string
	Replayed                                    bool
	Raw                                         json.RawMessage
}

// requireError returns the *unavez.Error of a failed call, after checking what holds for every one of them: exactly one disposition, words of
// the vocabulary only, a time that fits its length, numbered attempts, and a text without secret, key, message or personal datum.
func requireError(tb testing.TB, err error) *unavez.Error {
	tb.Helper()
	require.Error(tb, err, "the call must fail")
	var e *unavez.Error
	require.ErrorAs(tb, err, &e, "every error is an *unavez.Error")
	requireOneDisposition(tb, e)
	require.Contains(tb, []unavez.Effect{unavez.NotSent, unavez.NotExecuted, unavez.Executed, unavez.Unknown}, e.Effect, "effect")
	if !errors.Is(err, unavez.ErrNotFound) { // a read that found nothing asks for nothing
		require.Contains(tb, []unavez.Next{
			unavez.NextResend, unavez.NextReconcile, unavez.NextFixSameKey, unavez.NextFixNewKey, unavez.NextReview,
		}, e.Next, "next")
	}
	require.Equal(tb, e.Disposition == unavez.NeedsManualReview, e.Reason != "", "a reason is given for a person, and only then: %q", e.Reason)
	require.Equal(tb, e.Disposition == unavez.RetryLater, e.RetryAfter > 0, "a time is given for RetryLater, and only then: %s", e.RetryAfter)
	require.Equal(tb, e.RetryAfter > 0, !e.RetryAt.IsZero(), "RetryAt goes with RetryAfter")
	if errors.Is(err, unavez.ErrOutcomeUnknown) {
		require.Equal(tb, unavez.Unknown, e.Effect, "ErrOutcomeUnknown says Unknown")
	}
	for i, attempt := range e.Attempts {
		require.Equal(tb, i+1, attempt.Number, "attempts are numbered from 1")
	}
	requireNoSecret(tb, e)
	return e
}

// requireRetryAt checks, in virtual time and right after the call, that the moment is now plus the length.
func requireRetryAt(tb testing.TB, e *unavez.Error) {
	tb.Helper()
	if e.RetryAfter > 0 {
		require.Equal(tb, time.Now().Add(e.RetryAfter).UnixNano(), e.RetryAt.UnixNano(), "RetryAt is now plus RetryAfter")
	}
}

func requireOneDisposition(tb testing.TB, e *unavez.Error) {
	tb.Helper()
	matches := map[unavez.Disposition]bool{
		unavez.Refused:           errors.Is(e, unavez.ErrRefused),
		unavez.RetryLater:        errors.Is(e, unavez.ErrRetryLater),
		unavez.NeedsManualReview: errors.Is(e, unavez.ErrNeedsManualReview),
	}
	for disposition, isMatched := range matches {
		require.Equal(tb, e.Disposition == disposition, isMatched, "sentinel of %s on an error that is %s", disposition, e.Disposition)
	}
}

func requireNoSecret(tb testing.TB, e *unavez.Error) {
	tb.Helper()
	secrets := []string{testAPIKey, testName, testRFC, e.Key}
	if !strings.Contains(e.Code, e.Message) { // a message may be a word of the code
		secrets = append(secrets, e.Message)
	}
	for _, message := range e.FieldErrors {
		if e.HTTPStatus != 0 { // the provider's words; those of the SDK itself name a field and no value
			secrets = append(secrets, message)
		}
	}
	for _, text := range []string{e.Error(), e.Explain()} {
		for _, secret := range secrets {
			if len(secret) > 3 {
				require.NotContains(tb, text, secret, "the text of an error shows what it must not")
			}
		}
	}
}

// requireAttempts checks that the error lists what crossed the wire: every write, failed dials included, and every lookup.
func requireAttempts(tb testing.TB, e *unavez.Error, requests []sentRequest) {
	tb.Helper()
	require.Len(tb, e.Attempts, len(requests), "attempts are what was put on the wire")
	for i, request := range requests {
		kind := unavez.AttemptWrite
		if request.Method == http.MethodGet {
			kind = unavez.AttemptLookup
		}
		require.Equal(tb, kind, e.Attempts[i].Kind, "kind of attempt %d", i+1)
		if kind == unavez.AttemptWrite {
			require.Equal(tb, request.IsSent, e.Attempts[i].Effect != unavez.NotSent, "effect of attempt %d", i+1)
			continue
		}
		require.Equal(tb, unavez.NotExecuted, e.Attempts[i].Effect, "a lookup executes nothing")
	}
}

// requireSameBytes checks that every write carried the bytes and the key of the first.
func requireSameBytes(tb testing.TB, writes []sentRequest) {
	tb.Helper()
	var first *sentRequest
	for i := range writes {
		switch write := &writes[i]; {
		case !write.IsSent:
		case first == nil:
			first = write
		default:
			require.Equal(tb, first.Path, write.Path, "write %d goes elsewhere", i+1)
			require.Equal(tb, first.Body, write.Body, "write %d has other bytes", i+1)
			require.Equal(tb, first.Header, write.Header, "write %d has other headers", i+1)
		}
	}
}

// do performs the operation of a case under a key.
func (c writeCase) do(ctx context.Context, client *unavez.Client, key string, options ...unavez.CallOption) (*result, error) {
	return c.call(ctx, client, append([]unavez.CallOption{unavez.WithIdempotencyKey(key)}, options...))
}
