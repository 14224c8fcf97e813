package unavez_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// admission is one row of Admit's table: what the journal holds, what the intent is, and what may happen.
type admission struct {
	fact   string
	state  unavez.State
	result unavez.Result
	// The intent: other bytes than the record's, a decision to try a failed key again, a question.
	otherBytes, retries, asks bool
	// isTwin: the other bytes are the same document.
	isTwin    bool
	heldFor   time.Duration
	operation unavez.OperationName // of the question
	want      unavez.Admission
}

func admissions() []admission {
	const (
		queued, open, done, refused, review = unavez.StateQueued, unavez.StateOpen, unavez.StateDone, unavez.StateRefused, unavez.StateReview

		send, resume, answer, held, reused = unavez.AdmitSend, unavez.AdmitResume, unavez.AdmitAnswer, unavez.AdmitHeld, unavez.AdmitReused
	)
	effect := func(effect unavez.Effect) unavez.Result { return unavez.Result{Effect: effect} }
	ended := func(reason unavez.Reason, next unavez.Next) unavez.Result {
		return unavez.Result{Reason: reason, Next: next}
	}
	failed, arrived := ended(unavez.ReasonFailed, unavez.NextFixSameKey), ended(unavez.ReasonNeverArrived, unavez.NextResend)
	return []admission{
		{fact: "a queued intent is sent", state: queued, want: send},
		{fact: "a record that its process left without a word is found out", state: open, want: resume},
		{fact: "an unknown outcome is found out", state: open, result: effect(unavez.Unknown), want: resume},
		{fact: "an outcome that was executed unseen is found out", state: open, result: effect(unavez.Executed), want: resume},
		{fact: "what was never sent is sent", state: open, result: effect(unavez.NotSent), want: send},
		{fact: "what was not executed is sent", state: open, result: effect(unavez.NotExecuted), want: send},
		{fact: "a document is answered", state: done, want: answer},
		{fact: "a refused request may be sent again", state: refused, want: send},
		{fact: "a record in review is answered", state: review, result: ended(unavez.ReasonConflict, unavez.NextReview), want: answer},
		{fact: "what never arrived is sent", state: review, result: arrived, want: send},
		{fact: "what never arrived and may not be resent is answered", state: review, result: ended(unavez.ReasonNeverArrived, unavez.NextReview), want: answer},
		{fact: "what failed is answered", state: review, result: failed, want: answer},
		{fact: "what failed is sent if a person says so", state: review, result: failed, retries: true, want: send},
		{fact: "what is in review for another reason is answered, whatever a person says", state: review, result: ended(unavez.ReasonDuplicate, unavez.NextReview), retries: true, want: answer},
		{fact: "a state from another version is answered", state: "later", want: answer},

		{fact: "other bytes for a queued intent", state: queued, otherBytes: true, want: reused},
		{fact: "other bytes for an open record", state: open, otherBytes: true, want: reused},
		{fact: "other bytes for an open record that was not executed", state: open, result: effect(unavez.NotExecuted), otherBytes: true, want: reused},
		{fact: "other bytes for a document", state: done, otherBytes: true, want: reused},
		{fact: "other bytes for a document, whatever its record says of the key", state: done, result: ended("", unavez.NextFixSameKey), otherBytes: true, want: reused},
		{fact: "other bytes for an open record, whatever it says of the key", state: open, result: ended("", unavez.NextFixSameKey), otherBytes: true, want: reused},
		{fact: "corrected bytes after a refusal with the same key", state: refused, result: ended("", unavez.NextFixSameKey), otherBytes: true, want: send},
		{fact: "corrected bytes after a refusal that wants a new key", state: refused, result: ended("", unavez.NextFixNewKey), otherBytes: true, want: reused},
		{fact: "corrected bytes after a refusal that wants the same request", state: refused, result: ended("", unavez.NextResend), otherBytes: true, want: reused},
		{fact: "corrected bytes for a failed key need a person", state: review, result: failed, otherBytes: true, want: answer},
		{fact: "corrected bytes for a failed key, with a person", state: review, result: failed, otherBytes: true, retries: true, want: send},
		{fact: "corrected bytes for a failed key without another try", state: review, result: ended(unavez.ReasonFailed, unavez.NextReview), otherBytes: true, retries: true, want: reused},
		{fact: "other bytes for what never arrived", state: review, result: arrived, otherBytes: true, retries: true, want: reused},
		{fact: "other bytes for a record in review", state: review, result: ended(unavez.ReasonConflict, unavez.NextFixSameKey), otherBytes: true, retries: true, want: reused},

		{fact: "the twin of a queued intent", state: queued, isTwin: true, want: send},
		{fact: "the twin of an unknown outcome", state: open, result: effect(unavez.Unknown), isTwin: true, want: resume},
		{fact: "the twin of what was not executed", state: open, result: effect(unavez.NotExecuted), isTwin: true, want: send},
		{fact: "the twin of a document", state: done, isTwin: true, want: answer},
		{fact: "the twin of a refusal", state: refused, result: ended("", unavez.NextFixNewKey), isTwin: true, want: send},
		{fact: "the twin of a reused key", state: refused, result: ended("", unavez.NextReconcile), isTwin: true, want: answer},
		{fact: "the twin of what failed", state: review, result: failed, isTwin: true, want: answer},
		{fact: "the twin of what failed, with a person", state: review, result: failed, isTwin: true, retries: true, want: send},
		{fact: "the twin of what may have failed before", state: review, result: ended(unavez.ReasonFailed, unavez.NextReview), isTwin: true, want: answer},
		{fact: "the twin of what never arrived", state: review, result: arrived, isTwin: true, want: send},
		{fact: "the twin of another record in review", state: review, result: ended(unavez.ReasonConflict, unavez.NextReview), isTwin: true, retries: true, want: answer},

		{fact: "asking about a queued intent does not send it", state: queued, asks: true, want: answer},
		{fact: "asking about an open record finds out", state: open, asks: true, want: resume},
		{fact: "asking about a record in review looks again", state: review, result: failed, asks: true, want: resume},
		{fact: "asking about a document answers it", state: done, asks: true, want: answer},
		{fact: "asking about a refusal answers it", state: refused, asks: true, want: answer},
		{fact: "asking for a document of another kind", state: open, asks: true, operation: unavez.PaymentCreate, want: reused},
		{fact: "asking as an invoice for what was stamped from XML", state: open, asks: true, operation: unavez.InvoiceStampXML, want: resume},

		{fact: "a held record is held", state: open, heldFor: 1, want: held},
		{fact: "a held record is held against a question", state: open, asks: true, heldFor: 1, want: held},
		{fact: "a held record is held against other bytes", state: open, otherBytes: true, heldFor: 1, want: held},
		{fact: "a held record is held in review", state: review, result: failed, retries: true, heldFor: time.Hour, want: held},
	}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	for _, r := range admissions() {
		t.Run(r.fact, func(t *testing.T) {
			t.Parallel()
			record := unavez.Record{Operation: unavez.InvoiceCreate, State: r.state, Result: r.result, HeldFor: r.heldFor, Fingerprint: sha256.Sum256([]byte("a"))}
			intent := unavez.Intent{Operation: unavez.InvoiceCreate, RetriesFailed: r.retries, Reconciling: r.asks, Fingerprint: record.Fingerprint}
			if r.isTwin {
				intent.Twin = record.Fingerprint
			}
			if r.otherBytes || r.isTwin {
				intent.Fingerprint = sha256.Sum256([]byte("b"))
			}
			if r.asks {
				intent.Operation, intent.Fingerprint = r.operation, [sha256.Size]byte{}
			}
			got := unavez.Admit(&record, &intent)
			require.Equal(t, r.want, got)
			require.Equal(t, got == unavez.AdmitSend || got == unavez.AdmitResume, got.Claims())
		})
	}
}

