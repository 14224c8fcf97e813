package clients

import (
	"testing"
	"time"
)

func TestTheScriptOfThePageReadsRetryAfterAsJavaScriptDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 4 * time.Second, "soon": 4 * time.Second, "0": 4 * time.Second, "3": 3 * time.Second, "1.5": 1500 * time.Millisecond,
		"-1": time.Millisecond, "9223372036854775807": time.Millisecond, "Sat, 01 Jan 2000 00:00:20 GMT": 4 * time.Second,
	} {
		if got := scriptWait(text, 2); got != want {
			t.Errorf("Retry-After %q on the third try waits %s, expected %s", text, got, want)
		}
	}
}
