package main

import (
	"context"
	"sync"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// batch is the records of one provider.
type batch struct {
	api     api
	server  *sandbox.Server
	baseURL string
	reach   []unavez.ClientOption
	client  *unavez.Client
	options []unavez.CallOption
	calls   []call

	mu      sync.Mutex // guards writes and lookups
	writes  map[string]int
	lookups map[string]int
}

// call is one record, what the network does to it, and what came of it.
type call struct {
	record  record
	trouble trouble
	key     string
	outcome *unavez.Outcome
	err     error
}

// newBatch hands out the troubles to the records that the provider can carry, in order, and tells the sandbox.
func newBatch(a api, open stage, invoices []invoiceFile) (*batch, error) {
	server, baseURL, reach, err := open()
	if err != nil {
		return nil, err
	}
	// The defaults are 30 s for an attempt and 5 attempts; the tour is shorter.
	options := []unavez.CallOption{unavez.WithTimeout(2 * time.Second), unavez.WithMaxAttempts(3)}
	b := &batch{api: a, server: server, baseURL: baseURL, reach: reach, options: options}
	if err := b.connect(); err != nil {
		return nil, err
	}
	troubles := a.troubles
	for _, r := range a.records(invoices) {
		key, err := b.client.DeriveKey(r.kind, r.id)
		if err != nil {
			return nil, err
		}
		c := call{record: r, key: key, trouble: trouble{what: "nothing was sent"}}
		// Prepare does everything that happens before anything is sent: a record that cannot be carried is found here.
		if _, err := b.client.Prepare(r.operation(), unavez.WithDomainID(r.kind, r.id)); err == nil && len(troubles) > 0 {
			c.trouble, troubles = troubles[0], troubles[1:]
			server.ScriptKey(key, c.trouble.faults...)
		}
		b.calls = append(b.calls, c)
	}
	return b, nil
}

// connect makes a client with an empty memory.
func (b *batch) connect() error {
	b.writes, b.lookups = make(map[string]int), make(map[string]int)
	options := append([]unavez.ClientOption{
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test), unavez.WithObserver(b.count),
	}, b.reach...)
	client, err := unavez.New(b.api.provider(b.baseURL), options...)
	b.client = client
	return err
}

// forget is the crash: a new client, an empty journal, and no time to wait.
func (b *batch) forget() error {
	b.options = append(b.options, unavez.WithMaxWait(0))
	return b.connect()
}

func (b *batch) count(_ context.Context, event unavez.Event) {
	if event.Attempt == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if event.Attempt.Kind == unavez.AttemptWrite {
		b.writes[event.Key]++
	} else {
		b.lookups[event.Key]++
	}
}

// sendAll performs every call of every batch at the same time.
func sendAll(ctx context.Context, batches []*batch) {
	var group sync.WaitGroup
	for _, b := range batches {
		for i := range b.calls {
			group.Go(func() { b.perform(ctx, &b.calls[i]) })
		}
	}
	group.Wait()
}

// perform calls once, or several times at once where the trouble is a user who clicks more than once.
func (b *batch) perform(ctx context.Context, c *call) {
	var others sync.WaitGroup
	for range c.trouble.clicks {
		others.Go(func() { _, _ = b.send(ctx, c) })
	}
	c.outcome, c.err = b.send(ctx, c)
	others.Wait()
}

// send is the whole of what an integrator writes: the record, and the id that the record has in the integrator's own books.
func (b *batch) send(ctx context.Context, c *call) (*unavez.Outcome, error) {
	options := append([]unavez.CallOption{unavez.WithDomainID(c.record.kind, c.record.id)}, b.options...)
	if c.record.payout != nil {
		payout, err := b.client.Payouts.Create(ctx, c.record.payout, options...)
		return &unavez.Outcome{Payout: payout}, err
	}
	invoice, err := b.client.Invoices.Create(ctx, c.record.invoice, options...)
	return &unavez.Outcome{Invoice: invoice}, err
}

// trouble is what the network and the provider do to one record.
type trouble struct {
	what   string
	faults []sandbox.Fault
	// clicks are further calls at the same time.
	clicks int
}
