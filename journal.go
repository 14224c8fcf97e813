package unavez

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"
)

// Journal records every operation of a client: its key and exact bytes before the first byte leaves, and the outcome before the
// caller hears it. [NewMemoryJournal] keeps it in this process; the module journal/sqljournal keeps it in SQLite or PostgreSQL, shared
// by replicas.
//
// An implementation decides nothing: what may happen to a record is decided by [Admit], which Begin calls inside its own
// transaction. Every method must be atomic and safe for concurrent use, must respect ctx, and must measure ages and
// leases with one clock of its own, so that the clock of a process changes no outcome.
type Journal interface {
	// Begin creates the record of the intent, or finds the one that is there, and asks [Admit] whether the caller may go on. If so,
	// the record is now claimed by the intent's owner for the intent's lease, in the state [StateOpen]. The returned Record is as it
	// was before that, with Admission, Claim and the times filled in.
	Begin(ctx context.Context, intent Intent) (Record, error)
	// Extend renews the claim before a further attempt, and records how many writes were tried. [ErrClaimLost] says that
	// another owner has taken the record over.
	Extend(ctx context.Context, claim Claim, writes int, lease time.Duration) error
	// Finish records what came of the operation and gives the claim back. [ErrClaimLost] as in Extend; a Result in the state
	// [StateDone] is recorded all the same, since a document is a fact whoever saw it.
	Finish(ctx context.Context, claim Claim, result Result) error
	// Load returns the record without claiming it. [ErrNoRecord] if there is none.
	Load(ctx context.Context, id RecordID) (Record, error)
	// Resolve lets a person end [StateReview]. It is the only way out of it, and is kept in the record's history.
	// Another state is [ErrNotInReview].
	Resolve(ctx context.Context, id RecordID, resolution Resolution) error
}

// Errors of a [Journal].
var (
	// ErrNoRecord: the journal has no record of that id.
	ErrNoRecord = errors.New("unavez: no record in the journal")
	// ErrClaimLost: the lease ran out and another owner has claimed the record.
	ErrClaimLost = errors.New("unavez: the claim on the record was lost")
	// ErrNotInReview: only a record that waits for a person can be resolved.
	ErrNotInReview = errors.New("unavez: the record is not in review")
	// ErrJournalFull: a bounded journal holds only unresolved records and forgets none of them.
	ErrJournalFull = errors.New("unavez: the journal is full of unresolved operations")
)

// RecordID is what a record is unique by.
type RecordID struct {
	// Provider and Account are those of the [Profile]; the account includes the environment.
	Provider, Account string
	// Key is the idempotency key as sent.
	Key string
}

// State is where an operation stands.
type State string

// The states of a record.
const (
	// StateQueued: the intent is recorded and nothing was sent.
	StateQueued State = "queued"
	// StateOpen: being sent by the owner of the claim, or left unresolved when there is no claim.
	StateOpen State = "open"
	// StateDone: the document exists and is in the record.
	StateDone State = "done"
	// StateRefused: nothing happened at the provider.
	StateRefused State = "refused"
	// StateReview: a person must decide.
	StateReview State = "review"
)

// Intent is what a caller is about to do.
type Intent struct {
	RecordID
	// Environment and Identity find the same record at another provider: Identity is the derived key at full length.
	Environment Environment
	Identity    string
	// Operation, Method, Path, Body and Proof are the request. When Reconciling only Operation may be set, and asks for a record of
	// its kind.
	Operation    OperationName
	Method, Path string
	Body         []byte
	Proof        Proof
	// Fingerprint is [Fingerprint] of Operation, Method, Path and Body.
	Fingerprint [sha256.Size]byte
	// Twin is the fingerprint of the same document with the other decision about a failed key; zero if there is none. To a record with
	// that fingerprint the intent is no other request: see [Admit].
	Twin [sha256.Size]byte
	// Retention is how long the provider remembers the key. See [Record.KeepsFirstSent].
	Retention time.Duration
	// RetriesFailed says that a person decided to try a failed key again.
	RetriesFailed bool
	// Reconciling asks for the record that is there, whatever its bytes, and creates none.
	Reconciling bool
	// Owner names the process and the call; Lease is how long the claim holds unless it is extended.
	Owner string
	Lease time.Duration
}

// Claim is the right to act on a record until the lease ends.
type Claim struct {
	RecordID
	Owner string
	// Fingerprint is that of the bytes that were claimed: a document is recorded for no others.
	Fingerprint [sha256.Size]byte
}

