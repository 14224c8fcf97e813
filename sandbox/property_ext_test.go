package sandbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unavez/unavez/sandbox"
)

// effectsOf sends one write again and again through a script, and a few times
// more, and returns how many effects there are in the end.
func effectsOf(t *testing.T, p sandbox.Provider, script []sandbox.Fault) int {
	t.Helper()
	effects := 0
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.Script(script...)
		for range len(script) + 3 {
			b.sendWithin(30*time.Second, p)
			time.Sleep(10 * time.Second)
		}
		b.Advance(2 * time.Hour)
		effects = b.Effects(key)
	})
	return effects
}
