package unavez

import (
	"context"
	"encoding/json"
)

// Payouts pays money out, once, and reconciles payouts. It is safe for concurrent use.
type Payouts struct{ client *Client }

// PayoutParams is one payout. A quote is good for one payout only.
type PayoutParams struct {
	// QuoteID is the quote that fixes amount, currency and rate.
	QuoteID string
	// Method is the provider's word for the way of paying, for instance "pago_movil".
	Method string
	// BeneficiaryID is the provider's own id of who is paid.
	BeneficiaryID string
	// Extra and Raw: see [InvoiceParams].
	Extra map[string]any
	Raw   json.RawMessage
}

// Payout is an accepted payout. A repeated call answers the first answer, so Status does not show later progress.
type Payout struct {
	ID string
	// Status is the provider's word, as given.
	Status         string
	IdempotencyKey string
	Replayed       bool
	RequestID      string
	Raw            json.RawMessage
}

// Create pays once. See [Invoices.Create].
//
// A payout that the provider itself calls failed is [Refused] with [NextFixNewKey]: it takes another quote and another
// key. One that it calls unknown is [NeedsManualReview] and is never sent again.
func (s *Payouts) Create(ctx context.Context, params *PayoutParams, options ...CallOption) (*Payout, error) {
	if params == nil {
		return nil, s.client.refuseNil(PayoutCreate, "params")
	}
	doc, err := s.client.write(ctx, &Operation{Name: PayoutCreate, Payout: params}, params, options)
	return asPayout(doc), err.orNil()
}

// Reconcile finds out what became of the key. The payouts API documents no lookup: the recorded request is sent again
// under the recorded key, inside the provider's 24 hours. There is no
// Await: a repeated request answers the first answer for ever. See [Client.Reconcile] and [WithLookupOnly].
func (s *Payouts) Reconcile(ctx context.Context, key string, options ...CallOption) (*Payout, error) {
	doc, err := s.client.reconcile(ctx, PayoutCreate, key, options)
	return asPayout(doc), err.orNil()
}
