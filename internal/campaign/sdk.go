package campaign

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/unavez/unavez"
)

// NewSDK returns a client that uses this SDK, as its documentation advises: one [unavez.Client] per account.
func NewSDK(host Host) (Client, error) {
	return &sdk{host: host, clients: make(map[Account]*unavez.Client)}, nil
}

type sdk struct {
	host Host

	mu      sync.Mutex
	clients map[Account]*unavez.Client
}

func (s *sdk) client(account Account) (*unavez.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client, found := s.clients[account]; found {
		return client, nil
	}
	client, err := unavez.New(account.newProvider(), unavez.WithNamespace(namespace), unavez.WithEnvironment(unavez.Test),
		unavez.WithJournal(s.host.Journal), unavez.WithHTTPClient(&http.Client{Transport: s.host.Transport}),
		unavez.WithObserver(func(_ context.Context, event unavez.Event) {
			if event.Kind == unavez.EventAttempt {
				s.host.Observe(*event.Attempt)
			}
		}))
	if err != nil {
		return nil, err
	}
	s.clients[account] = client
	return client, nil
}

// Perform implements [Client].
func (s *sdk) Perform(ctx context.Context, operation Operation, how How) Answer {
	client, err := s.client(operation.Account)
	if err != nil {
		return Answer{Verdict: Failed, Err: err}
	}
	options := append(how.options(), unavez.WithDomainID(string(operation.Kind), operation.ID()))
	switch operation.Kind {
	case Invoice:
		return ofInvoice(client.Invoices.Create(ctx, operation.invoice(how.RetriesFailed), options...))
	case Payment, Registration:
		return ofPayment(client.Payments.Create(ctx, operation.payment(), options...))
	case Retention:
		return ofRetention(client.Retentions.Create(ctx, operation.retention(), options...))
	case StampXML:
		return ofInvoice(client.Invoices.StampXML(ctx, operation.xml(), options...))
	case CreditNote:
		return ofOutcome(client.Do(ctx, operation.creditNote(), options...))
	case Payout:
	}
	return ofPayout(client.Payouts.Create(ctx, operation.payout(), options...))
}

// Ask implements [Client].
func (s *sdk) Ask(ctx context.Context, operation Operation, how How) (Answer, bool) {
	client, err := s.client(operation.Account)
	if err != nil {
		return Answer{Verdict: Failed, Err: err}, true
	}
	options := how.options()
	if how.LookupOnly {
		options = append(options, unavez.WithLookupOnly())
	}
	if how.ByReference && operation.Account.Provider == Ipsofactura {
		options = append(options, unavez.WithReference(operation.reference()))
	}
	return ask(ctx, client, operation, how.Awaits, options), true
}

func ask(ctx context.Context, client *unavez.Client, operation Operation, awaits bool, options []unavez.CallOption) Answer {
	key := operation.Key()
	switch {
	case operation.Kind == Payout:
		return ofPayout(client.Payouts.Reconcile(ctx, key, options...))
	case operation.Kind == CreditNote:
		return ofOutcome(client.Reconcile(ctx, key, options...))
	case operation.Kind == Retention && awaits:
		return ofRetention(client.Retentions.Await(ctx, key, options...))
	case operation.Kind == Retention:
		return ofRetention(client.Retentions.Reconcile(ctx, key, options...))
	case operation.Kind == Payment || operation.Kind == Registration:
		if awaits {
			return ofPayment(client.Payments.Await(ctx, key, options...))
		}
		return ofPayment(client.Payments.Reconcile(ctx, key, options...))
	case awaits:
		return ofInvoice(client.Invoices.Await(ctx, key, options...))
	}
	return ofInvoice(client.Invoices.Reconcile(ctx, key, options...))
}

func (h *How) options() []unavez.CallOption {
	var options []unavez.CallOption
	if h.Timeout > 0 {
		options = append(options, unavez.WithTimeout(h.Timeout))
	}
	if h.MaxAttempts > 0 {
		options = append(options, unavez.WithMaxAttempts(h.MaxAttempts), unavez.WithMaxWait(h.MaxWait), unavez.WithJitter(h.Jitter))
	}
	return options
}

func ofInvoice(found *unavez.Invoice, err error) Answer {
	if err != nil || found == nil {
		return ofError(err)
	}
	return Answer{Verdict: Done, ID: found.ID, UUID: found.UUID}
}

func ofPayment(found *unavez.Payment, err error) Answer {
	if err != nil || found == nil {
		return ofError(err)
	}
	return Answer{Verdict: Done, ID: found.ID, UUID: found.UUID}
}

func ofRetention(found *unavez.Retention, err error) Answer {
	if err != nil || found == nil {
		return ofError(err)
	}
	return Answer{Verdict: Done, ID: found.ID, UUID: found.UUID}
}

func ofPayout(found *unavez.Payout, err error) Answer {
	if err != nil || found == nil {
		return ofError(err)
	}
	return Answer{Verdict: Done, ID: found.ID}
}

func ofOutcome(found *unavez.Outcome, err error) Answer {
	switch {
	case err != nil || found == nil:
		return ofError(err)
	case found.Payout != nil:
		return ofPayout(found.Payout, nil)
	case found.Invoice != nil:
		return ofInvoice(found.Invoice, nil)
	}
	object, _ := unavez.ParseObject(found.Raw)
	return Answer{Verdict: Done, ID: object.Text("id"), UUID: object.Text("uuid")}
}

func ofError(err error) Answer {
	var failure *unavez.Error
	if !errors.As(err, &failure) {
		return Answer{Verdict: Failed, Err: err}
	}
	answer := Answer{Status: failure.HTTPStatus, RetryAfter: failure.RetryAfter, Err: err, Again: failure.Next == unavez.NextResend}
	switch failure.Disposition {
	case unavez.Refused:
		answer.Verdict = Refused
	case unavez.NeedsManualReview:
		answer.Verdict = Review
		answer.Again = answer.Again || failure.Reason == unavez.ReasonNoRecord
	case unavez.RetryLater:
		answer.Verdict = Later
	}
	return answer
}
