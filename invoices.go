package unavez

import (
	"context"
	"encoding/json"
)

// Invoices stamps, cancels, reads and reconciles invoices (CFDI of type I, E and T). It is safe for concurrent use.
type Invoices struct{ client *Client }

// InvoiceType is SAT's c_TipoDeComprobante of an invoice.
type InvoiceType string

// The types of invoice. Payment complements have their own service.
const (
	// Income is an invoice for a sale.
	Income InvoiceType = "I"
	// Expense is a credit note.
	Expense InvoiceType = "E"
	// Transfer moves goods without a sale.
	Transfer InvoiceType = "T"
)

// InvoiceParams is one invoice. Texts are UTF-8, amounts are decimal literals in units of Currency, and codes are those of
// SAT's catalogues; nothing is trimmed, upper-cased or rounded. What the chosen provider cannot carry is refused by
// the name of the field before anything is sent.
type InvoiceParams struct {
	// Type is Income, Expense or Transfer. Empty means Income.
	Type InvoiceType
	// Issuer is the issuer's RFC, where the account does not imply it.
	Issuer string
	// Series and Folio are the caller's own numbering. They are texts: folio "007" is not 7.
	Series, Folio string
	// Customer receives the invoice.
	Customer Customer
	// CFDIUse is a code of c_UsoCFDI, for instance "G03".
	CFDIUse string
	// PaymentForm is a code of c_FormaPago, for instance "03". It is "99" when PaymentMethod is PPD.
	PaymentForm string
	// PaymentMethod is "PUE" (one payment) or "PPD" (partial or later).
	PaymentMethod string
	// Currency is an ISO 4217 code. Empty means MXN.
	Currency string
	// ExchangeRate is pesos per unit of Currency. It is needed unless Currency is MXN.
	ExchangeRate Decimal
	// Export is a code of c_Exportacion, for instance "01".
	Export string
	// Items are the lines of the invoice.
	Items []Item
	// Related are the documents that this one refers to, as a credit note must.
	Related []Relation
	// Global makes this a global invoice to the general public.
	Global *GlobalInfo
	// AllowRetryOnFailed says that a person decided to try a key again which Facty booked as failed. Never set it in a loop. To
	// the journal the same invoice without it is no other request: an outcome that is open is found out either way, a document is
	// answered, and no call carries out a decision that it has not made.
	AllowRetryOnFailed bool
	// Extra are the provider's own fields, merged into its body. A member that a typed field already fills, or the key, is refused. Numbers
	// are integers, json.Number or Decimal; floating-point values are refused.
	Extra map[string]any
	// Raw is the whole body, already in the provider's form: one JSON object, sent byte for byte. Only the key is added,
	// where it travels in the body. No other field may be set beside it.
	Raw json.RawMessage
}

// Customer is the receiver of an invoice: by the provider's ID of it, or with its data as SAT has them.
type Customer struct {
	// ID is the provider's own id of a stored customer.
	ID string
	// RFC, LegalName, TaxRegime (c_RegimenFiscal) and PostalCode (five digits) must be as in the receiver's tax certificate.
	RFC, LegalName, TaxRegime, PostalCode string
	// Email is where the provider sends the invoice, if it does.
	Email string
}

// Item is one line.
type Item struct {
	// ProductID is the provider's own id of a stored product. The other fields then describe the sale, not the product.
	ProductID string
	// ProductKey is a code of c_ClaveProdServ, UnitKey of c_ClaveUnidad. SKU is the caller's own number.
	ProductKey, UnitKey, SKU, Description string
	// Quantity is more than zero. UnitPrice and Discount are in units of the invoice's currency, without taxes.
	Quantity, UnitPrice, Discount Decimal
	// TaxObject is a code of c_ObjetoImp, for instance "02".
	TaxObject string
	// Taxes are those of this line.
	Taxes []Tax
}

// Tax is one tax of a line.
type Tax struct {
	// Type is a code of c_Impuesto: "001" ISR, "002" IVA, "003" IEPS.
	Type string
	// Factor is "Tasa", "Cuota" or "Exento". Empty means Tasa.
	Factor string
	// Rate is a fraction: "0.16", not 16.
	Rate Decimal
	// Withheld says that the receiver keeps the tax back.
	Withheld bool
}

// Relation names earlier documents and what they have to do with this one.
type Relation struct {
	// Type is a code of c_TipoRelacion: "01" for a credit note.
	Type string
	// UUIDs are the fiscal UUIDs of the related documents.
	UUIDs []string
}

// GlobalInfo is the period of a global invoice.
type GlobalInfo struct {
	// Periodicity is a code of c_Periodicidad, Months of c_Meses.
	Periodicity, Months string
	// Year has four digits.
	Year int
}

// StampXMLParams is an invoice that is already a CFDI 4.0 XML.
type StampXMLParams struct {
	// XML is the document, byte for byte.
	XML []byte
	// Sealed says that it carries the issuer's seal already.
	Sealed bool
	// Extra are the provider's own fields. See [InvoiceParams].
	Extra map[string]any
}

