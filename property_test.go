package unavez_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// propertyRounds times rapid's own number of checks (100 unless -rapid.checks says otherwise) is how many scripts each provider
// gets: with the default, 4 × 6 × 100 = 2,400. Every round is a parallel subtest with a random seed of its own.
const propertyRounds = 6

// TestOneKeyIsOneEffectAndTheAnswerAgreesWithTheLedger plays random scripts of faults, options, callers, cancellations and
// processes against the sandbox, in virtual time. What must hold is listed in property_check_test.go. A failure prints the
// smallest script that rapid found, the traffic, and the promise that it broke.
func TestOneKeyIsOneEffectAndTheAnswerAgreesWithTheLedger(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"facty", "ipsofactura", "fiscalisto", "payouts"} {
		for round := range propertyRounds {
			t.Run(fmt.Sprintf("%s/%d", name, round), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) {
					script := drawPropertyScript(rt, name)
					// The bubble must not end the check, or rapid could not look for a smaller script.
					var broken []string
					var traffic string
					synctest.Test(t, func(t *testing.T) {
						run := newPropertyRun(t, script)
						run.play()
						if broken = run.broken; len(broken) > 0 {
							traffic = run.traffic()
						}
					})
					if len(broken) > 0 {
						rt.Fatalf("%s\nscript:\n%s\ntraffic:\n%s", broken[0], script, traffic)
					}
				})
			})
		}
	}
}
