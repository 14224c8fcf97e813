package unavez

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sentinels for [errors.Is]. Every error of a write matches exactly one of the first three.
var (
	// ErrRefused matches every error with the disposition [Refused].
	ErrRefused = errors.New("unavez: refused")
	// ErrRetryLater matches every error with the disposition [RetryLater].
	ErrRetryLater = errors.New("unavez: retry later")
	// ErrNeedsManualReview matches every error with the disposition [NeedsManualReview].
	ErrNeedsManualReview = errors.New("unavez: needs manual review")

	// ErrOutcomeUnknown matches when an answer was lost, so that a write may have been executed and nobody can know yet. That an error
	// does not match it does not say the reverse (a pending document was answered for): [Error.Effect] tells what is known.
	ErrOutcomeUnknown = errors.New("unavez: outcome unknown")
	// ErrKeyReused matches when a key was already used for a request with other bytes.
	ErrKeyReused = errors.New("unavez: idempotency key reused with another request")
	// ErrNoIdempotencyKey matches when a write has neither a key nor a domain id to derive one from.
	ErrNoIdempotencyKey = errors.New("unavez: no idempotency key")
	// ErrKeyInvalid matches when a key does not fit the provider's rule for keys.
	ErrKeyInvalid = errors.New("unavez: idempotency key invalid")
	// ErrUnauthorized matches when the provider refused the credentials or the rights of the account.
	ErrUnauthorized = errors.New("unavez: unauthorized")
	// ErrInsufficientBalance matches when the account has no stamps or no funds left.
	ErrInsufficientBalance = errors.New("unavez: insufficient balance")
	// ErrNotFound matches when a read (Get, Find) found no such document.
	ErrNotFound = errors.New("unavez: not found")
	// ErrNotRecorded matches when the journal could not keep what happened. A document that comes with it exists.
	ErrNotRecorded = errors.New("unavez: outcome not recorded in the journal")
)

// Error is the error of every call of a [Client]. Find it with [errors.As]; ask what it means with [errors.Is]
// and the sentinels of this package, or read its Disposition.
//
// The text of Error holds the SDK's own words and the provider's code. It never holds a key, a body, a name, an RFC,
// an amount or a secret. Message and FieldErrors are the provider's words and may hold personal data:
// show them to the person concerned, do not log them.
type Error struct {
	// Op is the operation, for instance "invoices.create".
	Op string
	// Provider is the name of the provider, for instance "facty".
	Provider string
	// Key is the idempotency key of the operation. Keep it: it is the way back to the outcome.
	Key string

	// Disposition is what the error asks of the caller.
	Disposition Disposition
	// Reason says why a person must look. It is empty unless Disposition is NeedsManualReview.
	Reason Reason
	// Effect is what is known to have happened, over all attempts of the operation.
	Effect Effect
	// Next is the step that may be taken, and with which key.
	Next Next

	// RetryAfter is how long to wait before the same key is tried again; zero if waiting does not help.
	RetryAfter time.Duration
	// RetryAt is the moment that RetryAfter ends, by the local clock; the zero time if RetryAfter is zero.
	RetryAt time.Time

	// HTTPStatus is the status of the last answer, 0 if none came.
	HTTPStatus int
	// Status is the provider's status word of the last answer, as found: for instance the one that made a row ReasonUnknownStatus.
	Status string
	// Code is the provider's own error code of the last answer, as found.
	Code string
	// Message is the provider's own message of the last answer. It may hold personal data.
	Message string
	// RequestID is the provider's id of the last answered request, for its support.
	RequestID string
	// FieldErrors are the provider's messages per field of the body, which may hold personal data; or, for a call that was refused
	// before anything was sent, what is wrong with which Go field.
	FieldErrors map[string]string
	// UUID is a fiscal UUID that an answer showed without proving that it is the document of this key: evidence for a person.
	UUID string
	// UUIDs are the fiscal UUIDs of all documents that the provider lists under this key, for ReasonDuplicate.
	UUIDs []string

	// Attempts lists every write that was tried and every lookup, in order.
	Attempts []Attempt
	// Err is the cause, where there is one that a caller may match: a context error, a network error, a [*FieldError],
	// [errors.ErrUnsupported].
	Err error

	// detail is what was expected and what was found, in the SDK's own words.
	detail string
	// says restates what the provider's page says about this answer.
	says string
	// isHeld says that somebody else is at work on the key, so that asking again makes sense.
	isHeld bool
	// marks are the sentinels beyond the disposition that the error matches.
	marks []error
}

