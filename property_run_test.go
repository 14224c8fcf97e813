package unavez_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/internal/memnet"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/providers/payouts"
	"github.com/unavez/unavez/sandbox"
)

const (
	propertyKey    = "mi-erp:test:factura:4471"
	propertySecret = "fk_planted-secret"
	// propertyPatience ends an Await whose caller has no deadline.
	propertyPatience = 10 * time.Minute
)

// propertyRun plays one script. It lives inside a bubble.
type propertyRun struct {
	script   propertyScript
	server   *sandbox.Server
	listener *memnet.Listener
	clients  [2]*propertyClient
	step     int
	began    time.Time

	mu      sync.Mutex
	answers []*propertyAnswer // of the writes and lookups for the key, as the clients got them
	calls   []*propertyCall
	broken  []string
}

// propertyClient is one process. Its observer counts what it does in the current step.
type propertyClient struct {
	*unavez.Client

	transport *http.Transport
	name      string
	attempts  []unavez.Attempt
	waits     []propertyWait
	perCall   map[int]int // writes, by call
}

type propertyWait struct {
	at   time.Time
	wait time.Duration
}

// propertyCall is one call and what came of it.
type propertyCall struct {
	number, step int
	client       int
	kind         propertyKind
	start, end   time.Time
	found        *propertyDocument
	err          error
	// effectsBefore is how many effects the key had before the step.
	effectsBefore int
}

// propertyDocument is a document of any kind.
type propertyDocument struct{ id, uuid string }

type propertyCallKey struct{}

func newPropertyRun(t *testing.T, script propertyScript) *propertyRun {
	t.Helper()
	run := &propertyRun{script: script, server: sandbox.New(), listener: memnet.Listen(), began: time.Now()}
	served := make(chan error, 1)
	go func() { served <- run.server.Serve(run.listener) }()
	journal := unavez.NewMemoryJournal(0)
	for i := range run.clients {
		if script.hasOwnJournal {
			journal = unavez.NewMemoryJournal(0)
		}
		run.clients[i] = run.newClient(t, i, journal)
	}
	t.Cleanup(func() {
		for _, client := range run.clients {
			client.transport.CloseIdleConnections()
		}
		require.NoError(t, run.server.Close())
		require.NoError(t, <-served)
		time.Sleep(time.Second) // net/http lets a connection linger on which it has not read the whole request
	})
	return run
}

func (r *propertyRun) newClient(t *testing.T, number int, journal unavez.Journal) *propertyClient {
	t.Helper()
	client := &propertyClient{name: fmt.Sprintf("client-%d", number), transport: &http.Transport{DialContext: r.listener.DialContext}}
	var err error
	client.Client, err = unavez.New(propertyProvider(r.script.provider),
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test), unavez.WithJournal(journal),
		unavez.WithUserAgent(client.name), unavez.WithHTTPClient(&http.Client{Transport: &propertyTap{client.transport, r, number}}),
		unavez.WithObserver(func(ctx context.Context, event unavez.Event) { r.observe(ctx, client, &event) }),
	)
	require.NoError(t, err)
	return client
}

func propertyProvider(name string) unavez.Provider {
	const base = "http://127.0.0.1"
	switch name {
	case "facty":
		return facty.Provider{BaseURL: base, Org: "acme", APIKey: propertySecret}
	case "ipsofactura":
		return ipsofactura.Provider{BaseURL: base, APIKey: propertySecret}
	case "fiscalisto":
		return fiscalisto.Provider{BaseURL: base, APIKey: propertySecret}
	}
	return payouts.Provider{BaseURL: base, APIKey: propertySecret}
}

func (r *propertyRun) observe(ctx context.Context, client *propertyClient, event *unavez.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch event.Kind {
	case unavez.EventAttempt:
		client.attempts = append(client.attempts, *event.Attempt)
		if number, ok := ctx.Value(propertyCallKey{}).(int); ok && event.Attempt.Kind == unavez.AttemptWrite {
			client.perCall[number]++
		}
	case unavez.EventWait:
		client.waits = append(client.waits, propertyWait{time.Now(), event.Wait})
	case unavez.EventFinished:
	}
}

