package unavez_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/unavez/unavez/sandbox"
)

// propertyScript is everything that is random about one run.
type propertyScript struct {
	provider, operation string
	// hasOwnJournal: the second client is another process with a journal of its own, else the two share one.
	hasOwnJournal bool
	writes        []sandbox.Fault
	lookups       []sandbox.Fault
	steps         []propertyStep
}

// propertyStep is one or more calls for the same key at the same time, all with the same options.
type propertyStep struct {
	kind         propertyKind
	pause        time.Duration // before the step
	refusedDials int
	timeout      time.Duration
	maxWait      time.Duration
	maxAttempts  int
	jitter       float64
	lookupOnly   bool
	byReference  bool
	callers      []propertyCaller
}

// propertyCaller is one goroutine. A zero duration is no delay, no deadline and no cancellation.
type propertyCaller struct {
	client                        int
	delay, deadline, cancellation time.Duration
}

type propertyKind string

const (
	propertyCreate    propertyKind = "Create"
	propertyReconcile propertyKind = "Reconcile"
	propertyAwait     propertyKind = "Await"
)

// String prints the script nearly as Go source.
func (s propertyScript) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, second client has its own journal: %t\n", s.provider, s.operation, s.hasOwnJournal)
	fmt.Fprintf(&b, "Script%v\nScriptLookups%v\n", s.writes, s.lookups)
	for _, step := range s.steps {
		fmt.Fprintf(&b, "after %s %s timeout=%s maxWait=%s maxAttempts=%d jitter=%g refusedDials=%d lookupOnly=%t byReference=%t\n",
			step.pause, step.kind, step.timeout, step.maxWait, step.maxAttempts, step.jitter, step.refusedDials,
			step.lookupOnly, step.byReference)
		for _, caller := range step.callers {
			fmt.Fprintf(&b, "    client %d delay=%s deadline=%s cancellation=%s\n",
				caller.client, caller.delay, caller.deadline, caller.cancellation)
		}
	}
	return b.String()
}

func drawPropertyScript(rt *rapid.T, provider string) propertyScript {
	draw := propertyDraw{rt}
	s := propertyScript{provider: provider, hasOwnJournal: draw.chance("own journal", 3)}
	s.operation = rapid.SampledFrom(propertyOperations(provider)).Draw(rt, "operation")
	mayLie := draw.chance("lies", 4)
	s.writes = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) sandbox.Fault {
		return propertyDraw{rt}.writeFault(provider, mayLie)
	}), 0, 6).Draw(rt, "writes")
	s.lookups = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) sandbox.Fault {
		return propertyDraw{rt}.lookupFault(provider)
	}), 0, 6).Draw(rt, "lookups")
	// A process that knows nothing of the first send cannot know that the provider has forgotten it: then no pause is long.
	pauses := []time.Duration{0, 0, time.Second, 7 * time.Second, time.Minute, 10 * time.Minute, 2 * time.Hour}
	if !s.hasOwnJournal {
		pauses = append(pauses, 22*time.Hour, 25*time.Hour, 73*time.Hour, 100*time.Hour)
	}
	s.steps = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) propertyStep {
		return propertyDraw{rt}.step(pauses)
	}), 1, 5).Draw(rt, "steps")
	s.steps[0].kind, s.steps[0].pause = propertyCreate, 0
	return s
}

func propertyOperations(provider string) []string {
	switch provider {
	case "facty":
		return []string{"invoice", "invoice", "payment", "registration", "retention"}
	case "ipsofactura":
		return []string{"invoice", "payment"}
	case "fiscalisto":
		return []string{"invoice", "raw"}
	}
	return []string{"payout"}
}

// propertyDraw draws the parts of a script.
type propertyDraw struct{ rt *rapid.T }

// chance is true in one of n cases.
func (d propertyDraw) chance(label string, n int) bool {
	return rapid.IntRange(1, n).Draw(d.rt, label) == n
}

func (d propertyDraw) duration(label string, from ...time.Duration) time.Duration {
	return rapid.SampledFrom(from).Draw(d.rt, label)
}