// CancelParams is the cancellation of an invoice or a payment.
type CancelParams struct {
	// ID is the provider's own id of the document, UUID its fiscal UUID. Which of them is needed depends on the provider.
	ID, UUID string
	// Motive is SAT's code: "01" errors, replaced by another document; "02" errors, not replaced; "03" did not happen; "04"
	// nominative operation inside a global invoice.
	Motive string
	// SubstituteUUID is the replacing document. It goes with motive 01 and with no other.
	SubstituteUUID string
	// Extra and Raw: see [InvoiceParams].
	Extra map[string]any
	Raw   json.RawMessage
}

// InvoiceRef is an identity of an invoice: the provider's id, the fiscal UUID, or issuer, series and folio.
type InvoiceRef struct{ ID, UUID, Issuer, Series, Folio string }

// Invoice is a stamped invoice, as the provider answered it. Fields that the answer lacks are empty.
type Invoice struct {
	// ID is the provider's own id, UUID the fiscal UUID (folio fiscal).
	ID, UUID string
	// Status is the provider's word, as given.
	Status string
	// Series, Folio, Total, Currency and StampedAt are as given; StampedAt usually has no zone.
	Series, Folio string
	Total         Decimal
	Currency      string
	StampedAt     string
	// IdempotencyKey is the key of the operation.
	IdempotencyKey string
	// Replayed says that the provider marked the answer as a repeated one.
	Replayed bool
	// RequestID is the provider's id of the request, for its support.
	RequestID string
	// Raw is the provider's answer, or the row of its list, byte for byte.
	Raw json.RawMessage
}

// Cancellation is an accepted request to cancel. It does not say that SAT has cancelled: the receiver may have to agree.
type Cancellation struct {
	ID, UUID string
	// Status is the provider's word, as given.
	Status         string
	IdempotencyKey string
	Replayed       bool
	RequestID      string
	Raw            json.RawMessage
}

// Create stamps an invoice once. The key comes from [WithIdempotencyKey] or [WithDomainID]. The error is always an [*Error].
//
// Calling Create again with the same record and the same params is the intended way on after [RetryLater], and harmless at any
// time: a finished key answers from the journal, an unresolved one is found out first, and one that a person must look at
// sends nothing.
//
// A nil error means that the invoice exists at the provider, stamped now or by an earlier call with the same key. Other params under a
// key are [ErrKeyReused], as far as the journal reaches back; where it has lost the key, the provider answers, and one that
// compares no bodies (Facty; Fiscalisto after 24 h) answers the invoice of the earlier params.
//
// With the default options a call at a provider that stays silent takes up to five attempts of 30 s and 15 s of waits; bound it
// with ctx, [WithTimeout], [WithMaxAttempts] or [WithMaxWait].
//
// If the journal could not keep it, the invoice comes together with an error that matches [ErrNotRecorded].
func (s *Invoices) Create(ctx context.Context, params *InvoiceParams, options ...CallOption) (*Invoice, error) {
	if params == nil {
		return nil, s.client.refuseNil(InvoiceCreate, "params")
	}
	doc, err := s.client.write(ctx, &Operation{Name: InvoiceCreate, Invoice: params}, params, options)
	return asInvoice(doc), err.orNil()
}

// StampXML stamps a CFDI 4.0 XML once. See [Invoices.Create].
func (s *Invoices) StampXML(ctx context.Context, params *StampXMLParams, options ...CallOption) (*Invoice, error) {
	if params == nil {
		return nil, s.client.refuseNil(InvoiceStampXML, "params")
	}
	doc, err := s.client.write(ctx, &Operation{Name: InvoiceStampXML, StampXML: params}, params, options)
	return asInvoice(doc), err.orNil()
}

// Cancel asks for the cancellation of an invoice once. It has a key of its own, not the key of the invoice. See [Invoices.Create].
func (s *Invoices) Cancel(ctx context.Context, params *CancelParams, options ...CallOption) (*Cancellation, error) {
	if params == nil {
		return nil, s.client.refuseNil(InvoiceCancel, "params")
	}
	doc, err := s.client.write(ctx, &Operation{Name: InvoiceCancel, Cancel: params}, params, options)
	return asCancellation(doc), err.orNil()
}

// Get reads the invoice with the provider's id. A missing one is [Refused] and matches [ErrNotFound].
func (s *Invoices) Get(ctx context.Context, id string, options ...CallOption) (*Invoice, error) {
	return s.Find(ctx, InvoiceRef{ID: id}, options...)
}

// Find reads the invoice with the given identity, whatever its status. The answer must repeat the identity, else it is
// not adopted. A missing one is [Refused] and matches [ErrNotFound].
func (s *Invoices) Find(ctx context.Context, reference InvoiceRef, options ...CallOption) (*Invoice, error) {
	doc, err := s.client.find(ctx, reference, options)
	return asInvoice(doc), err.orNil()
}

// Reconcile finds out what became of the key, in the way that the provider documents, and stamps nothing that was not asked
// for under this very key. See [Client.Reconcile].
func (s *Invoices) Reconcile(ctx context.Context, key string, options ...CallOption) (*Invoice, error) {
	doc, err := s.client.reconcile(ctx, InvoiceCreate, key, options)
	return asInvoice(doc), err.orNil()
}

// Await reconciles the key again and again, with the waits of the client or those that the provider asks for, until
// the outcome is known, a person is needed, or ctx ends.
func (s *Invoices) Await(ctx context.Context, key string, options ...CallOption) (*Invoice, error) {
	doc, err := s.client.await(ctx, InvoiceCreate, key, options)
	return asInvoice(doc), err.orNil()
}
