package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unavez/unavez/internal/campaign"
)

// config is what the command was asked for.
type config struct {
	histories, compare, seed uint64
	isTraced, goesOn         bool
	document                 string
	workers                  int
}

func (c *config) run(t *testing.T) {
	t.Helper()
	if c.histories > 0 {
		c.prove(t)
	}
	if c.compare > 0 && !t.Failed() {
		if err := c.tabulate(t); err != nil {
			t.Error(err)
		}
	}
}

// player plays histories with one client.
type player struct {
	mode  campaign.Mode
	maker campaign.Maker
	shape campaign.Shape
}

// play plays one history in a bubble of its own.
func (p *player) play(t *testing.T, history campaign.History) (report campaign.Report) {
	t.Helper()
	var err error
	synctest.Test(t, func(*testing.T) { report, err = campaign.Play(history, p.mode, p.maker) })
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// all plays count histories from a seed on, several at a time, and hands each report over, one at a time.
func (p *player) all(t *testing.T, workers int, seed, count uint64, take func(*testing.T, campaign.History, campaign.Report)) {
	t.Helper()
	var mu sync.Mutex
	next := seed
	draw := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		drawn := next
		next++
		return drawn, drawn < seed+count
	}
	t.Run("workers", func(t *testing.T) {
		for range workers {
			t.Run("worker", func(t *testing.T) {
				t.Parallel()
				for number, ok := draw(); ok && !t.Failed(); number, ok = draw() {
					history := campaign.Draw(number, p.shape)
					report := p.play(t, history)
					mu.Lock()
					take(t, history, report)
					mu.Unlock()
				}
			})
		}
	})
}

// prove plays the histories of the SDK and shows the smallest one that breaks a promise.
func (c *config) prove(t *testing.T) {
	t.Helper()
	player := player{maker: campaign.NewSDK}
	began, broken := time.Now(), map[string]int{}
	var total campaign.Tally
	player.all(t, c.workers, c.seed, c.histories, func(t *testing.T, history campaign.History, report campaign.Report) {
		t.Helper()
		total.Add(report.Tally)
		if c.isTraced {
			fmt.Fprintf(os.Stdout, "%s\n%s\n", history, report.Trace())
		}
		if total.Histories%10_000 == 0 {
			fmt.Fprintf(os.Stderr, "%d histories in %s\n", total.Histories, time.Since(began).Round(time.Second))
		}
		if len(report.Broken) == 0 {
			return
		}
		sort := sortOf(report)
		broken[sort]++
		if broken[sort] == 1 {
			player.explain(t, history)
		}
		if !c.goesOn {
			t.Fail()
		}
	})
	fmt.Fprintf(os.Stdout, "%d histories from seed %d: %d operations, %d requests, in %s\n", total.Histories, c.seed, total.Operations, total.Requests,
		time.Since(began).Round(time.Millisecond))
	fmt.Fprintf(os.Stdout, "ended as: %d done, %d refused, %d with a person, %d open for a reason that is still there\n",
		total.Done, total.Refused, total.Review, total.Open)
	sorts := make([]string, 0, len(broken))
	for sort := range broken {
		sorts = append(sorts, sort)
	}
	slices.Sort(sorts)
	for _, sort := range sorts {
		t.Errorf("broken in %d histories: %s", broken[sort], sort)
	}
}

var varying = regexp.MustCompile(`\d[0-9a-zµ.]*|\b[0-9A-F]{8}-[0-9A-F-]+`)

// sortOf is the first broken promise without what differs from history to history.
func sortOf(report campaign.Report) string { return varying.ReplaceAllString(report.Broken[0], "…") }

// explain prints the smallest history that breaks the same promise.
func (p *player) explain(t *testing.T, history campaign.History) {
	t.Helper()
	promise := func(report campaign.Report) string {
		if len(report.Broken) == 0 {
			return ""
		}
		name, _, _ := strings.Cut(report.Broken[0], ":")
		return name
	}
	broken := promise(p.play(t, history))
	smallest := campaign.Shrink(history, func(candidate campaign.History) bool {
		found := promise(p.play(t, candidate))
		return found != "" && found == broken
	})
	report := p.play(t, smallest)
	fmt.Fprintf(os.Stdout, "%s\nreplay with: go run ./campaign -seed %d -histories 1 -trace\nthe smallest history that was found:\n%s\n%s\n",
		strings.Join(report.Broken, "\n"), history.Seed, smallest, report.Trace())
}