func (d propertyDraw) step(pauses []time.Duration) propertyStep {
	step := propertyStep{
		kind:        rapid.SampledFrom([]propertyKind{propertyCreate, propertyCreate, propertyReconcile, propertyAwait}).Draw(d.rt, "kind"),
		pause:       rapid.SampledFrom(pauses).Draw(d.rt, "pause"),
		timeout:     d.duration("timeout", 30*time.Second, time.Second, 5*time.Second, 61*time.Second),
		maxWait:     d.duration("max wait", 30*time.Second, 0, 3*time.Second, 90*time.Second, time.Hour),
		maxAttempts: rapid.SampledFrom([]int{5, 1, 2, 3, 8}).Draw(d.rt, "attempts"),
		jitter:      rapid.SampledFrom([]float64{0, 0, 0.5}).Draw(d.rt, "jitter"),
		lookupOnly:  d.chance("lookup only", 4),
		byReference: d.chance("reference", 3),
	}
	if d.chance("refused", 4) {
		step.refusedDials = rapid.IntRange(1, 6).Draw(d.rt, "refused dials")
	}
	step.callers = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) propertyCaller {
		return propertyDraw{rt}.caller()
	}), 1, 3).Draw(d.rt, "callers")
	return step
}

func (d propertyDraw) caller() propertyCaller {
	caller := propertyCaller{}
	if d.chance("second client", 3) {
		caller.client = 1
	}
	caller.delay = d.duration("delay", 0, 0, 0, time.Millisecond, 2*time.Second, 31*time.Second)
	times := []time.Duration{
		10 * time.Minute, time.Millisecond, 900 * time.Millisecond, 1500 * time.Millisecond, 8 * time.Second, 31 * time.Second, 3 * time.Minute,
	}
	if d.chance("deadline", 3) {
		caller.deadline = rapid.SampledFrom(times).Draw(d.rt, "deadline of the caller")
	}
	if d.chance("cancelled", 5) {
		caller.cancellation = rapid.SampledFrom(times).Draw(d.rt, "cancelled after")
	}
	return caller
}

func (d propertyDraw) work(label string) time.Duration {
	return d.duration(label, time.Second, 200*time.Millisecond, 3*time.Second, 29*time.Second, 31*time.Second, 45*time.Second,
		2*time.Minute, 20*time.Minute, 3*time.Hour)
}

func (d propertyDraw) retryAfter() string {
	return rapid.SampledFrom([]string{
		"", "1", "3", "0", "-1", "30", "31", "3600", "9223372036854775807", "99999999999999999999", "soon", "1.5",
		"Sat, 01 Jan 2000 00:00:20 GMT", "Saturday, 01-Jan-00 00:10:00 GMT", "Sat Jan  1 00:00:40 2000", "Sat, 01 Jan 2000 06:00:00 CST",
	}).Draw(d.rt, "Retry-After")
}

func (d propertyDraw) writeFault(provider string, mayLie bool) sandbox.Fault {
	makers := []func() sandbox.Fault{
		d.cut, d.cut, d.cut, d.slow, d.slow, d.pending, d.pending, d.refusal(provider), d.refusal(provider), d.serverError, d.garbled,
		d.combined,
	}
	if mayLie {
		makers = append(makers, d.lie(provider), d.lie(provider), d.lie(provider))
	}
	return rapid.SampledFrom(makers).Draw(d.rt, "fault")()
}

// cut is an answer that never comes, before or after the commit.
func (d propertyDraw) cut() sandbox.Fault {
	return rapid.SampledFrom([]sandbox.Fault{
		sandbox.Pass(), sandbox.CloseAfter(), sandbox.CloseBefore(), sandbox.ResetAfter(), sandbox.ResetBefore(), sandbox.HangAfter(),
		sandbox.HangBefore(), sandbox.Refuse(), sandbox.Interrupt(),
	}).Draw(d.rt, "cut")
}