func TestFirstSentIsKeptAsLongAsTheProviderMayRememberIt(t *testing.T) {
	t.Parallel()
	const retention = 96 * time.Hour
	own, others := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	for _, r := range []struct {
		fact   string
		effect unavez.Effect
		age    time.Duration
		intent unavez.Intent
		isNew  bool
		want   bool
	}{
		{fact: "an unknown outcome, however old", effect: unavez.Unknown, age: 1000 * time.Hour, intent: unavez.Intent{Fingerprint: own}, want: true},
		{fact: "the twin of an unknown outcome", effect: unavez.Unknown, age: 1000 * time.Hour, intent: unavez.Intent{Fingerprint: others, Twin: own}, want: true},
		{fact: "a question about an unknown outcome", effect: unavez.Unknown, age: 1000 * time.Hour, intent: unavez.Intent{Reconciling: true}, want: true},
		{fact: "not executed, just inside the retention", effect: unavez.NotExecuted, age: retention - 1, intent: unavez.Intent{Fingerprint: own}, want: true},
		{fact: "not executed, at its end", effect: unavez.NotExecuted, age: retention, intent: unavez.Intent{Fingerprint: own}},
		{fact: "other bytes", effect: unavez.Unknown, intent: unavez.Intent{Fingerprint: others}},
		{fact: "bytes that were never sent", effect: unavez.Unknown, isNew: true, intent: unavez.Intent{Fingerprint: own}},
	} {
		record := unavez.Record{State: unavez.StateOpen, Result: unavez.Result{Effect: r.effect}, Age: r.age, Fingerprint: own, FirstSent: time.Unix(1, 0)}
		if r.isNew {
			record.FirstSent = time.Time{}
		}
		r.intent.Retention = retention
		require.Equal(t, r.want, record.KeepsFirstSent(&r.intent), r.fact)
	}
}

