package unavez

import (
	"bytes"
	"encoding/json"
)

// document is what a provider answered, read member by member: what proves success first, and nothing that proves nothing
// can spoil it.
type document struct {
	operation OperationName
	fields    documentFields
	key       string
	replayed  bool
	requestID string
	raw       json.RawMessage
}

type documentFields struct {
	id, paymentID, uuid, status, series, folio, total, currency, stampedAt string

	idIsNumber bool
}

// Outcome is what became of an operation of any kind. One of the pointers is set, by the kind of the operation; an
// operation of [Client.Do] sets Invoice.
type Outcome struct {
	// Operation is the name of the operation, for instance "invoices.create".
	Operation    string
	Invoice      *Invoice
	Payment      *Payment
	Retention    *Retention
	Payout       *Payout
	Cancellation *Cancellation
	// IdempotencyKey is the key of the operation.
	IdempotencyKey string
	// Raw is the provider's answer, or the row of its list, byte for byte.
	Raw json.RawMessage
}

// readDocument reads what fields says of a JSON object, in one pass.
func (f *Fields) readDocument(object Object) documentFields {
	var d documentFields
	slots := [...]slot{
		{names: f.UUID, text: &d.uuid, accepts: isUUID},
		{names: f.ID, text: &d.id},
		{names: f.PaymentID, text: &d.paymentID, onlyText: true},
		{names: f.Status, text: &d.status, onlyText: true},
		{names: f.Series, text: &d.series},
		{names: f.Folio, text: &d.folio},
		{names: f.Total, text: &d.total},
		{names: f.Currency, text: &d.currency},
		{names: f.StampedAt, text: &d.stampedAt},
	}
	for name, value := range object.members {
		for i := range slots {
			slots[i].offer(object, name, value)
		}
	}
	d.idIsNumber = d.id != "" && slots[1].isNumber
	return d
}

// namesAnotherKey reports a member for the key that holds anything but this key. One that is absent or null says nothing.
func (f *Fields) namesAnotherKey(object Object, key string) bool {
	for _, name := range f.Key {
		if object.Has(name) && object.Get(name) != "null" && object.Text(name) != key {
			return true
		}
	}
	return false
}

// slot takes the text of the first of its names that has one.
type slot struct {
	names    []string
	text     *string
	accepts  func(text string) bool
	onlyText bool // a number is no status word
	isNumber bool
	rank     int // one more than the index of the name that was taken
}

func (s *slot) offer(object Object, quoted, value string) {
	for i, name := range s.names {
		switch {
		case s.rank != 0 && i >= s.rank:
			return
		case !isNamed(quoted, name):
			continue
		}
		text := object.textOf(value)
		isNumber := value[0] != '"'
		if isNumber && s.onlyText {
			text = ""
		}
		if s.accepts != nil && !s.accepts(text) {
			text = ""
		}
		if i+1 == s.rank {
			*s.text = "" // the same member twice says nothing
		} else if text != "" {
			*s.text, s.rank, s.isNumber = text, i+1, isNumber
		}
		return
	}
}

// uuid returns the first member that is a well-formed UUID: anything else proves nothing.
func (f *Fields) uuid(object Object) string {
	for _, name := range f.UUID {
		if text := object.Text(name); isUUID(text) {
			return text
		}
	}
	return ""
}

// proves reports whether the fields hold what the proof asks for.
func (d *documentFields) proves(proof Proof) bool {
	switch proof {
	case ProofUUID:
		return d.uuid != ""
	case ProofPaymentID:
		return d.paymentID != "" || d.uuid != ""
	case ProofIDAndStatus:
		return d.id != "" && !d.idIsNumber && d.status != ""
	case ProofObject:
		return true
	}
	return false
}

// isUUID reports hexadecimal digits in groups of 8-4-4-4-12, in either case.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// evidenceUUID finds a UUID that an answer shows without proving anything: as a member, or inside the XML of a stamp.
func evidenceUUID(fields *Fields, object Object, body []byte) string {
	if uuid := fields.uuid(object); uuid != "" {
		return uuid
	}
	if inner, ok := object.Object("data"); ok {
		if uuid := fields.uuid(inner); uuid != "" {
			return uuid
		}
	}
	for _, quote := range [...]string{`UUID="`, `UUID=\"`} {
		_, after, found := bytes.Cut(body, []byte(quote))
		if found && len(after) >= 36 && isUUID(string(after[:36])) {
			return string(after[:36])
		}
	}
	return ""
}

func (d *document) clone() *document {
	if d == nil {
		return nil
	}
	twin := *d
	twin.raw = bytes.Clone(d.raw)
	return &twin
}

// total returns a number that is not a decimal literal as empty: it proves nothing and must not look like an amount.
func (d *documentFields) decimalTotal() Decimal {
	total := Decimal(d.total)
	if total.Validate() != nil {
		return ""
	}
	return total
}

func asInvoice(d *document) *Invoice {
	if d == nil {
		return nil
	}
	f := &d.fields
	return &Invoice{
		ID: f.id, UUID: f.uuid, Status: f.status, Series: f.series, Folio: f.folio, Total: f.decimalTotal(), Currency: f.currency,
		StampedAt: f.stampedAt, IdempotencyKey: d.key, Replayed: d.replayed, RequestID: d.requestID, Raw: d.raw,
	}
}

func asPayment(d *document) *Payment {
	if d == nil {
		return nil
	}
	f := &d.fields
	return &Payment{
		PaymentID: f.paymentID, ID: f.id, UUID: f.uuid, Status: f.status, Series: f.series, Folio: f.folio, Total: f.decimalTotal(),
		Currency: f.currency, StampedAt: f.stampedAt, IdempotencyKey: d.key, Replayed: d.replayed, RequestID: d.requestID, Raw: d.raw,
	}
}

func asRetention(d *document) *Retention {
	if d == nil {
		return nil
	}
	f := &d.fields
	return &Retention{
		ID: f.id, UUID: f.uuid, Status: f.status, StampedAt: f.stampedAt,
		IdempotencyKey: d.key, Replayed: d.replayed, RequestID: d.requestID, Raw: d.raw,
	}
}

func asPayout(d *document) *Payout {
	if d == nil {
		return nil
	}
	return &Payout{
		ID: d.fields.id, Status: d.fields.status,
		IdempotencyKey: d.key, Replayed: d.replayed, RequestID: d.requestID, Raw: d.raw,
	}
}

func asCancellation(d *document) *Cancellation {
	if d == nil {
		return nil
	}
	return &Cancellation{
		ID: d.fields.id, UUID: d.fields.uuid, Status: d.fields.status,
		IdempotencyKey: d.key, Replayed: d.replayed, RequestID: d.requestID, Raw: d.raw,
	}
}

func asOutcome(d *document) *Outcome {
	if d == nil {
		return nil
	}
	outcome := &Outcome{Operation: string(d.operation), IdempotencyKey: d.key, Raw: d.raw}
	switch d.operation {
	case PaymentCreate, PaymentStamp:
		outcome.Payment = asPayment(d)
	case RetentionCreate:
		outcome.Retention = asRetention(d)
	case PayoutCreate:
		outcome.Payout = asPayout(d)
	case InvoiceCancel, PaymentCancel:
		outcome.Cancellation = asCancellation(d)
	default:
		outcome.Invoice = asInvoice(d)
	}
	return outcome
}