func (d propertyDraw) slow() sandbox.Fault {
	work := d.work("how slow")
	return rapid.SampledFrom([]sandbox.Fault{sandbox.Late(work), sandbox.Slow(work), sandbox.Queue(work)}).Draw(d.rt, "slow")
}

func (d propertyDraw) pending() sandbox.Fault {
	work := d.work("how long")
	return rapid.SampledFrom([]sandbox.Fault{
		sandbox.StayPending(work), sandbox.PendingThenFail(work), sandbox.OutcomeUnknown(), sandbox.StayPending(80 * time.Hour),
	}).Draw(d.rt, "pending")
}

// garbled is an answer that cannot be read to its end.
func (d propertyDraw) garbled() sandbox.Fault {
	if d.chance("bomb", 40) { // packing it takes longer than all the rest of a script
		return sandbox.GzipBomb(9)
	}
	n := rapid.SampledFrom([]int{0, 1, 17, 60, 500}).Draw(d.rt, "bytes")
	return rapid.SampledFrom([]sandbox.Fault{
		sandbox.CutBody(n), sandbox.CutChunked(n), sandbox.StallBody(n), sandbox.GzipCut(), sandbox.GzipPlain(),
	}).Draw(d.rt, "garbled")
}

func (d propertyDraw) combined() sandbox.Fault {
	deed := rapid.SampledFrom([]func() sandbox.Fault{d.slow, d.pending, func() sandbox.Fault { return sandbox.Reject("CFDI40147") }})
	way := rapid.SampledFrom([]func() sandbox.Fault{d.cut, d.garbled, d.slow})
	return deed.Draw(d.rt, "deed")().With(way.Draw(d.rt, "way")())
}

// serverError leaves open whether anything was done, so it may come after the commit as well.
func (d propertyDraw) serverError() sandbox.Fault {
	status := rapid.SampledFrom([]int{500, 502, 503, 504, 408, 409, 501, 599}).Draw(d.rt, "status")
	wait := d.retryAfter()
	fault := rapid.SampledFrom([]sandbox.Fault{
		sandbox.Status(status, "", "Retry-After: "+wait), sandbox.Status(status, "busy"), sandbox.HTML(status, "Retry-After: "+wait),
		sandbox.Raw(status, nil, `{"error":["a"]}`), sandbox.Raw(200, nil, `{}`), sandbox.Raw(200, nil, ""), sandbox.HTML(200),
		sandbox.Raw(201, nil, `{"id":"x_1","uuid":null}`), sandbox.Raw(200, nil, `{"id":"x_1","status":"somehow"}`),
	}).Draw(d.rt, "server error")
	if d.chance("committed", 2) {
		return fault.AfterCommit()
	}
	return fault
}

// refusal is an answer which says that this request did nothing.
func (d propertyDraw) refusal(provider string) func() sandbox.Fault {
	return func() sandbox.Fault {
		wait := d.retryAfter()
		faults := []sandbox.Fault{
			sandbox.TooMany(wait), sandbox.TooMany(wait), sandbox.Status(401, ""), sandbox.Status(403, ""), sandbox.Status(402, ""),
			sandbox.Status(400, ""), sandbox.Status(404, "NOT_FOUND"), sandbox.Status(422, ""), sandbox.Status(425, "", "Retry-After: "+wait),
			sandbox.Reject("CFDI40147"), sandbox.HTML(404), sandbox.HTML(403), sandbox.HTML(429, "Retry-After: "+wait),
			sandbox.Redirect(302, "http://elsewhere.example/"), sandbox.Redirect(307, "/"),
		}
		return rapid.SampledFrom(append(faults, propertyCodes(provider)...)).Draw(d.rt, "refusal")
	}
}

