package journaltest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/unavez/unavez"
)

func factsOfFinish() facts { //nolint:funlen // a table of facts
	return facts{
		"the result is kept whole": func(s *check) {
			want := unavez.Result{
				State: unavez.StateDone, Writes: 3, Effect: unavez.Executed, HTTPStatus: 200, Code: "OK", RequestID: "req-9",
				Document: json.RawMessage(`{"uuid": "u-1", "total": 100.00}`), Replayed: true,
			}
			s.ended(Intent("k"), want)
			record := s.load(Intent("k").RecordID)
			got := record.Result
			if got.State != want.State || got.Writes != 3 || record.Writes != 3 || got.Effect != want.Effect || got.HTTPStatus != 200 ||
				got.Code != "OK" || got.RequestID != "req-9" || string(got.Document) != string(want.Document) || !got.Replayed {
				s.t.Fatalf("state %q, %d writes, effect %q, status %d", got.State, got.Writes, got.Effect, got.HTTPStatus)
			}
		},
		"finishing gives the claim back": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.NotExecuted))
			if held := s.load(Intent("k").RecordID).HeldFor; held != 0 {
				s.t.Fatalf("held for %s", held)
			}
		},
		"a text that no text column takes does not lose the outcome": func(s *check) {
			result := done(`{"uuid":"u-1"}`)
			result.Code, result.RequestID = "a\x00b", "\xff\xfe"
			s.ended(Intent("k"), result)
			s.wantState(s.load(Intent("k").RecordID), unavez.StateDone)
		},
		"a claim is finished once": func(s *check) {
			record := s.begin(Intent("k"))
			s.finish(record, refused(unavez.NextFixSameKey))
			s.wantError(s.Journal.Finish(context.Background(), record.Claim, openWith(unavez.Unknown)), unavez.ErrClaimLost)
			s.wantState(s.load(Intent("k").RecordID), unavez.StateRefused)
		},
		"a lost claim finishes nothing": func(s *check) {
			first := s.begin(Intent("k"))
			s.Pass(s.t, Lease+time.Second)
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitResume)
			s.wantError(s.Journal.Finish(context.Background(), first.Claim, refused(unavez.NextResend)), unavez.ErrClaimLost)
			s.wantState(s.load(Intent("k").RecordID), unavez.StateOpen)
		},
		"a document is recorded though the claim was lost": func(s *check) {
			first := s.begin(Intent("k"))
			s.Pass(s.t, Lease+time.Second)
			second := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitResume)
			if err := s.Journal.Finish(context.Background(), first.Claim, done(`{"uuid":"u-1"}`)); err != nil {
				s.t.Fatalf("Finish of the lost claim: %v", err)
			}
			s.wantError(s.Journal.Finish(context.Background(), second.Claim, openWith(unavez.Unknown)), unavez.ErrClaimLost)
			record := s.load(Intent("k").RecordID)
			s.wantState(record, unavez.StateDone)
			if string(record.Result.Document) != `{"uuid":"u-1"}` {
				s.t.Fatal("the document is not the one that came")
			}
		},
		"the first document stays": func(s *check) {
			first := s.begin(Intent("k"))
			s.Pass(s.t, Lease+time.Second)
			second := s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitResume)
			s.finish(second, done(`{"uuid":"u-1"}`))
			if err := s.Journal.Finish(context.Background(), first.Claim, done(`{"uuid":"u-2"}`)); err != nil {
				s.t.Fatalf("Finish of the lost claim: %v", err)
			}
			if document := s.load(Intent("k").RecordID).Result.Document; string(document) != `{"uuid":"u-1"}` {
				s.t.Fatal("the first document was replaced")
			}
		},
		"a claim on no record cannot be finished": func(s *check) {
			claim := unavez.Claim{RecordID: Intent("k").RecordID, Owner: "owner-1"}
			s.wantError(s.Journal.Finish(context.Background(), claim, refused(unavez.NextResend)), unavez.ErrNoRecord)
		},
		"there is nothing to load": func(s *check) {
			_, err := s.Journal.Load(context.Background(), Intent("k").RecordID)
			s.wantError(err, unavez.ErrNoRecord)
		},
	}
}
