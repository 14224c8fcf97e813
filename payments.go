package unavez

import (
	"context"
	"encoding/json"
	"time"
)

// Payments stamps, cancels and reconciles payments of PPD invoices (complemento de pago). It is safe for concurrent use.
type Payments struct{ client *Client }

// PaymentParams is one payment of one or more PPD invoices.
type PaymentParams struct {
	// AccountID is the provider's own id of the account that the money came to.
	AccountID string
	// PaymentForm is a code of c_FormaPago, never "99".
	PaymentForm string
	// Currency is an ISO 4217 code. Empty means MXN.
	Currency string
	// Reference is the bank's number of the operation.
	Reference string
	// PaidAt is when the money came. It is sent as the wall clock of its own location, without a zone, as SAT has it.
	PaidAt time.Time
	// Amount is in units of Currency, ExchangeRate in pesos per unit of it.
	Amount, ExchangeRate Decimal
	// Documents are the invoices that this payment pays.
	Documents []PaidDocument
	// StampNow stamps the complement in the same call. Otherwise the payment is recorded, and [Payments.Stamp] stamps it
	// later under a key of its own.
	StampNow bool
	// Issuer, Series, Folio and Customer are for providers whose account does not imply them.
	Issuer, Series, Folio string
	Customer              Customer
	// Extra and Raw: see [InvoiceParams].
	Extra map[string]any
	Raw   json.RawMessage
}

// PaidDocument is one invoice in a payment. Amounts are in units of the invoice's currency.
type PaidDocument struct {
	// InvoiceID is the provider's own id of the invoice, UUID its fiscal UUID. Which is needed depends on the provider.
	InvoiceID, UUID string
	// Installment counts from 1.
	Installment int
	// RemainingBalance is PreviousBalance minus Paid.
	PreviousBalance, Paid, RemainingBalance Decimal
}

// Payment is a payment, stamped unless it was only recorded: then UUID is empty.
type Payment struct {
	// PaymentID is the provider's own id of the payment, ID that of its document.
	PaymentID, ID, UUID string
	// Status is the provider's word, as given.
	Status         string
	Series, Folio  string
	Total          Decimal
	Currency       string
	StampedAt      string
	IdempotencyKey string
	Replayed       bool
	RequestID      string
	Raw            json.RawMessage
}

// Create records a payment once, and stamps it if StampNow is set. See [Invoices.Create].
func (s *Payments) Create(ctx context.Context, params *PaymentParams, options ...CallOption) (*Payment, error) {
	if params == nil {
		return nil, s.client.refuseNil(PaymentCreate, "params")
	}
	doc, err := s.client.write(ctx, &Operation{Name: PaymentCreate, Payment: params}, params, options)
	return asPayment(doc), err.orNil()
}

// Stamp stamps a recorded payment once, under a key of its own. See [Invoices.Create].
func (s *Payments) Stamp(ctx context.Context, paymentID string, options ...CallOption) (*Payment, error) {
	if paymentID == "" {
		return nil, s.client.refusal(PaymentStamp, "", "paymentID is empty", nil).orNil()
	}
	doc, err := s.client.write(ctx, &Operation{Name: PaymentStamp, PaymentID: paymentID}, paymentID, options)
	return asPayment(doc), err.orNil()
}

// Cancel asks for the cancellation of a payment once, under a key of its own. See [Invoices.Create].
func (s *Payments) Cancel(ctx context.Context, params *CancelParams, options ...CallOption) (*Cancellation, error) {
	if params == nil {
		return nil, s.client.refuseNil(PaymentCancel, "params")
	}
	doc, err := s.client.write(ctx, &Operation{Name: PaymentCancel, Cancel: params}, params, options)
	return asCancellation(doc), err.orNil()
}

// Reconcile finds out what became of the key of a Create or a Stamp. See [Client.Reconcile].
func (s *Payments) Reconcile(ctx context.Context, key string, options ...CallOption) (*Payment, error) {
	doc, err := s.client.reconcile(ctx, PaymentCreate, key, options)
	return asPayment(doc), err.orNil()
}

// Await reconciles until the outcome is known. See [Invoices.Await].
func (s *Payments) Await(ctx context.Context, key string, options ...CallOption) (*Payment, error) {
	doc, err := s.client.await(ctx, PaymentCreate, key, options)
	return asPayment(doc), err.orNil()
}
