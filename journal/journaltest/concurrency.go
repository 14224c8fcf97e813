package journaltest

import (
	"context"
	"fmt"
	"sync"

	"github.com/unavez/unavez"
)

const callers = 16

func factsOfConcurrency() facts {
	return facts{
		"of many callers with one key one is admitted": func(s *check) {
			got := s.race(func(i int) unavez.Intent { return ownedBy(Intent("k"), fmt.Sprint("owner-", i)) })
			if got[unavez.AdmitSend] != 1 || got[unavez.AdmitHeld] != callers-1 {
				s.t.Fatalf("admissions %v, want one send, the others held", got)
			}
		},
		"of many callers that take over one is admitted": func(s *check) {
			s.begin(Intent("k"))
			s.Pass(s.t, 2*Lease)
			got := s.race(func(i int) unavez.Intent { return ownedBy(Intent("k"), fmt.Sprint("taker-", i)) })
			if got[unavez.AdmitResume] != 1 || got[unavez.AdmitHeld] != callers-1 {
				s.t.Fatalf("admissions %v, want one resume, the others held", got)
			}
		},
		"of many providers with one record one is admitted": func(s *check) {
			for round := range 10 {
				got := s.race(func(i int) unavez.Intent {
					return at(ownedBy(Intent(fmt.Sprint("k-", round)), fmt.Sprint("owner-", i)), fmt.Sprint("provider-", i))
				})
				if got[unavez.AdmitSend] != 1 || got[unavez.AdmitElsewhere] != callers-1 {
					s.t.Fatalf("admissions %v, want one send, the others elsewhere", got)
				}
			}
		},
		"many keys at once are all kept": func(s *check) {
			got := s.race(func(i int) unavez.Intent { return Intent(fmt.Sprint("k-", i)) })
			if got[unavez.AdmitSend] != callers {
				s.t.Fatalf("admissions %v, want all to send", got)
			}
			for i := range callers {
				s.wantState(s.load(Intent(fmt.Sprint("k-", i)).RecordID), unavez.StateOpen)
			}
		},
	}
}

// race begins the intents at once and counts the admissions.
func (s *check) race(intent func(i int) unavez.Intent) map[unavez.Admission]int {
	s.t.Helper()
	var (
		start, wait sync.WaitGroup
		mu          sync.Mutex
		failure     error
	)
	got := make(map[unavez.Admission]int)
	start.Add(1)
	for i := range callers {
		wait.Go(func() {
			start.Wait()
			record, err := s.Journal.Begin(context.Background(), intent(i))
			mu.Lock()
			defer mu.Unlock()
			got[record.Admission]++
			if err != nil {
				failure = err
			}
		})
	}
	start.Done()
	wait.Wait()
	if failure != nil {
		s.t.Fatalf("Begin: %v", failure)
	}
	return got
}
