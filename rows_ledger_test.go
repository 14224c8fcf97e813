package unavez_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// The tables against the sandbox, which reads the pages on its own: what crossed the wire, what the caller was told, and
// what the ledger holds.

// ledgerRow is a conversation with the sandbox.
type ledgerRow struct {
	fact string
	on   unavez.OperationName
	// refusals is how many dials are refused first.
	refusals       int
	faults, looked []sandbox.Fault
	options        []unavez.CallOption
	// sends and looks are when requests arrived, in seconds.
	sends, looks []float64
	ends         float64
	want         want
	// effects is what the ledger holds under the key when everything is over.
	effects int
}

func runLedgerRows(t *testing.T, provider string, rows []ledgerRow) {
	t.Helper()
	for _, r := range rows {
		t.Run(provider+"/"+r.fact, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { r.run(t, provider) })
		})
	}
}

func (r ledgerRow) run(t *testing.T, provider string) {
	t.Helper()
	b := newSandbox(t)
	b.server.Script(r.faults...)
	b.server.ScriptLookups(r.looked...)
	b.listener.Refuse(r.refusals)
	c := row{on: r.on}.writeCase(t, provider)
	began := time.Now()
	got, err := c.do(t.Context(), b.client(provider), testKey, r.options...)
	ended := time.Since(began)

	require.Equal(t, at(r.sends...), arrivals(b.server, began, http.MethodPost), "when the writes arrived")
	require.Equal(t, at(r.looks...), arrivals(b.server, began, http.MethodGet), "when the lookups arrived")
	require.Equal(t, row{sends: r.sends, looks: r.looks, ends: r.ends}.end(), ended, "when the call returned")
	requireSameBytesAtServer(t, b.server.Requests())
	r.want.require(t, got, err)
	if err != nil {
		require.Len(t, requireError(t, err).Attempts, r.refusals+len(b.server.Requests()), "attempts are what was put on the wire")
	}
	time.Sleep(time.Hour) // what the server still does
	require.Zero(t, b.server.Pending(), "faults that nobody met")
	require.Equal(t, r.effects, b.server.Effects(testKey), "effects in the ledger")
	if got != nil {
		entry := b.server.Ledger()[0]
		require.Equal(t, entry.UUID, got.UUID, "the document is the one in the ledger")
		require.Equal(t, c.path, b.server.Requests()[0].Path)
	}
}

func arrivals(server *sandbox.Server, began time.Time, method string) []time.Duration {
	var moments []time.Duration
	for _, request := range server.Requests() {
		if request.Method == method {
			moments = append(moments, request.At.Sub(began))
		}
	}
	return moments
}

func requireSameBytesAtServer(t *testing.T, requests []sandbox.Request) {
	t.Helper()
	var first *sandbox.Request
	for i := range requests {
		request := &requests[i]
		if request.Method != http.MethodPost || len(request.Body) == 0 {
			continue // refused before its body was read
		}
		if first == nil {
			first = request
		}
		require.Equal(t, string(first.Body), string(request.Body), "every write has the bytes of the first")
		require.Equal(t, first.Header, request.Header, "and its headers")
		require.Equal(t, int64(len(request.Body)), request.ContentLength, "of a known length")
	}
}

// lostFaults are those after which nobody knows, whether the provider executed the request or not.
func lostFaults() map[string]sandbox.Fault {
	return map[string]sandbox.Fault{
		"CloseAfter": sandbox.CloseAfter(), "ResetAfter": sandbox.ResetAfter(), "CutBody 0": sandbox.CutBody(0), "CutBody 9": sandbox.CutBody(9),
		"CutChunked": sandbox.CutChunked(9), "GzipCut": sandbox.GzipCut(), "GzipPlain": sandbox.GzipPlain(), "GzipBomb": sandbox.GzipBomb(9),
		"502 of a gateway": sandbox.HTML(502), "502 of a gateway after the commit": sandbox.HTML(502).AfterCommit(), "500": sandbox.Status(500, "x"),
		"500 after the commit": sandbox.Status(500, "x").AfterCommit(), "408": sandbox.Status(408, "x"), "empty 200": sandbox.Raw(200, nil, ""),
		"HTML 200 after the commit": sandbox.Raw(200, http.Header{"Content-Type": {"text/html"}}, "<html/>").AfterCommit(),
	}
}

