package journaltest

import (
	"bytes"

	"github.com/unavez/unavez"
)

func factsOfBytes() facts {
	other := func(owner string) unavez.Intent {
		return ownedBy(withBody(Intent("k"), `{"total":100.01}`), owner)
	}
	return facts{
		"other bytes reuse the key": func(s *check) {
			s.ended(Intent("k"), done(`{"uuid":"u-1"}`))
			s.admitted(other("owner-2"), unavez.AdmitReused)
		},
		"other bytes do not resume": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.Unknown))
			record := s.admitted(other("owner-2"), unavez.AdmitReused)
			s.wantState(record, unavez.StateOpen)
		},
		"other bytes do not replace what is in flight": func(s *check) {
			s.begin(Intent("k"))
			s.admitted(other("owner-2"), unavez.AdmitHeld)
		},
		"corrected bytes take the place of refused ones": func(s *check) {
			s.ended(Intent("k"), refused(unavez.NextFixSameKey))
			corrected := other("owner-2")
			s.admitted(corrected, unavez.AdmitSend)
			record := s.load(corrected.RecordID)
			if record.Fingerprint != corrected.Fingerprint || !bytes.Equal(record.Body, corrected.Body) {
				s.t.Fatal("the corrected bytes are not recorded")
			}
			if record.Result.Code != "" || record.Result.Disposition != "" {
				s.t.Fatalf("the old result stays: %q", record.Result.Code)
			}
		},
		"the history keeps the fingerprint of replaced bytes": func(s *check) {
			first := Intent("k")
			s.ended(first, refused(unavez.NextFixSameKey))
			s.begin(other("owner-2"))
			history := s.load(first.RecordID).History
			if len(history) != 1 || history[0].Fingerprint != first.Fingerprint || history[0].At.IsZero() {
				s.t.Fatalf("%d entries of history, want the one of the first bytes", len(history))
			}
		},
		"other bytes do not follow another refusal": func(s *check) {
			s.ended(Intent("k"), refused(unavez.NextFixNewKey))
			s.admitted(other("owner-2"), unavez.AdmitReused)
		},
		"a failed key is tried again only when a person said so": func(s *check) {
			s.ended(Intent("k"), review(unavez.ReasonFailed, unavez.NextFixSameKey))
			s.admitted(ownedBy(Intent("k"), "owner-2"), unavez.AdmitAnswer)
			s.admitted(other("owner-3"), unavez.AdmitAnswer)
			retry := other("owner-4")
			retry.RetriesFailed = true
			s.admitted(retry, unavez.AdmitSend)
		},
	}
}

func factsOfTwins() facts {
	return facts{
		"the twin of a request with an unknown outcome goes on with the recorded bytes": func(s *check) {
			first := Intent("k")
			s.ended(first, openWith(unavez.Unknown))
			record := s.admitted(twin("owner-2"), unavez.AdmitResume)
			if record.Fingerprint != first.Fingerprint || !bytes.Equal(record.Body, first.Body) {
				s.t.Fatal("the recorded bytes are not handed out")
			}
			s.finish(record, done(`{"uuid":"u-1"}`))
			if found := s.load(first.RecordID); found.Fingerprint != first.Fingerprint || found.State != unavez.StateDone {
				s.t.Fatal("the document is not recorded for the recorded bytes")
			}
		},
		"the twin of a request that was not executed is sent with its own bytes": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.NotExecuted))
			own := twin("owner-2")
			s.admitted(own, unavez.AdmitSend)
			if record := s.load(own.RecordID); record.Fingerprint != own.Fingerprint || !bytes.Equal(record.Body, own.Body) {
				s.t.Fatal("the bytes of the twin are not recorded")
			}
		},
		"the twin of what is done is answered": func(s *check) {
			s.ended(Intent("k"), done(`{"uuid":"u-1"}`))
			s.admitted(twin("owner-2"), unavez.AdmitAnswer)
		},
	}
}

func factsOfGuards() facts {
	return facts{
		"what is open at one provider is not begun at another": func(s *check) {
			s.begin(Intent("k"))
			s.admitted(at(ownedBy(Intent("k"), "owner-2"), "payouts"), unavez.AdmitElsewhere)
		},
		"what is unknown at one provider is not begun at another": func(s *check) {
			s.ended(Intent("k"), openWith(unavez.Unknown))
			s.admitted(at(ownedBy(Intent("k"), "owner-2"), "payouts"), unavez.AdmitElsewhere)
		},
		"what is in review at one provider is not begun at another": func(s *check) {
			s.ended(Intent("k"), review(unavez.ReasonConflict, unavez.NextReview))
			s.admitted(at(ownedBy(Intent("k"), "owner-2"), "payouts"), unavez.AdmitElsewhere)
		},
		"what was refused at one provider may go to another": func(s *check) {
			s.ended(Intent("k"), refused(unavez.NextFixNewKey))
			s.admitted(at(ownedBy(Intent("k"), "owner-2"), "payouts"), unavez.AdmitSend)
		},
		"the guard holds for a record that comes back": func(s *check) {
			s.ended(Intent("k"), refused(unavez.NextResend))
			s.admitted(at(ownedBy(Intent("k"), "owner-2"), "payouts"), unavez.AdmitSend)
			s.admitted(ownedBy(Intent("k"), "owner-3"), unavez.AdmitElsewhere)
		},
		"the guard finds the record under another key": func(s *check) {
			s.begin(Intent("k"))
			elsewhere := at(ownedBy(Intent("k~1"), "owner-2"), "payouts")
			elsewhere.Identity = "k"
			s.admitted(elsewhere, unavez.AdmitElsewhere)
		},
		"a key under another identity is the same record": func(s *check) {
			s.begin(Intent("k"))
			renamed := ownedBy(Intent("k"), "owner-2")
			renamed.Identity = "another name"
			s.admitted(renamed, unavez.AdmitHeld)
		},
		"environments do not meet": func(s *check) {
			s.begin(Intent("k"))
			production := at(ownedBy(Intent("k"), "owner-2"), "payouts")
			production.Environment = unavez.Production
			s.admitted(production, unavez.AdmitSend)
		},
		"accounts do not meet": func(s *check) {
			s.begin(Intent("k"))
			other := ownedBy(withBody(Intent("k"), `{"total":1}`), "owner-2")
			other.Account = "other/test"
			s.admitted(other, unavez.AdmitSend)
		},
		"a begin that was turned away leaves no record": func(s *check) {
			first := s.begin(Intent("k"))
			elsewhere := at(ownedBy(Intent("k"), "owner-2"), "payouts")
			s.admitted(elsewhere, unavez.AdmitElsewhere)
			s.finish(first, refused(unavez.NextFixNewKey))
			s.admitted(elsewhere, unavez.AdmitSend)
		},
	}
}
