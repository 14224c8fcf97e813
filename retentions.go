package unavez

import (
	"context"
	"encoding/json"
)

// Retentions stamps and reconciles withholding certificates (CFDI de retenciones). It is safe for concurrent use.
type Retentions struct{ client *Client }

// RetentionParams is one withholding certificate. No provider documents its body, so it is given in the provider's own
// form: Extra holds the members, or Raw the whole body.
type RetentionParams struct {
	Extra map[string]any
	Raw   json.RawMessage
}

// Retention is a stamped withholding certificate.
type Retention struct {
	ID, UUID string
	// Status is the provider's word, as given.
	Status         string
	StampedAt      string
	IdempotencyKey string
	Replayed       bool
	RequestID      string
	Raw            json.RawMessage
}

// Create stamps a withholding certificate once. See [Invoices.Create].
func (s *Retentions) Create(ctx context.Context, params *RetentionParams, options ...CallOption) (*Retention, error) {
	if params == nil {
		return nil, s.client.refuseNil(RetentionCreate, "params")
	}
	doc, err := s.client.write(ctx, &Operation{Name: RetentionCreate, Retention: params}, params, options)
	return asRetention(doc), err.orNil()
}

// Reconcile finds out what became of the key. See [Client.Reconcile].
func (s *Retentions) Reconcile(ctx context.Context, key string, options ...CallOption) (*Retention, error) {
	doc, err := s.client.reconcile(ctx, RetentionCreate, key, options)
	return asRetention(doc), err.orNil()
}

// Await reconciles until the outcome is known. See [Invoices.Await].
func (s *Retentions) Await(ctx context.Context, key string, options ...CallOption) (*Retention, error) {
	doc, err := s.client.await(ctx, RetentionCreate, key, options)
	return asRetention(doc), err.orNil()
}