func TestRowsLedgerALostAnswerIsSentAgainAndExecutedOnce(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		rows := commonLedgerRows()
		for name, fault := range lostFaults() {
			rows = append(rows, ledgerRow{fact: name, faults: []sandbox.Fault{fault}, sends: []float64{0, 1}, want: aDocument(), effects: 1})
		}
		rows = append(rows,
			ledgerRow{fact: "HangAfter", faults: []sandbox.Fault{sandbox.HangAfter()}, sends: []float64{0, 31}, want: aDocument(), effects: 1},
			ledgerRow{fact: "StallBody", faults: []sandbox.Fault{sandbox.StallBody(5)}, sends: []float64{0, 31}, want: aDocument(), effects: 1},
			ledgerRow{fact: "late beyond the timeout", faults: []sandbox.Fault{sandbox.Late(31 * time.Second)}, sends: []float64{0, 31}, want: aDocument(), effects: 1},
			ledgerRow{fact: "held in front of the provider", faults: []sandbox.Fault{sandbox.Queue(40 * time.Second)}, sends: []float64{0, 31}, want: aDocument(), effects: 1},
			ledgerRow{
				fact: "every answer lost", faults: []sandbox.Fault{sandbox.CloseAfter(), sandbox.CloseAfter(), sandbox.CloseAfter(), sandbox.CloseAfter(), sandbox.CloseAfter()},
				sends: []float64{0, 1, 3, 7, 15}, want: unknownOutcome(unavez.NextResend, afterLoss(provider, 8)), effects: 1,
			},
		)
		runLedgerRows(t, provider, rows)
	}
}

// commonLedgerRows hold at every provider.
func commonLedgerRows() []ledgerRow {
	return []ledgerRow{
		{fact: "passed", sends: []float64{0}, want: aDocument(), effects: 1},
		{fact: "late", faults: []sandbox.Fault{sandbox.Late(20 * time.Second)}, sends: []float64{0}, ends: 20, want: aDocument(), effects: 1},
		{fact: "refused dials", refusals: 2, sends: []float64{3}, want: aDocument(), effects: 1},
		{fact: "refused dials to the end", refusals: 5, ends: 15, want: retryLater(unavez.NotSent, unavez.NextResend, 8)},
		{fact: "429 with Retry-After", faults: []sandbox.Fault{sandbox.TooMany("7")}, sends: []float64{0, 7}, want: aDocument(), effects: 1},
		{fact: "429 after the commit", faults: []sandbox.Fault{sandbox.TooMany("").AfterCommit()}, sends: []float64{0, 1}, want: aDocument(), effects: 1},
	}
}

func TestRowsLedgerNothingIsExecutedAndTheCallerIsTold(t *testing.T) {
	t.Parallel()
	codes := map[string][2]string{ // 401 and 429, as the sandbox names them
		atFacty: {"INVALID_API_KEY", "RATE_LIMITED"}, atIpsofactura: {"", ""}, atFiscalisto: {"unauthorized", "rate_limited"}, atPayouts: {"unauthorized", "rate_limited"},
	}
	for _, provider := range allProviders() {
		code := func(i int) func(t *testing.T, e *unavez.Error) {
			return func(t *testing.T, e *unavez.Error) {
				t.Helper()
				if want := codes[provider][i]; want != "" {
					require.Equal(t, want, e.Code)
				}
			}
		}
		for _, r := range []struct {
			fact  string
			fault sandbox.Fault
			want  want
			check func(t *testing.T, e *unavez.Error)
		}{
			{"401", sandbox.Status(401, ""), refused(unavez.NotExecuted, unavez.NextResend).http(401, "").marked(unavez.ErrUnauthorized), code(0)},
			{"redirect to the same host", sandbox.Redirect(301, "/authenticated/acme/invoices"), refused(unavez.NotExecuted, unavez.NextResend).http(301, ""), nil},
			{"redirect to another host", sandbox.Redirect(307, "https://evil.example/"), refused(unavez.NotExecuted, unavez.NextResend).http(307, ""), nil},
			{"429 with a long Retry-After", sandbox.TooMany("3600"), retryLater(unavez.NotExecuted, unavez.NextResend, 3600).http(429, ""), code(1)},
		} {
			t.Run(provider+"/"+r.fact, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newSandbox(t)
					b.server.Script(r.fault)
					_, err := mainCase(t, provider).do(t.Context(), b.client(provider), testKey)
					e := requireError(t, err)
					r.want.code = e.Code // named by the sandbox
					r.want.require(t, nil, err)
					if r.check != nil {
						r.check(t, e)
					}
					require.Len(t, b.server.Requests(), 1, "one request, and none to the target of a redirect")
					require.Empty(t, b.server.Ledger())
				})
			})
		}
	}
}

