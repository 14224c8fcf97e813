package journaltest

import (
	"context"
	"time"

	"github.com/unavez/unavez"
)

func factsOfResolve() facts { //nolint:funlen // a table of facts
	inReview := func(s *check) unavez.RecordID {
		s.ended(Intent("k"), review(unavez.ReasonConflict, unavez.NextReview))
		return Intent("k").RecordID
	}
	return facts{
		"a document found by hand ends the review": func(s *check) {
			s.resolve(inReview(s), unavez.DecideDone, `{"uuid":"u-1"}`)
			record := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitAnswer)
			s.wantState(record, unavez.StateDone)
			if string(record.Result.Document) != `{"uuid":"u-1"}` {
				s.t.Fatal("the document is not the one that was found")
			}
		},
		"nothing happened frees the key for a corrected request": func(s *check) {
			s.resolve(inReview(s), unavez.DecideNothingHappened, "")
			s.admitted(ownedBy(withBody(Intent("k"), `{"total":2}`), "owner-2"), unavez.AdmitSend)
		},
		"resend frees the recorded request and no other": func(s *check) {
			s.resolve(inReview(s), unavez.DecideResend, "")
			s.admitted(ownedBy(withBody(Intent("k"), `{"total":2}`), "owner-2"), unavez.AdmitReused)
			s.admitted(ownedBy(Intent("k"), "owner-3"), unavez.AdmitSend)
		},
		"who and why are kept": func(s *check) {
			id := inReview(s)
			s.resolve(id, unavez.DecideResend, "")
			history := s.load(id).History
			if len(history) != 1 || history[0].By != "ana" || history[0].Why != "looked at the console" ||
				history[0].State != unavez.StateOpen || history[0].At.IsZero() {
				s.t.Fatalf("history %+v", history)
			}
		},
		"nobody decides without a name and grounds": func(s *check) {
			id := inReview(s)
			for _, resolution := range []unavez.Resolution{
				{Decision: unavez.DecideResend, By: "ana"},
				{Decision: unavez.DecideResend, Why: "so"},
				{Decision: unavez.DecideDone, By: "ana", Why: "so"},
				{Decision: "perhaps", By: "ana", Why: "so"},
			} {
				if err := s.Journal.Resolve(context.Background(), id, resolution); err == nil {
					s.t.Fatalf("accepted %+v", resolution)
				}
			}
			s.wantState(s.load(id), unavez.StateReview)
		},
		"only a review is resolved": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.Unknown))
			resolution := unavez.Resolution{Decision: unavez.DecideResend, By: "ana", Why: "so"}
			s.wantError(s.Journal.Resolve(context.Background(), Intent("k").RecordID, resolution), unavez.ErrNotInReview)
		},
		"a review that is being looked up is not resolved": func(s *check) {
			id := inReview(s)
			s.admitted(reconciling(Intent("k")), unavez.AdmitResume)
			resolution := unavez.Resolution{Decision: unavez.DecideResend, By: "ana", Why: "so"}
			s.wantError(s.Journal.Resolve(context.Background(), id, resolution), unavez.ErrNotInReview)
		},
		"a look-up that died does not block the person": func(s *check) {
			id := inReview(s)
			s.admitted(reconciling(Intent("k")), unavez.AdmitResume)
			s.Pass(s.t, Lease+time.Second)
			s.resolve(id, unavez.DecideResend, "")
		},
		"what is not there is not resolved": func(s *check) {
			resolution := unavez.Resolution{Decision: unavez.DecideResend, By: "ana", Why: "so"}
			s.wantError(s.Journal.Resolve(context.Background(), Intent("k").RecordID, resolution), unavez.ErrNoRecord)
		},
	}
}