// Record is one operation in the journal.
type Record struct {
	RecordID
	Environment  Environment
	Identity     string
	Operation    OperationName
	Method, Path string
	// Body is the exact bytes, nil if they were dropped after the end.
	Body        []byte
	Proof       Proof
	Fingerprint [sha256.Size]byte

	State State
	// FirstSent is when the first write of these bytes may have left, by the journal's clock; the zero time if none has. Age is
	// how long ago that was, by the same clock.
	FirstSent time.Time
	Age       time.Duration
	// Writes counts the writes tried so far. The last ones of a process that died may be missing: they are recorded with what follows them.
	Writes int
	// HeldFor is how long another owner's lease still runs; zero if nobody holds the record.
	HeldFor time.Duration
	// Result is what is known so far.
	Result Result
	// History is what a person decided about the record, and which bytes took the place of others, oldest first.
	History []HistoryEntry

	// Admission is the answer of Begin, Claim the claim that goes with it.
	Admission Admission
	Claim     Claim
}

// HistoryEntry is one change of a record.
type HistoryEntry struct {
	At time.Time
	// State is the state after the change.
	State State
	// Fingerprint is that of the bytes at that time.
	Fingerprint [sha256.Size]byte
	// By and Why are set where a person decided.
	By, Why string
}

// Result is what came of an operation. It holds no secret; Document holds what the provider answered.
type Result struct {
	// State is where the record stands now.
	State State
	// Writes counts the writes tried so far.
	Writes int
	// Effect is what is known over all attempts.
	Effect Effect
	// Disposition, Reason and Next are those of the error; empty in StateDone.
	Disposition Disposition
	Reason      Reason
	Next        Next
	// HTTPStatus, Code and RequestID are those of the last answer.
	HTTPStatus      int
	Code, RequestID string
	// Document is the provider's answer or the row of its list, byte for byte, and Replayed its mark.
	Document json.RawMessage
	Replayed bool
}

// Resolution is what a person decided about a record in review.
type Resolution struct {
	// Decision is what may happen now.
	Decision Decision
	// By names the person, Why the grounds. Both are required.
	By, Why string
	// Document is the document that was found by hand, in the provider's own form and with its member names, for instance
	// {"id":"…","uuid":"…"}. It is required for DecideDone, answers later calls with the key, and is not checked further:
	// it is the person's word.
	Document json.RawMessage
}

// Decision is what a person decided.
type Decision string

// The decisions.
const (
	// DecideDone: the document exists; it is given.
	DecideDone Decision = "done"
	// DecideNothingHappened: nothing was stamped or paid and nothing will be under these bytes. The key may be used for a corrected request.
	DecideNothingHappened Decision = "nothing_happened"
	// DecideResend: the recorded request may be sent again under the same key.
	DecideResend Decision = "resend"
)

// Admission is whether an intent may go on.
type Admission string

// The admissions.
const (
	// AdmitSend: claimed: send. Nothing of these bytes was executed, or a person decided to send them once more.
	AdmitSend Admission = "send"
	// AdmitResume: claimed, and an earlier attempt has an unknown outcome: find out, as the provider documents.
	AdmitResume Admission = "resume"
	// AdmitAnswer: not claimed; the record holds the answer, a document or an error.
	AdmitAnswer Admission = "answer"
	// AdmitHeld: not claimed; another owner is at work.
	AdmitHeld Admission = "held"
	// AdmitReused: not claimed; the key belongs to other bytes.
	AdmitReused Admission = "reused"
	// AdmitElsewhere: not claimed; the same record is unresolved at another provider.
	AdmitElsewhere Admission = "elsewhere"
	// AdmitNothing: Reconciling, and there is no record.
	AdmitNothing Admission = "nothing"
)

// Claims reports whether the admission claims the record.
func (a Admission) Claims() bool { return a == AdmitSend || a == AdmitResume }

// Fingerprint is the SHA-256 that tells one request from another: of operation, method, path and the exact body, framed
// so that no two different requests meet.
func Fingerprint(operation OperationName, method, path string, body []byte) [sha256.Size]byte {
	var onStack [1 << 10]byte // most requests fit
	framed := append(onStack[:0], operation...)
	framed = append(framed, 0)
	framed = append(framed, method...)
	framed = append(framed, 0)
	framed = append(framed, path...)
	framed = append(framed, 0)
	framed = append(framed, body...)
	return sha256.Sum256(framed)
}

// Admit decides what an intent may do with the record that is there. It is the one place where those rules live, so that every
// journal answers alike. The record must have its State, Fingerprint, HeldFor and
// Result; a journal calls Admit in the transaction in which it then claims the record. With [AdmitSend] the intent's request
// takes the place of the recorded one; with [AdmitResume] the recorded one stays, and the claim has its fingerprint.
func Admit(record *Record, intent *Intent) Admission {
	if record.HeldFor > 0 {
		return AdmitHeld
	}
	if intent.Reconciling {
		return admitReconcile(record, intent)
	}
	if !record.isOf(intent) {
		return admitOtherBytes(record, intent)
	}
	switch record.State {
	case StateQueued:
		return AdmitSend
	case StateRefused:
		if record.Result.Next == NextReconcile {
			return AdmitAnswer // the provider holds the key for another request: it is never sent again
		}
		return AdmitSend
	case StateDone:
		return AdmitAnswer
	case StateReview:
		return admitReview(record, intent)
	case StateOpen:
		return admitOpen(record)
	}
	return AdmitAnswer
}