func TestRowsLedgerFactyLooksUpAfterALostAnswer(t *testing.T) {
	t.Parallel()
	rows := commonLedgerRows()
	stampedAtOnce := []string{
		"CloseAfter", "ResetAfter", "CutBody 0", "CutBody 9", "CutChunked", "GzipCut", "GzipPlain", "GzipBomb", "502 of a gateway after the commit",
		"500 after the commit", "HTML 200 after the commit",
	}
	for _, name := range stampedAtOnce {
		rows = append(rows, ledgerRow{
			fact: name, faults: []sandbox.Fault{lostFaults()[name]}, sends: []float64{0}, looks: []float64{0}, want: aDocument(), effects: 1,
		})
	}
	for _, name := range []string{"502 of a gateway", "500", "408", "empty 200"} {
		rows = append(rows, ledgerRow{
			fact: name + " before the commit", faults: []sandbox.Fault{lostFaults()[name]}, sends: []float64{0, 1}, looks: []float64{0, 1}, want: aDocument(), effects: 1,
		})
	}
	rows = append(rows,
		ledgerRow{fact: "CloseBefore", faults: []sandbox.Fault{sandbox.CloseBefore()}, sends: []float64{0, 1}, looks: []float64{0, 1}, want: aDocument(), effects: 1},
		ledgerRow{fact: "HangBefore", faults: []sandbox.Fault{sandbox.HangBefore()}, sends: []float64{0, 31}, looks: []float64{30, 31}, want: aDocument(), effects: 1},
		ledgerRow{fact: "HangAfter", faults: []sandbox.Fault{sandbox.HangAfter()}, sends: []float64{0}, looks: []float64{30}, want: aDocument(), effects: 1},
		ledgerRow{fact: "work that outlives the attempt", faults: []sandbox.Fault{sandbox.Slow(32 * time.Second)}, sends: []float64{0}, looks: []float64{30, 31, 33}, want: aDocument(), effects: 1},
		ledgerRow{
			fact: "held in front of the provider, lookup empty", faults: []sandbox.Fault{sandbox.Queue(40 * time.Second)}, sends: []float64{0, 31}, looks: []float64{30, 31},
			want: aDocument(), effects: 1,
		},
		ledgerRow{
			fact: "lookup that lags", faults: []sandbox.Fault{sandbox.CloseAfter()}, looked: []sandbox.Fault{sandbox.LagLookup(time.Second / 2), sandbox.LagLookup(time.Second / 2)},
			sends: []float64{0}, looks: []float64{0, 1}, want: aDocument(), effects: 1,
		},
		ledgerRow{
			fact: "lookup that lags beyond the second look: the resend is the same CFDI", faults: []sandbox.Fault{sandbox.CloseAfter()},
			looked: []sandbox.Fault{sandbox.LagLookup(time.Minute), sandbox.LagLookup(time.Minute)}, sends: []float64{0, 1}, looks: []float64{0, 1}, want: aDocument(), effects: 1,
		},
		ledgerRow{fact: "pending, then stamped", faults: []sandbox.Fault{sandbox.StayPending(2 * time.Second)}, sends: []float64{0}, looks: []float64{0, 1, 3}, want: aDocument(), effects: 1},
		ledgerRow{
			fact: "pending beyond the budget", faults: []sandbox.Fault{sandbox.StayPending(time.Minute)}, sends: []float64{0}, looks: []float64{0, 1, 3, 7, 15},
			want: retryLater(unavez.Unknown, unavez.NextReconcile, 8).http(200, ""), effects: 1,
		},
		ledgerRow{
			fact: "pending, then failed", faults: []sandbox.Fault{sandbox.PendingThenFail(2 * time.Second)}, sends: []float64{0}, looks: []float64{0, 1, 3},
			want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextFixSameKey).http(200, ""),
		},
		ledgerRow{
			fact: "filter that is ignored", faults: []sandbox.Fault{sandbox.CloseAfter()}, looked: []sandbox.Fault{sandbox.IgnoreFilter()}, sends: []float64{0}, looks: []float64{0},
			want: aDocument(), effects: 1,
		},
		ledgerRow{
			fact: "a lookup that cannot be read is no permission to send", faults: []sandbox.Fault{sandbox.CloseBefore()}, looked: []sandbox.Fault{sandbox.Shape(`{"invoices":null}`)},
			sends: []float64{0}, looks: []float64{0}, want: unknownOutcome(unavez.NextReconcile, 1).http(200, ""),
		},
		ledgerRow{
			fact: "lookups that are lost", faults: []sandbox.Fault{sandbox.CloseAfter()}, looked: []sandbox.Fault{sandbox.CloseBefore(), sandbox.HTML(502), sandbox.TooMany("2")},
			sends: []float64{0}, looks: []float64{0, 1, 3, 5}, want: aDocument(), effects: 1,
		},
	)
	runLedgerRows(t, atFacty, rows)
}