// Attempt is one request that the client tried to put on the wire.
type Attempt struct {
	// Number counts from 1 over writes and lookups of the operation.
	Number int
	// Kind tells a write from a lookup.
	Kind AttemptKind
	// At is when the attempt began, Duration how long it took.
	At       time.Time
	Duration time.Duration
	// Waited is how long the client had waited before it.
	Waited time.Duration
	// Effect is what is known of this attempt alone. A lookup is always NotExecuted: it changes nothing.
	Effect Effect
	// HTTPStatus is 0 if no answer came.
	HTTPStatus int
	// Code and RequestID are the provider's, as found.
	Code, RequestID string
	// Err is the transport's error, nil if an answer came.
	Err error
}

// AttemptKind tells what an attempt was for.
type AttemptKind string

const (
	// AttemptWrite may stamp or pay.
	AttemptWrite AttemptKind = "write"
	// AttemptLookup only asks.
	AttemptLookup AttemptKind = "lookup"
)

// Error returns what happened in the SDK's own words, with the provider's code if it looks like a code.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("unavez: ")
	if e.Op != "" {
		b.WriteString(e.Op)
		if e.Provider != "" {
			b.WriteString(" at " + e.Provider)
		}
		b.WriteString(": ")
	}
	b.WriteString(strings.ReplaceAll(string(e.Disposition), "_", " "))
	for _, mark := range e.marks {
		b.WriteString(": " + strings.TrimPrefix(mark.Error(), "unavez: "))
	}
	if e.Reason != "" && e.Reason != ReasonKeyReused && e.Reason != ReasonOutcomeUnknown { // their sentinels say it
		b.WriteString(": " + strings.ReplaceAll(string(e.Reason), "_", " "))
	}
	if e.detail != "" {
		b.WriteString(": " + e.detail)
	}
	e.writeAnswer(&b)
	return b.String()
}

func (e *Error) writeAnswer(b *strings.Builder) {
	if e.HTTPStatus != 0 {
		b.WriteString(": status " + strconv.Itoa(e.HTTPStatus))
		if isToken(e.Code) {
			b.WriteString(" " + e.Code)
		}
	}
	if n := len(e.Attempts); n > 1 {
		b.WriteString(" after " + strconv.Itoa(n) + " requests")
	}
	if e.RetryAfter > 0 {
		b.WriteString(", retry after " + e.RetryAfter.Round(time.Second).String())
	}
	if e.Next != "" {
		b.WriteString(", next: " + strings.ReplaceAll(string(e.Next), "_", " "))
	}
}

// Is reports whether target is the sentinel of e's disposition or one of its further marks.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrRefused:
		return e.Disposition == Refused
	case ErrRetryLater:
		return e.Disposition == RetryLater
	case ErrNeedsManualReview:
		return e.Disposition == NeedsManualReview
	}
	return slices.Contains(e.marks, target)
}

// Unwrap returns the cause, so that [errors.Is] finds context.DeadlineExceeded and its like.
func (e *Error) Unwrap() error { return e.Err }

// Explain tells a person at night what is known, what the provider's page says and what may be done next, in a few
// lines of plain English. Like the text of Error it holds no personal datum and no secret.
func (e *Error) Explain() string {
	lines := make([]string, 0, 6)
	lines = append(lines, "What is known: "+e.explainKnown())
	if e.Reason != "" {
		lines = append(lines, "Why a person: "+e.explainReason())
	}
	if e.says != "" {
		lines = append(lines, "The rule: "+e.says)
	}
	if e.detail != "" {
		lines = append(lines, "In detail: "+e.detail)
	}
	if len(e.FieldErrors) > 0 {
		lines = append(lines, "Which fields: FieldErrors and Message of the error name them.")
	}
	if len(e.UUIDs) > 0 {
		lines = append(lines, "Listed under this key: "+strings.Join(e.UUIDs, ", "))
	}
	next := "Next: " + e.explainNext()
	if e.RetryAfter > 0 {
		next += " Wait " + e.RetryAfter.Round(time.Second).String() + " first."
	}
	return strings.Join(append(lines, next), "\n")
}

func (e *Error) mark(sentinel error) {
	if sentinel != nil && !slices.Contains(e.marks, sentinel) {
		e.marks = append(e.marks, sentinel)
	}
}

// isToken reports whether text looks like a code and not like a sentence: only such a code is printed.
func isToken(text string) bool {
	if text == "" || len(text) > 64 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if !standsForItself(c) || c == '/' {
			return false
		}
	}
	return true
}
