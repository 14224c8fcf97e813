package campaign_test

import (
	"flag"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/internal/campaign"
)

var (
	histories = flag.Uint64("histories", 2000, "how many histories the campaign plays; a tenth with -short")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first history")
)

// play plays a history in a bubble of its own.
func play(t *testing.T, history campaign.History, mode campaign.Mode, maker campaign.Maker) campaign.Report {
	t.Helper()
	var report campaign.Report
	var err error
	synctest.Test(t, func(*testing.T) { report, err = campaign.Play(history, mode, maker) })
	require.NoError(t, err)
	return report
}

func TestNoHistoryBreaksAPromise(t *testing.T) {
	t.Parallel()
	count := *histories
	if testing.Short() {
		count = max(count/10, 1)
	}
	var next atomic.Uint64
	for range runtime.GOMAXPROCS(0) {
		t.Run("worker", func(t *testing.T) {
			t.Parallel()
			for !t.Failed() {
				n := next.Add(1) - 1
				if n >= count {
					return
				}
				history := campaign.Draw(*firstSeed+n, campaign.Shape{})
				report := play(t, history, campaign.Mode{}, campaign.NewSDK)
				switch {
				case len(report.Broken) > 0:
					explain(t, history)
				case t.Failed(): // by the race detector, here or in a neighbour
					t.Logf("seed %d was being played", history.Seed)
				}
			}
		})
	}
}

// explain looks for the smallest history that still breaks the same promise.
func explain(t *testing.T, history campaign.History) {
	t.Helper()
	promise := func(report campaign.Report) string {
		if len(report.Broken) == 0 {
			return ""
		}
		name, _, _ := strings.Cut(report.Broken[0], ":")
		return name
	}
	broken := promise(play(t, history, campaign.Mode{}, campaign.NewSDK))
	smallest := campaign.Shrink(history, func(candidate campaign.History) bool {
		found := promise(play(t, candidate, campaign.Mode{}, campaign.NewSDK))
		return found != "" && found == broken
	})
	report := play(t, smallest, campaign.Mode{}, campaign.NewSDK)
	t.Errorf("%s\nreplay with: go test ./internal/campaign -args -histories 1 -seed %d\n\n%s\n%s",
		strings.Join(report.Broken, "\n"), history.Seed, smallest, report.Trace())
}