// propertyCodes are the refusals that a provider's page names. Codes that speak of another request, in flight or with other bytes,
// are left to the provider itself, which knows whether there is one.
func propertyCodes(provider string) []sandbox.Fault {
	switch provider {
	case "facty":
		return []sandbox.Fault{sandbox.Status(402, "INSUFFICIENT_TIMBRES"), sandbox.Status(403, "ORG_MISMATCH")}
	case "ipsofactura":
		return []sandbox.Fault{sandbox.Status(400, "VALIDATION_ERROR"), sandbox.Status(422, "VALIDATION_ERROR")}
	case "fiscalisto":
		return []sandbox.Fault{
			sandbox.Reject("invoice_rejected"), sandbox.Reject("invoice_invalid"), sandbox.Status(422, "invoice_rejected"),
			sandbox.Status(422, "invoice_invalid"),
		}
	}
	return []sandbox.Fault{
		sandbox.Status(503, "no_provider_available"), sandbox.Status(502, "provider_error"), sandbox.Status(400, "validation_error"),
	}
}

// lie is an answer that is outside of the documented behaviour: it says that nothing was done, or that something was, against the
// facts.
func (d propertyDraw) lie(provider string) func() sandbox.Fault {
	return func() sandbox.Fault {
		if d.chance("invents", 3) {
			return rapid.SampledFrom([]sandbox.Fault{
				sandbox.Raw(201, nil, `{"id":"x_1","uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55","folio_fiscal":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"}`),
				sandbox.Raw(200, nil, `{"id":"po_77","paymentId":"pay_77","status":"processing"}`),
				sandbox.Status(422, "CFDI307"), sandbox.Status(409, "idempotency_key_reused"), sandbox.Status(422, "IDEMPOTENCY_KEY_REUSED"),
				sandbox.Status(409, "quote_already_consumed"), sandbox.Status(409, "DUPLICATE_IN_PROGRESS"),
			}).Draw(d.rt, "invention")
		}
		return d.refusal(provider)().AfterCommit()
	}
}

func (d propertyDraw) lookupFault(provider string) sandbox.Fault {
	wait := d.work("lookup")
	if d.chance("shape", 3) {
		return rapid.SampledFrom(propertyShapes()).Draw(d.rt, "shape of the list")
	}
	return rapid.SampledFrom([]sandbox.Fault{
		sandbox.Pass(), sandbox.Pass(), sandbox.IgnoreFilter(), sandbox.LagLookup(wait), sandbox.LagLookup(wait), sandbox.Late(wait),
		sandbox.CloseAfter(), sandbox.HangAfter(), sandbox.Refuse(), sandbox.CutBody(17), sandbox.GzipCut(), sandbox.HTML(502),
		sandbox.Status(503, "busy", "Retry-After: "+d.retryAfter()), sandbox.Status(429, "", "Retry-After: "+d.retryAfter()),
		sandbox.Status(401, ""), sandbox.Redirect(302, "http://elsewhere.example/"), sandbox.HTML(404),
	}).Draw(d.rt, "lookup fault at "+provider)
}

// propertyShapes are lists that the server invents. Those that name the key lie about it.
func propertyShapes() []sandbox.Fault {
	const uuid = `"uuid":"5F0C2B9E-8A41-4C77-9B0D-2E6A1D3F4C55"`
	shapes := []string{
		`{}`, `[]`, `{"invoices":null}`, `{"data":[]}`, `{"invoices":[],"next":"p2"}`, `{"invoices":{}}`, `{"invoices":[null]}`, `"x"`,
		`{"invoices":[{"idempotencyKey":"other-key","status":"stamped",` + uuid + `}]}`,
		`{"invoices":[{"idempotencyKey":"` + propertyKey + `","status":"valid"}]}`,
		`{"invoices":[{"idempotencyKey":"` + propertyKey + `","status":"stamped"}]}`,
		`{"invoices":[{"idempotencyKey":"` + propertyKey + `","status":"stamped",` + uuid + `}]}`,
		`{"invoices":[{"idempotencyKey":"` + propertyKey + `","status":"failed"}]}`,
		`{"data":[{"serie":"B","folio":"77","rfc_emisor":"EKU9003173C9","folio_fiscal":null}]}`,
	}
	faults := make([]sandbox.Fault, 0, len(shapes))
	for _, shape := range shapes {
		faults = append(faults, sandbox.Raw(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, shape))
	}
	return faults
}