// admitOpen resumes unless it is certain that nothing was executed: a record without a word on the effect was left by a
// process that died between intent and outcome.
func admitOpen(record *Record) Admission {
	if record.MayBeExecuted() {
		return AdmitResume
	}
	return AdmitSend
}

// admitReconcile never claims what is known not to have been executed: there is nothing to find out, and asking about an
// intent does not send it.
func admitReconcile(record *Record, intent *Intent) Admission {
	if intent.Operation != "" && intent.Operation.kind() != record.Operation.kind() {
		return AdmitReused
	}
	switch record.State {
	case StateReview:
		return AdmitResume
	case StateOpen:
		if record.MayBeExecuted() {
			return AdmitResume
		}
	case StateQueued, StateDone, StateRefused:
	}
	return AdmitAnswer
}

// admitOtherBytes lets corrected bytes take the place of a request that ended with NextFixSameKey, and nothing else.
func admitOtherBytes(record *Record, intent *Intent) Admission {
	if record.Result.Next != NextFixSameKey {
		return AdmitReused
	}
	switch record.State {
	case StateRefused:
		return AdmitSend
	case StateReview:
		switch {
		case record.Result.Reason != ReasonFailed:
			return AdmitReused
		case intent.RetriesFailed:
			return AdmitSend
		}
		return AdmitAnswer // what was recorded says which flag is missing
	case StateQueued, StateOpen, StateDone:
	}
	return AdmitReused
}

func admitReview(record *Record, intent *Intent) Admission {
	switch {
	case record.Result.Reason == ReasonNeverArrived && record.Result.Next == NextResend:
		return AdmitSend
	case record.Result.Reason == ReasonFailed && intent.RetriesFailed:
		return AdmitSend
	}
	return AdmitAnswer
}

// MayBeExecuted reports whether some write of these bytes may have been executed: one was sent, and nothing that is known says
// that it was not. As long as it does, FirstSent must be kept, whoever claims the record: the provider's memory of the
// key began then.
func (r *Record) MayBeExecuted() bool { return mayBeExecuted(r.State, r.Result.Effect) }

// KeepsFirstSent reports whether a claim of the intent must leave FirstSent as it is. It may begin anew where these bytes have never
// been sent; and where they are known not to have been executed, once the provider has forgotten the key: until then its
// memory of the key counts from the first time that it saw it.
func (r *Record) KeepsFirstSent(intent *Intent) bool {
	if r.FirstSent.IsZero() || !intent.Reconciling && !r.isOf(intent) {
		return false
	}
	return r.MayBeExecuted() || r.Age < intent.Retention
}

// isOf reports whether the record is of the intent's document.
func (r *Record) isOf(intent *Intent) bool {
	hasTwin := intent.Twin != [sha256.Size]byte{}
	return r.Fingerprint == intent.Fingerprint || hasTwin && r.Fingerprint == intent.Twin
}

func mayBeExecuted(state State, effect Effect) bool {
	switch state {
	case StateQueued, StateRefused:
		return false
	case StateDone:
		return true
	case StateOpen, StateReview:
	}
	return effect != NotSent && effect != NotExecuted
}

// Resolved reports whether nothing more can come of the record on its own: it is done, or nothing happened.
func (r *Record) Resolved() bool { return isResolved(r.State) }

func isResolved(state State) bool { return state == StateDone || state == StateRefused }

// Apply returns the result that a person's decision leaves behind.
func (r *Resolution) Apply(result Result) (Result, error) {
	if r.By == "" || r.Why == "" {
		return Result{}, errors.New("resolution without By and Why, expected who decided and on what grounds")
	}
	switch r.Decision {
	case DecideDone:
		if _, ok := ParseObject(r.Document); !ok {
			return Result{}, errors.New("resolution done without Document, expected the document as one JSON object")
		}
		return Result{State: StateDone, Writes: result.Writes, Effect: Executed, Document: r.Document}, nil
	case DecideNothingHappened:
		result.State, result.Effect, result.Disposition = StateRefused, NotExecuted, Refused
		result.Reason, result.Next = "", NextFixSameKey
		return result, nil
	case DecideResend:
		result.State, result.Effect, result.Disposition = StateOpen, NotExecuted, RetryLater
		result.Reason, result.Next = "", NextResend
		return result, nil
	}
	return Result{}, errors.New("resolution with an unknown decision")
}
