package unavez

import (
	"encoding/json"
	"net/http"
	"time"
)

// Provider is one API. The packages below providers/ implement it as struct literals; docs/adding-a-provider.md
// shows how to write another.
//
// A Provider knows no retry: it describes itself, and turns an operation into a request. What its answers
// mean is data in its [Profile]. A Provider must be safe for concurrent use.
type Provider interface {
	// Profile describes the API for one environment, which is empty if the caller named none. [New] calls it once. The
	// error names the field of the configuration that is missing or wrong, and never a secret.
	Profile(environment Environment) (Profile, error)
	// Encode turns an operation into its request, once per operation. An operation that the API lacks is
	// [errors.ErrUnsupported]; a parameter that it cannot carry is refused with [Unsupported], naming the field.
	Encode(operation *Operation) (Request, error)
}

// Finder is a [Provider] that documents a way to find out what became of a write, or to read a document.
type Finder interface {
	Provider
	// EncodeLookup turns a query into a GET request. A query that the API cannot answer is [errors.ErrUnsupported].
	EncodeLookup(query Query) (Request, error)
}

// Profile is what a client has to know about an API: data that a reader can hold beside the provider's page.
type Profile struct {
	// Name is the provider's name in errors, events and the journal.
	Name string
	// Account tells accounts of the provider apart in the journal. It must not hold a secret.
	Account string
	// BaseURL is the address that every path is relative to: https, or http to a loopback host.
	BaseURL string
	// Header is sent with every request: the credentials.
	Header http.Header
	// Key is the provider's rule for idempotency keys.
	Key KeyRule
	// ReplayedHeader is the response header that marks a repeated answer; empty if there is none.
	ReplayedHeader string
	// Operations are the writes that the provider supports, with the rules that differ between them.
	Operations map[OperationName]OperationRules
	// Rules are the provider's own rows, before the ones that hold for every provider.
	Rules []Rule
	// Envelope says where an error answer holds what.
	Envelope Envelope
	// Document says where a good answer, or a row of a list, holds what.
	Document Fields
	// InFlightFor is how long a request that was cut stays in flight at the provider; zero if its page does not say.
	InFlightFor time.Duration
}

// Ambiguity is what a provider documents for a write whose outcome nobody knows.
type Ambiguity uint8

const (
	// AmbiguityStop: nothing is documented, so nothing is sent.
	AmbiguityStop Ambiguity = iota
	// AmbiguityResend: the same request under the same key is safe.
	AmbiguityResend
	// AmbiguityLookUp: ask first.
	AmbiguityLookUp
)

// OperationRules are the rules that differ between the operations of one provider.
type OperationRules struct {
	// Ambiguity is what follows a write with an unknown outcome.
	Ambiguity Ambiguity
	// Retention is how long the provider remembers the key, and so how long a resend is protected. [Forever] if it
	// never forgets. It must not be zero unless Ambiguity is AmbiguityStop.
	Retention time.Duration
	// EmptyProves says that an empty list is documented as "never arrived".
	EmptyProves bool
	// FailedNext is the step after a row of a lookup that says failed, FailedHint what a person must know to take it. Empty where the
	// page lists no such word.
	FailedNext Next
	FailedHint string
	// Hint is a sentence for a person when the outcome stays unknown, for instance where to look.
	Hint string
}

// Operation is one write, given to [Provider.Encode]. Exactly one of the pointers is set, the one that Name asks for.
type Operation struct {
	Name OperationName
	// Key is the idempotency key, for providers that carry it in the body.
	Key string

	Invoice   *InvoiceParams
	StampXML  *StampXMLParams
	Cancel    *CancelParams
	Payment   *PaymentParams
	PaymentID string
	Retention *RetentionParams
	Payout    *PayoutParams
	Raw       *RawParams
}