// play lets other records exist first, then plays the steps, and looks at the ledger once more when all that was in flight has landed.
func (r *propertyRun) play() {
	for _, id := range []string{"1", "2"} {
		_, _ = r.write(context.Background(), 0, id)
	}
	r.answers = nil
	r.server.Script(r.script.writes...)
	r.server.ScriptLookups(r.script.lookups...)
	for i := range r.script.steps {
		step := &r.script.steps[i]
		time.Sleep(step.pause)
		if i > 0 {
			r.checkLater(i - 1)
		}
		r.playStep(i, step)
	}
	time.Sleep(200 * time.Hour)
	r.checkLater(len(r.script.steps) - 1)
	r.checkWire()
}

func (r *propertyRun) playStep(number int, step *propertyStep) {
	r.step = number
	r.listener.Refuse(step.refusedDials)
	for _, client := range r.clients {
		client.attempts, client.waits, client.perCall = nil, nil, map[int]int{}
	}
	before, effects := len(r.server.Requests()), r.server.Effects(propertyKey)
	first := len(r.calls)
	var callers sync.WaitGroup
	for i := range step.callers {
		call := &propertyCall{number: len(r.calls), step: number, client: step.callers[i].client, kind: step.kind, effectsBefore: effects}
		r.calls = append(r.calls, call)
		callers.Go(func() { r.playCaller(call, step, &step.callers[i]) })
	}
	callers.Wait()
	synctest.Wait()
	r.listener.Refuse(0)
	r.checkStep(step, r.calls[first:], r.server.Requests()[before:])
}

func (r *propertyRun) playCaller(call *propertyCall, step *propertyStep, caller *propertyCaller) {
	time.Sleep(caller.delay)
	ctx := context.WithValue(context.Background(), propertyCallKey{}, call.number)
	deadline := caller.deadline
	if step.kind == propertyAwait && deadline == 0 {
		deadline = propertyPatience // it may wait for ever
	}
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	if caller.cancellation > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer time.AfterFunc(caller.cancellation, cancel).Stop()
		defer cancel()
	}
	options := []unavez.CallOption{
		unavez.WithTimeout(step.timeout), unavez.WithMaxWait(step.maxWait), unavez.WithMaxAttempts(step.maxAttempts),
		unavez.WithJitter(step.jitter),
	}
	call.start = time.Now()
	switch step.kind {
	case propertyCreate:
		call.found, call.err = r.write(ctx, call.client, "4471", options...)
	case propertyReconcile, propertyAwait:
		if step.lookupOnly {
			options = append(options, unavez.WithLookupOnly())
		}
		if step.byReference && r.script.provider == "ipsofactura" {
			options = append(options, unavez.WithReference(unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "4471"}))
		}
		call.found, call.err = r.find(ctx, call.client, step.kind, options...)
	}
	call.end = time.Now()
	r.checkCall(ctx, call)
}

// write sends the one write of the script's operation. The record's id stands in the body, so that each record has bytes of its own.
func (r *propertyRun) write(ctx context.Context, client int, id string, options ...unavez.CallOption) (*propertyDocument, error) {
	c := r.clients[client]
	options = append(options, unavez.WithDomainID("factura", id))
	switch r.script.provider + " " + r.script.operation {
	case "facty invoice":
		return ofInvoice(c.Invoices.Create(ctx, &unavez.InvoiceParams{Raw: []byte(`{"type":"ingreso","serie":"A","items":[{"quantity":2,` +
			`"unitPrice":150.50,"iva":0.16,"description":"` + id + `"}]}`)}, options...))
	case "facty payment", "facty registration":
		isStamped := r.script.operation == "payment"
		return ofPayment(c.Payments.Create(ctx, &unavez.PaymentParams{Raw: fmt.Appendf(nil,
			`{"accountId":%q,"monto":100.00,"stamp":%t,"documents":[]}`, id, isStamped)}, options...))
	case "facty retention":
		return ofRetention(c.Retentions.Create(ctx, &unavez.RetentionParams{Extra: map[string]any{"folioInt": id}}, options...))
	case "ipsofactura invoice":
		return ofInvoice(c.Invoices.Create(ctx, &unavez.InvoiceParams{Raw: []byte(`{"rfc_emisor":"EKU9003173C9","serie":"B","folio":"` +
			id + `","tipo_comprobante":"I"}`)}, options...))
	case "ipsofactura payment":
		return ofPayment(c.Payments.Create(ctx, &unavez.PaymentParams{Raw: []byte(`{"rfc_emisor":"EKU9003173C9","serie":"B","folio":"` +
			id + `","pagos":[{"monto":100.00}]}`)}, options...))
	case "fiscalisto invoice":
		return ofInvoice(c.Invoices.Create(ctx, &unavez.InvoiceParams{Raw: []byte(`{"customer":"` + id +
			`","payment_form":"03","items":[{"quantity":1,"unit_price":900.00}]}`)}, options...))
	case "fiscalisto raw":
		return ofOutcome(c.Do(ctx, &unavez.RawParams{
			Operation: "credit_notes.create", Path: "/v1/credit-notes", Raw: []byte(`{"customer":"` + id + `"}`),
		}, options...))
	}
	return ofPayout(c.Payouts.Create(ctx, &unavez.PayoutParams{QuoteID: "q-" + id, Method: "pago_movil", BeneficiaryID: "b-1"}, options...))
}