// TestAdmitHoldsItsPromisesForEveryRecord walks every combination, so that no row is missing in the table above.
func TestAdmitHoldsItsPromisesForEveryRecord(t *testing.T) {
	t.Parallel()
	for record := range everyRecord {
		for _, bits := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
			intent := unavez.Intent{Operation: unavez.InvoiceCreate, RetriesFailed: bits&1 > 0, Reconciling: bits&2 > 0}
			isOther := bits&4 > 0
			if isOther {
				intent.Fingerprint[0] = 1
			}
			got := unavez.Admit(&record, &intent)
			where := []any{"%s, %+v, intent %03b", record.State, record.Result, bits}
			if record.HeldFor > 0 {
				require.Equal(t, unavez.AdmitHeld, got, where...)
				continue
			}
			require.NotEqual(t, unavez.AdmitHeld, got, where...)
			isUnknown := record.Result.Effect == unavez.Unknown || record.Result.Effect == unavez.Executed || record.Result.Effect == ""
			switch {
			case intent.Reconciling:
				require.NotEqual(t, unavez.AdmitSend, got, where...)
			case record.State == unavez.StateDone:
				require.False(t, got.Claims(), where...)
			case isOther && record.State == unavez.StateOpen:
				require.Equal(t, unavez.AdmitReused, got, where...)
			case record.State == unavez.StateOpen && isUnknown:
				require.Equal(t, unavez.AdmitResume, got, where...)
			}
		}
	}
}

func everyRecord(yield func(unavez.Record) bool) {
	for _, state := range []unavez.State{unavez.StateQueued, unavez.StateOpen, unavez.StateDone, unavez.StateRefused, unavez.StateReview} {
		for _, effect := range []unavez.Effect{"", unavez.NotSent, unavez.NotExecuted, unavez.Executed, unavez.Unknown} {
			for _, next := range []unavez.Next{unavez.NextResend, unavez.NextReconcile, unavez.NextFixSameKey, unavez.NextFixNewKey, unavez.NextReview} {
				for _, reason := range []unavez.Reason{"", unavez.ReasonFailed, unavez.ReasonNeverArrived, unavez.ReasonConflict} {
					for _, heldFor := range []time.Duration{0, time.Second} {
						record := unavez.Record{Operation: unavez.InvoiceCreate, State: state, HeldFor: heldFor}
						record.Result = unavez.Result{State: state, Effect: effect, Next: next, Reason: reason}
						if !yield(record) {
							return
						}
					}
				}
			}
		}
	}
}

