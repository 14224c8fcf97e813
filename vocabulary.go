package unavez

import (
	"math"
	"strings"
	"time"
)

// Effect is what is known to have happened at the provider.
type Effect string

// The effects, from the harmless to the one that nobody can know yet.
const (
	// NotSent: no byte of the request reached the provider.
	NotSent Effect = "not_sent"
	// NotExecuted: the provider answered, and nothing was stamped or paid.
	NotExecuted Effect = "not_executed"
	// Executed: the document or the payout exists at the provider.
	Executed Effect = "executed"
	// Unknown: the request left and nothing that came back says what became of it.
	Unknown Effect = "unknown"
)

// Disposition is what an error asks of the caller. Every error of a write has exactly one.
type Disposition string

const (
	// Refused: nothing happened. Correct what [Error.Next] says and call again.
	Refused Disposition = "refused"
	// RetryLater: come back with the same key, not before [Error.RetryAt]: call the same method again with the same request, or, if the
	// request is no longer at hand, Reconcile.
	RetryLater Disposition = "retry_later"
	// NeedsManualReview: no rule permits a machine to go on. A person decides; [Error.Reason] says why.
	NeedsManualReview Disposition = "needs_manual_review"
)

// Next is the precise step that comes after an error, and the key to take it with.
type Next string

const (
	// NextResend: the same request under the same key is safe.
	NextResend Next = "resend"
	// NextReconcile: ask what became of the key before anything is sent again. Reconcile does only that; a repeated Create does it first.
	NextReconcile Next = "reconcile"
	// NextFixSameKey: correct the request and send it under the same key.
	NextFixSameKey Next = "fix_same_key"
	// NextFixNewKey: correct the request and send it as a new operation under a new key.
	NextFixNewKey Next = "fix_new_key"
	// NextReview: nothing may be sent until a person has looked, at the provider's own console or through its support.
	NextReview Next = "review"
)

// Reason says why an operation ended in [NeedsManualReview].
type Reason string

const (
	// ReasonFailed: the provider's record of this key says failed: nothing was issued and the stamp was refunded.
	ReasonFailed Reason = "failed"
	// ReasonNeverArrived: the provider has no record of this key.
	ReasonNeverArrived Reason = "never_arrived"
	// ReasonUnknownStatus: the answer names a status that the provider's page does not list.
	ReasonUnknownStatus Reason = "unknown_status"
	// ReasonKeyMismatch: the answer belongs to another key, so it was not adopted.
	ReasonKeyMismatch Reason = "key_mismatch"
	// ReasonDuplicate: the provider lists more than one document under this key.
	ReasonDuplicate Reason = "duplicate"
	// ReasonKeyExpired: the outcome is unknown and the provider no longer remembers the key, so a resend could do it twice.
	ReasonKeyExpired Reason = "key_expired"
	// ReasonKeyReused: the provider, or the journal, holds this key for a request with other bytes.
	ReasonKeyReused Reason = "key_reused"
	// ReasonConflict: the provider reported a conflict that no rule lets a program settle.
	ReasonConflict Reason = "conflict"
	// ReasonContradiction: two answers of the provider about one key exclude each other.
	ReasonContradiction Reason = "contradiction"
	// ReasonStampedBefore: the provider says that this was stamped before, and does not show the document.
	ReasonStampedBefore Reason = "stamped_before"
	// ReasonOtherProvider: the same record is unresolved at another provider.
	ReasonOtherProvider Reason = "other_provider"
	// ReasonNoRecord: this journal does not know the key, and the provider documents no way to ask for it.
	ReasonNoRecord Reason = "no_record"
	// ReasonOutcomeUnknown: the provider itself says that it does not know, and that it must not be tried again.
	ReasonOutcomeUnknown Reason = "outcome_unknown"
)

// Forever is the retention of a key that its provider never forgets.
const Forever = time.Duration(math.MaxInt64)

// Environment separates production from everything else. It is part of every derived key, so that a
// copy of the production database in a test system can never name a production operation.
type Environment string

const (
	// Production is the environment in which a stamp is a fiscal fact. In keys it reads "prod".
	Production Environment = "prod"
	// Test is the environment without fiscal validity. In keys it reads "test".
	Test Environment = "test"
)

// OperationName names one kind of write. It appears in errors, events and the journal.
type OperationName string

// The operations that the services of a [Client] perform.
const (
	InvoiceCreate   OperationName = "invoices.create"
	InvoiceStampXML OperationName = "invoices.stamp_xml"
	InvoiceCancel   OperationName = "invoices.cancel"
	PaymentCreate   OperationName = "payments.create"
	PaymentStamp    OperationName = "payments.stamp"
	PaymentCancel   OperationName = "payments.cancel"
	RetentionCreate OperationName = "retentions.create"
	PayoutCreate    OperationName = "payouts.create"
	// RawOperation stands in a [Profile] for every operation of [Client.Do].
	RawOperation OperationName = "raw"

	invoiceFind  OperationName = "invoices.find"
	anyReconcile OperationName = "reconcile"
)

// isFree reports whether a write without types may have the name: one that can be seen, and that the SDK does not use itself.
func (n OperationName) isFree() bool {
	switch n {
	case InvoiceCreate, InvoiceStampXML, InvoiceCancel, PaymentCreate, PaymentStamp, PaymentCancel, RetentionCreate, PayoutCreate,
		RawOperation, invoiceFind, anyReconcile:
		return false
	}
	return strings.TrimSpace(string(n)) != ""
}

// kind groups the operations whose outcome has one type. Each goes by the name of the first of them, which no other write can have.
func (n OperationName) kind() OperationName {
	switch n {
	case InvoiceStampXML:
		return InvoiceCreate
	case PaymentStamp:
		return PaymentCreate
	case PaymentCancel:
		return InvoiceCancel
	default:
		return n
	}
}
