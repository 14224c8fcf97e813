package journaltest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/journaltest"
)

func TestMemoryJournal(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T, check func(*testing.T, journaltest.Subject)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			check(t, journaltest.Subject{
				Journal: unavez.NewMemoryJournal(0),
				Pass:    func(_ *testing.T, d time.Duration) { time.Sleep(d) },
			})
		})
	})
}