func TestFingerprintFramesItsParts(t *testing.T) {
	t.Parallel()
	same := unavez.Fingerprint("op", "POST", "/a", []byte("b"))
	require.Equal(t, same, unavez.Fingerprint("op", "POST", "/a", []byte("b")))
	for name, other := range map[string][sha256.Size]byte{
		"operation":            unavez.Fingerprint("oq", "POST", "/a", []byte("b")),
		"method":               unavez.Fingerprint("op", "PUT", "/a", []byte("b")),
		"path":                 unavez.Fingerprint("op", "POST", "/b", []byte("b")),
		"body":                 unavez.Fingerprint("op", "POST", "/a", []byte("b ")),
		"a byte that moved":    unavez.Fingerprint("op", "POST", "/ab", nil),
		"a part that moved":    unavez.Fingerprint("opP", "OST", "/a", []byte("b")),
		"no body":              unavez.Fingerprint("op", "POST", "/a", nil),
		"path into the method": unavez.Fingerprint("op", "POST/", "a", []byte("b")),
	} {
		require.NotEqual(t, same, other, name)
	}
}

func TestResolutionNeedsAPersonAndGrounds(t *testing.T) {
	t.Parallel()
	for name, resolution := range map[string]unavez.Resolution{
		"nobody":                     {Decision: unavez.DecideResend, Why: "x"},
		"no grounds":                 {Decision: unavez.DecideResend, By: "ana"},
		"no decision":                {By: "ana", Why: "x"},
		"an unknown decision":        {Decision: "later", By: "ana", Why: "x"},
		"done without a document":    {Decision: unavez.DecideDone, By: "ana", Why: "x"},
		"done with no JSON object":   {Decision: unavez.DecideDone, By: "ana", Why: "x", Document: []byte(`[]`)},
		"done with a broken object":  {Decision: unavez.DecideDone, By: "ana", Why: "x", Document: []byte(`{`)},
		"done with JSON null inside": {Decision: unavez.DecideDone, By: "ana", Why: "x", Document: []byte(`null`)},
	} {
		_, err := resolution.Apply(unavez.Result{State: unavez.StateReview})
		require.Error(t, err, name)
	}
}

func TestResolutionLeavesWhatThePersonDecided(t *testing.T) {
	t.Parallel()
	before := unavez.Result{
		State: unavez.StateReview, Writes: 3, Effect: unavez.Unknown, Disposition: unavez.NeedsManualReview, Reason: unavez.ReasonConflict,
		Next: unavez.NextReview, HTTPStatus: 409, Code: "X",
	}
	for decision, want := range map[unavez.Decision]unavez.Result{
		unavez.DecideDone: {State: unavez.StateDone, Writes: 3, Effect: unavez.Executed, Document: []byte(`{"id":"a"}`)},
		unavez.DecideNothingHappened: {
			State: unavez.StateRefused, Writes: 3, Effect: unavez.NotExecuted, Disposition: unavez.Refused, Next: unavez.NextFixSameKey, HTTPStatus: 409, Code: "X",
		},
		unavez.DecideResend: {
			State: unavez.StateOpen, Writes: 3, Effect: unavez.NotExecuted, Disposition: unavez.RetryLater, Next: unavez.NextResend, HTTPStatus: 409, Code: "X",
		},
	} {
		resolution := unavez.Resolution{Decision: decision, By: "ana", Why: "looked it up", Document: []byte(`{"id":"a"}`)}
		got, err := resolution.Apply(before)
		require.NoError(t, err)
		require.Equal(t, want, got, decision)
	}
}