// Query asks what became of a write, or for a document. The fields that are set say by what.
type Query struct {
	// Operation is the write that is asked about; empty for a plain read.
	Operation OperationName
	// Key is the idempotency key that is asked about; empty for a plain read.
	Key string
	// Reference is an identity of the document.
	Reference InvoiceRef
	// Path and Body are those of the recorded write, if the journal has them.
	Path string
	Body []byte
}

// Request is what a provider makes of an operation or a query. The client adds the headers of the [Profile] and the key.
type Request struct {
	// Method is POST for a write and GET for a lookup, unless the provider's page says otherwise.
	Method string
	// Path begins with a slash and is relative to the base URL; every element of it is escaped. A query may follow.
	Path string
	// Body is the exact body. A write always has one.
	Body []byte
	// Proof is what a 2xx answer must hold to count as success.
	Proof Proof
	// RetriesFailed says that the caller decided to try a key again that the provider booked as failed.
	RetriesFailed bool
	// Rows says how to read the answer of a lookup.
	Rows Rows
}

// Proof is what a 2xx answer must hold to count as success.
type Proof string

const (
	// ProofUUID: a well-formed fiscal UUID.
	ProofUUID Proof = "uuid"
	// ProofPaymentID: the id of a payment that is recorded and not stamped.
	ProofPaymentID Proof = "payment_id"
	// ProofIDAndStatus: an id together with a status word, as a payout has.
	ProofIDAndStatus Proof = "id_and_status"
	// ProofObject: any JSON object, where the page shows no more.
	ProofObject Proof = "object"
)

// Envelope says where an error answer holds what. Each is a path of member names: {"error", "code"} is the member code
// of the member error. Empty paths are never found.
type Envelope struct {
	Code, Message, RequestID, FieldErrors, RetryAfter []string
	// RequestIDHeader is the response header with the request's id.
	RequestIDHeader string
}

// Fields says where a document holds what: each is a list of member names, of which the first that has a text counts.
type Fields struct {
	ID, PaymentID, UUID, Status, Series, Folio, Total, Currency, StampedAt, Key []string
}

// Rows says how the answer of a lookup is read. Nothing is adopted that does not echo what was asked.
type Rows struct {
	// Lists are the members that may hold the array of rows. An empty name stands for an answer that is the array itself.
	Lists []string
	// Single says that an object without a list is itself the one row.
	Single bool
	// Echo is what a row must repeat to be the one that was asked for.
	Echo []Echo
	// Words are the status words that the page lists for a row. A nil map means that no words are documented and
	// the proof alone decides; otherwise a word that is not listed is never guessed at.
	Words map[string]RowState
	// Proof is what a row must hold to be the document.
	Proof Proof
	// MayBeAbsent says that a 404 means the same as an empty list.
	MayBeAbsent bool
	// FailedMayBeOld says that the write asks to try a failed key again, so that a row which says failed may be from before it.
	FailedMayBeOld bool
}

// Echo is a member of a row and the text that it must equal. Numbers compare by their literal.
type Echo struct {
	Member, Want string
	// WhenPresent lets a row pass that does not have the member.
	WhenPresent bool
}

// RowState is what a status word in a row means.
type RowState string

const (
	// RowDone: the document exists.
	RowDone RowState = "done"
	// RowPending: still in flight.
	RowPending RowState = "pending"
	// RowFailed: nothing was issued.
	RowFailed RowState = "failed"
	// RowProvesNothing: the word is listed and says nothing about the write.
	RowProvesNothing RowState = "proves_nothing"
)

// Answer is what came back, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Truncated says that the body could not be read to its end, or is longer than the client reads.
	Truncated bool
}

// RawParams is an operation that the SDK has no types for: the escape for a provider's further writes, with the same
// guarantees as every other operation.
type RawParams struct {
	// Operation names the write in errors and in the journal, for instance "credit_notes.create". It must not be empty, nor
	// the name of one of the SDK's own operations.
	Operation OperationName
	// Path is the path below the provider's base URL, for instance "/v1/credit-notes".
	Path string
	// Raw is the whole body, one JSON object, sent byte for byte.
	Raw json.RawMessage
}
