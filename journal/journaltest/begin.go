package journaltest

import (
	"bytes"
	"context"
	"time"

	"github.com/unavez/unavez"
)

func factsOfBegin() facts { //nolint:cyclop,funlen // a table of facts
	return facts{
		"a new intent may be sent": func(s *check) {
			record := s.admitted(Intent("k"), unavez.AdmitSend)
			s.wantState(record, unavez.StateQueued)
		},
		"a begun record holds the intent": func(s *check) {
			intent := Intent("k")
			s.begin(intent)
			record := s.load(intent.RecordID)
			s.wantState(record, unavez.StateOpen)
			if !bytes.Equal(record.Body, intent.Body) || record.Fingerprint != intent.Fingerprint {
				s.t.Fatal("body or fingerprint changed")
			}
			if record.Operation != intent.Operation || record.Method != intent.Method || record.Path != intent.Path ||
				record.Proof != intent.Proof || record.Environment != intent.Environment || record.Identity != intent.Identity {
				s.t.Fatalf("the request changed: %s %s %s", record.Operation, record.Method, record.Path)
			}
			if record.FirstSent.IsZero() || record.HeldFor <= 0 || record.HeldFor > Lease {
				s.t.Fatalf("first sent %s, held for %s", record.FirstSent, record.HeldFor)
			}
		},
		"a done record answers with its document": func(s *check) {
			s.ended(Intent("k"), done(`{"uuid":"u-1"}`))
			record := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitAnswer)
			s.wantState(record, unavez.StateDone)
			if string(record.Result.Document) != `{"uuid":"u-1"}` {
				s.t.Fatal("the document changed")
			}
		},
		"a record in review answers": func(s *check) {
			s.ended(Intent("k"), review(unavez.ReasonConflict, unavez.NextReview))
			record := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitAnswer)
			if record.Result.Reason != unavez.ReasonConflict || record.Result.Next != unavez.NextReview {
				s.t.Fatalf("reason %q, next %q", record.Result.Reason, record.Result.Next)
			}
		},
		"what was refused may be sent again": func(s *check) {
			s.ended(Intent("k"), refused(unavez.NextResend))
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitSend)
		},
		"what never arrived may be sent again": func(s *check) {
			s.ended(Intent("k"), review(unavez.ReasonNeverArrived, unavez.NextResend))
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitSend)
		},
		"an unknown outcome is resumed": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.Unknown))
			record := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitResume)
			if record.Result.Effect != unavez.Unknown || record.Writes != 1 || record.Result.Code != "UNAVAILABLE" {
				s.t.Fatalf("effect %q, %d writes", record.Result.Effect, record.Writes)
			}
		},
		"what was not executed may be sent": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.NotExecuted))
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitSend)
		},
		"reconciling without a record is nothing": func(s *check) {
			s.admitted(reconciling(Intent("k")), unavez.AdmitNothing)
			_, err := s.Journal.Load(context.Background(), Intent("k").RecordID)
			s.wantError(err, unavez.ErrNoRecord)
		},
		"reconciling claims an open record": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.Unknown))
			s.admitted(reconciling(Intent("k")), unavez.AdmitResume)
			s.admitted(ownedBy(Intent("k"), "owner-3"), unavez.AdmitHeld)
		},
		"reconciling does not claim what was not executed": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.NotSent))
			s.admitted(reconciling(Intent("k")), unavez.AdmitAnswer)
		},
		"reconciling leaves the state": func(s *check) {
			s.ended(Intent("k"), review(unavez.ReasonConflict, unavez.NextReview))
			s.admitted(reconciling(Intent("k")), unavez.AdmitResume)
			record := s.load(Intent("k").RecordID)
			s.wantState(record, unavez.StateReview)
			if record.Result.Reason != unavez.ReasonConflict {
				s.t.Fatalf("reason %q", record.Result.Reason)
			}
		},
		"an ended context begins nothing": func(s *check) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err := s.Journal.Begin(ctx, Intent("k"))
			s.wantError(err, context.Canceled)
			_, err = s.Journal.Load(context.Background(), Intent("k").RecordID)
			s.wantError(err, unavez.ErrNoRecord)
		},
	}
}

func factsOfClaims() facts { //nolint:funlen,gocognit // a table of facts
	return facts{
		"a claimed record is held": func(s *check) {
			s.begin(Intent("k"))
			record := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitHeld)
			if record.HeldFor <= 0 || record.HeldFor > Lease {
				s.t.Fatalf("held for %s, want up to %s", record.HeldFor, Lease)
			}
		},
		"a claimed record is held for its own owner too": func(s *check) {
			s.begin(Intent("k"))
			s.admitted(Intent("k"), unavez.AdmitHeld)
		},
		"an ended lease is taken over, and resumed": func(s *check) {
			s.begin(Intent("k"))
			s.Pass(s.t, Lease+time.Second)
			record := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitResume)
			if record.Age < Lease || record.Age > 2*Lease {
				s.t.Fatalf("age %s, want a little more than %s", record.Age, Lease)
			}
		},
		"an ended lease that nobody took can be extended": func(s *check) {
			record := s.begin(Intent("k"))
			s.Pass(s.t, Lease+time.Second)
			if err := s.Journal.Extend(context.Background(), record.Claim, 2, Lease); err != nil {
				s.t.Fatalf("Extend: %v", err)
			}
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitHeld)
		},
		"extending renews the lease and counts writes": func(s *check) {
			record := s.begin(Intent("k"))
			s.Pass(s.t, Lease/2)
			if err := s.Journal.Extend(context.Background(), record.Claim, 2, Lease); err != nil {
				s.t.Fatalf("Extend: %v", err)
			}
			s.Pass(s.t, Lease*3/4)
			held := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitHeld)
			if held.Writes != 2 {
				s.t.Fatalf("%d writes, want 2", held.Writes)
			}
		},
		"a claim that was taken over cannot be extended": func(s *check) {
			record := s.begin(Intent("k"))
			s.Pass(s.t, Lease+time.Second)
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitResume)
			s.wantError(s.Journal.Extend(context.Background(), record.Claim, 2, Lease), unavez.ErrClaimLost)
		},
		"a claim on no record cannot be extended": func(s *check) {
			claim := unavez.Claim{RecordID: Intent("k").RecordID, Owner: "owner-1"}
			s.wantError(s.Journal.Extend(context.Background(), claim, 1, Lease), unavez.ErrNoRecord)
		},
		"sending anew starts the window anew": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.NotExecuted))
			s.Pass(s.t, time.Hour)
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitSend)
			if age := s.load(Intent("k").RecordID).Age; age > time.Minute {
				s.t.Fatalf("age %s, want none", age)
			}
		},
		"sending again what may have been executed keeps the window": func(s *check) {
			s.ended(Intent("k"), review(unavez.ReasonNeverArrived, unavez.NextResend))
			s.Pass(s.t, time.Hour)
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitSend)
			if age := s.load(Intent("k").RecordID).Age; age < time.Hour {
				s.t.Fatalf("age %s, want an hour", age)
			}
		},
		"resuming keeps the window": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.Unknown))
			s.Pass(s.t, time.Hour)
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitResume)
			if age := s.load(Intent("k").RecordID).Age; age < time.Hour {
				s.t.Fatalf("age %s, want an hour", age)
			}
		},
		"what was not sent has no window": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.NotSent))
			if record := s.load(Intent("k").RecordID); !record.FirstSent.IsZero() || record.Age != 0 {
				s.t.Fatalf("first sent %s, age %s", record.FirstSent, record.Age)
			}
		},
	}
}