func (r *propertyRun) find(ctx context.Context, client int, kind propertyKind, options ...unavez.CallOption) (*propertyDocument, error) {
	c := r.clients[client]
	isAwait := kind == propertyAwait
	switch r.script.operation {
	case "invoice":
		if isAwait {
			return ofInvoice(c.Invoices.Await(ctx, propertyKey, options...))
		}
		return ofInvoice(c.Invoices.Reconcile(ctx, propertyKey, options...))
	case "payment", "registration":
		if isAwait {
			return ofPayment(c.Payments.Await(ctx, propertyKey, options...))
		}
		return ofPayment(c.Payments.Reconcile(ctx, propertyKey, options...))
	case "retention":
		if isAwait {
			return ofRetention(c.Retentions.Await(ctx, propertyKey, options...))
		}
		return ofRetention(c.Retentions.Reconcile(ctx, propertyKey, options...))
	case "payout":
		return ofPayout(c.Payouts.Reconcile(ctx, propertyKey, options...))
	}
	return ofOutcome(c.Reconcile(ctx, propertyKey, options...))
}

func ofInvoice(found *unavez.Invoice, err error) (*propertyDocument, error) {
	if found == nil {
		return nil, err
	}
	return &propertyDocument{found.ID, found.UUID}, err
}

func ofPayment(found *unavez.Payment, err error) (*propertyDocument, error) {
	if found == nil {
		return nil, err
	}
	return &propertyDocument{found.ID, found.UUID}, err
}

func ofRetention(found *unavez.Retention, err error) (*propertyDocument, error) {
	if found == nil {
		return nil, err
	}
	return &propertyDocument{found.ID, found.UUID}, err
}

func ofPayout(found *unavez.Payout, err error) (*propertyDocument, error) {
	if found == nil {
		return nil, err
	}
	return &propertyDocument{found.ID, ""}, err
}

func ofOutcome(found *unavez.Outcome, err error) (*propertyDocument, error) {
	switch {
	case found == nil:
		return nil, err
	case found.Payout != nil:
		return ofPayout(found.Payout, err)
	}
	return ofInvoice(found.Invoice, err)
}

// traffic tells what happened, for whoever reads a failure.
func (r *propertyRun) traffic() string {
	var b strings.Builder
	for _, request := range r.server.Requests() {
		fmt.Fprintf(&b, "%12s %s %s %s %s\n", request.At.Sub(r.began), request.Header.Get("User-Agent"), request.Method, request.Path, request.Body)
	}
	for _, answer := range r.answers {
		fmt.Fprintf(&b, "%12s client-%d got %s\n", answer.end.Sub(r.began), answer.client, answer)
	}
	for _, call := range r.calls {
		fmt.Fprintf(&b, "%12s step %d client-%d %s returned %+v %v\n", call.end.Sub(r.began), call.step, call.client, call.kind, call.found, call.err)
		var failure *unavez.Error
		if errors.As(call.err, &failure) {
			fmt.Fprintf(&b, "             effect %s reason %s cause %v\n", failure.Effect, failure.Reason, failure.Err)
			for _, attempt := range failure.Attempts {
				fmt.Fprintf(&b, "             %+v\n", attempt)
			}
		}
	}
	for _, entry := range r.server.Ledger() {
		fmt.Fprintf(&b, "%12s ledger %+v\n", entry.At.Sub(r.began), entry)
	}
	for _, broken := range r.broken {
		fmt.Fprintf(&b, "broken: %s\n", broken)
	}
	return b.String()
}
