package sandbox

import (
	"net/http"
	"time"
)

// Provider names one of the four APIs.
type Provider string

// The providers that a Server stands in for.
const (
	Facty       Provider = "facty"
	Ipsofactura Provider = "ipsofactura"
	Fiscalisto  Provider = "fiscalisto"
	Payouts     Provider = "payouts"
)

// Operation names what a write does.
type Operation string

// The operations of the ledger. A Fiscalisto path other than /v1/invoices is an
// operation named after the path, for instance "credit_notes".
const (
	OpInvoice      Operation = "invoice"       // Facty /invoices, Ipsofactura /cfdi/timbrar, Fiscalisto /v1/invoices
	OpXML          Operation = "xml"           // Ipsofactura /cfdi/timbrar-xml
	OpSealedXML    Operation = "sealed-xml"    // Ipsofactura /cfdi/timbrar-sellado
	OpPayment      Operation = "payment"       // Facty /payments, Ipsofactura /cfdi/complemento-pago
	OpPaymentStamp Operation = "payment-stamp" // Facty /payments/{id}/stamp
	OpRetention    Operation = "retention"     // Facty /retenciones
	OpCancel       Operation = "cancel"        // cancelling an invoice or a payment
	OpPayout       Operation = "payout"        // payouts /v1/payouts
)

// A dialect is one provider's page in code. The methods that take a time run
// with the server's mutex held; that time is when the thing happens, which for
// slow work is earlier than the moment in which it is noticed.
type dialect interface {
	// credential returns the API key that a request presents, or "".
	credential(r *http.Request) string

	// key returns the idempotency key that a request carries, or "". The
	// members are those of its body, nil while the body is unread.
	key(r *http.Request, members object) string

	// problem puts an error into the provider's envelope.
	problem(p problem) answer

	// begin takes the write's key, or answers what a key that is already taken,
	// or not valid, is answered.
	begin(w *write, at time.Time) (answer, bool)

	// finish carries out a write that began, in the way the outcome says.
	finish(w *write, o outcome, at time.Time) answer
}

// A holder keeps the key of a request that was cut before any answer.
type holder interface {
	hold(w *write, at time.Time)
	cut(w *write, at time.Time)
}

// A problem is an error before it has a provider's envelope around it.
type problem struct {
	status  int
	code    string
	message string
	fields  map[string]string // Facty: path of a member to what is wrong with it
	header  http.Header       // sent as it is
}

// A write is one POST as its provider sees it.
type write struct {
	op      Operation
	account string // scope of the key
	key     string // as the client gave it, or ""
	path    string // with its query
	target  string // the document that the path names
	method  string
	body    []byte
	members object // of the body
	valid   bool   // the body is one JSON object
	header  http.Header

	record *record   // the key's, once the write began
	doc    *document // the document, once the write began
}

// A query is one GET as its provider sees it.
type query struct {
	account    string
	target     string // the document that the path names
	filter     map[string]string
	everything bool      // the filter is ignored
	asOf       time.Time // what was committed later is not seen
	forced     bool      // Facty: ask SAT itself
}

// A finder answers a query, with the server's mutex held.
type finder func(q *query, at time.Time) answer
