// Package journaltest checks that a [unavez.Journal] keeps the promises of that interface. Every journal of this repository
// passes it; run it over your own:
//
//	func TestJournal(t *testing.T) {
//		journaltest.Run(t, func(t *testing.T, check func(*testing.T, journaltest.Subject)) {
//			check(t, journaltest.Subject{Journal: open(t), Pass: advance})
//		})
//	}
package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/unavez/unavez"
)

// Subject is a new, empty journal under test.
type Subject struct {
	Journal unavez.Journal
	// Pass lets d pass by the journal's clock, by waiting or by moving the clock.
	Pass func(t *testing.T, d time.Duration)
}

// Lease is how long the claims of this suite hold.
const Lease = time.Minute

// Run runs the suite. It calls open once for each fact, from parallel tests; open calls check with a new journal, inside of a
// testing/synctest bubble if it likes.
func Run(t *testing.T, open func(t *testing.T, check func(*testing.T, Subject))) {
	t.Helper()
	for _, facts := range []facts{
		factsOfBegin(), factsOfClaims(), factsOfBytes(), factsOfTwins(), factsOfGuards(), factsOfFinish(), factsOfResolve(), factsOfConcurrency(),
	} {
		for name, fact := range facts {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				open(t, func(t *testing.T, subject Subject) {
					t.Helper()
					fact(&check{subject, t})
				})
			})
		}
	}
}

// check is a subject in the test that looks at it.
type check struct {
	Subject

	t *testing.T
}

// facts are what is checked, each with a journal of its own.
type facts map[string]func(*check)

// Intent returns a complete intent of the suite's provider for the key.
func Intent(key string) unavez.Intent {
	return withBody(unavez.Intent{
		RecordID:    unavez.RecordID{Provider: "facty", Account: "acme/test", Key: key},
		Environment: unavez.Test, Identity: key,
		Operation: unavez.InvoiceCreate, Method: "POST", Path: "/invoices", Proof: unavez.ProofUUID,
		Owner: "owner-1", Lease: Lease,
	}, `{"total":100.00}`)
}

func withBody(intent unavez.Intent, body string) unavez.Intent {
	intent.Body = []byte(body)
	intent.Fingerprint = unavez.Fingerprint(intent.Operation, intent.Method, intent.Path, intent.Body)
	return intent
}

func ownedBy(intent unavez.Intent, owner string) unavez.Intent {
	intent.Owner = owner
	return intent
}

// twin is the document of [Intent] with the other decision about a failed key.
func twin(owner string) unavez.Intent {
	intent := withBody(ownedBy(Intent("k"), owner), `{"total":100.00,"again":true}`)
	intent.Twin = Intent("k").Fingerprint
	return intent
}

func at(intent unavez.Intent, provider string) unavez.Intent {
	intent.Provider = provider
	return intent
}

func reconciling(intent unavez.Intent) unavez.Intent {
	return unavez.Intent{
		RecordID: intent.RecordID, Environment: intent.Environment, Identity: intent.Identity,
		Reconciling: true, Owner: "owner-2", Lease: Lease,
	}
}

func done(document string) unavez.Result {
	return unavez.Result{
		State: unavez.StateDone, Writes: 1, Effect: unavez.Executed, HTTPStatus: 201, RequestID: "req-1",
		Document: json.RawMessage(document),
	}
}

func openWith(effect unavez.Effect) unavez.Result {
	return unavez.Result{
		State: unavez.StateOpen, Writes: 1, Effect: effect, Disposition: unavez.RetryLater, Next: unavez.NextResend,
		HTTPStatus: 503, Code: "UNAVAILABLE",
	}
}

func refused(next unavez.Next) unavez.Result {
	return unavez.Result{
		State: unavez.StateRefused, Writes: 1, Effect: unavez.NotExecuted, Disposition: unavez.Refused, Next: next,
		HTTPStatus: 422, Code: "INVALID",
	}
}

func review(reason unavez.Reason, next unavez.Next) unavez.Result {
	return unavez.Result{
		State: unavez.StateReview, Writes: 1, Effect: unavez.Unknown, Disposition: unavez.NeedsManualReview, Reason: reason, Next: next,
	}
}

func (s *check) begin(intent unavez.Intent) unavez.Record {
	s.t.Helper()
	record, err := s.Journal.Begin(context.Background(), intent)
	if err != nil {
		s.t.Fatalf("Begin: %v", err)
	}
	return record
}

// admitted begins and checks the admission.
func (s *check) admitted(intent unavez.Intent, want unavez.Admission) unavez.Record {
	s.t.Helper()
	record := s.begin(intent)
	if record.Admission != want {
		s.t.Fatalf("Begin admits %q, want %q (state %q, held for %s)", record.Admission, want, record.State, record.HeldFor)
	}
	if record.Admission.Claims() && record.Claim != claimOf(record, intent) {
		s.t.Fatalf("Begin returns a claim that is not the intent's")
	}
	return record
}

func (s *check) finish(record unavez.Record, result unavez.Result) {
	s.t.Helper()
	if err := s.Journal.Finish(context.Background(), record.Claim, result); err != nil {
		s.t.Fatalf("Finish: %v", err)
	}
}

// ended begins the intent and finishes it with the result.
func (s *check) ended(intent unavez.Intent, result unavez.Result) {
	s.t.Helper()
	s.finish(s.admitted(intent, unavez.AdmitSend), result)
}

func (s *check) load(id unavez.RecordID) unavez.Record {
	s.t.Helper()
	record, err := s.Journal.Load(context.Background(), id)
	if err != nil {
		s.t.Fatalf("Load: %v", err)
	}
	return record
}

func (s *check) resolve(id unavez.RecordID, decision unavez.Decision, document string) {
	s.t.Helper()
	resolution := unavez.Resolution{Decision: decision, By: "ana", Why: "looked at the console"}
	if document != "" {
		resolution.Document = json.RawMessage(document)
	}
	if err := s.Journal.Resolve(context.Background(), id, resolution); err != nil {
		s.t.Fatalf("Resolve: %v", err)
	}
}

func (s *check) wantError(got, want error) {
	s.t.Helper()
	if !errors.Is(got, want) {
		s.t.Fatalf("got error %v, want %v", got, want)
	}
}

func (s *check) wantState(record unavez.Record, want unavez.State) {
	s.t.Helper()
	if record.State != want {
		s.t.Fatalf("record in state %q, want %q", record.State, want)
	}
}

// claimOf is the claim that goes with an admission: of the intent's owner, on the intent's bytes or, where those that were recorded go on, on these.
func claimOf(record unavez.Record, intent unavez.Intent) unavez.Claim {
	claim := unavez.Claim{RecordID: intent.RecordID, Owner: intent.Owner, Fingerprint: intent.Fingerprint}
	if record.Admission == unavez.AdmitResume {
		claim.Fingerprint = record.Fingerprint
	}
	return claim
}
