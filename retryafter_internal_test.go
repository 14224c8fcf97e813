package unavez

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfterInSeconds(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"1": time.Second, "120": 2 * time.Minute, "007": 7 * time.Second, "0": 0, "000": 0,
		"9223372036": 9223372036 * time.Second, "9223372037": math.MaxInt64, "9223372036854775807": math.MaxInt64,
		"9223372036854775808": math.MaxInt64, "18446744073709551617": math.MaxInt64, "99999999999999999999999999999999": math.MaxInt64,
	} {
		require.Equal(t, want, parseRetryAfter(http.Header{"Retry-After": {value}}, time.Unix(0, 0)), value)
		require.Equal(t, want, parseRetryAfter(http.Header{"Retry-After": {" " + value + "\t"}}, time.Unix(0, 0)), value)
	}
}

func TestRetryAfterOutsideTheGrammarCountsAsAbsent(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", " ", "-1", "+1", "1.5", "1e3", "120, 240", "0x10", "٣", "soon", "7 s", "2026-10-21T07:28:00Z", "Wed, 21 Oct 2026 07:28:00",
		"Wed, 21 Oct 2026 01:28:00 CST", "Wed, 21 Oct 2026 01:28:00 -0600", "Wednesday, 21-Oct-26 07:28:00 CST", "Wed, 32 Oct 2026 07:28:00 GMT",
		"Wednesday, 21-Oct-26 07:28:00 UTC",
	} {
		require.Zero(t, parseRetryAfter(http.Header{"Retry-After": {value}}, time.Unix(0, 0)), value)
	}
}

func TestRetryAfterAsADateInEveryLegalForm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 21, 7, 27, 30, 0, time.UTC)
	for _, value := range []string{
		"Wed, 21 Oct 2026 07:28:00 GMT", "Wednesday, 21-Oct-26 07:28:00 GMT", "Wed Oct 21 07:28:00 2026", "Wed, 21 Oct 2026 07:28:00 UTC",
		"Wed, 21 Oct 2026 07:28:00 +0000",
	} {
		for _, zone := range []string{"UTC", "America/Mexico_City", "Asia/Kolkata"} {
			location, err := time.LoadLocation(zone)
			require.NoError(t, err)
			require.Equal(t, 30*time.Second, parseRetryAfter(http.Header{"Retry-After": {value}}, now.In(location)), value)
		}
	}
}

func TestRetryAfterAsADateCountsFromTheAnswersOwnDate(t *testing.T) {
	t.Parallel()
	header := http.Header{"Retry-After": {"Wed, 21 Oct 2026 07:28:00 GMT"}, "Date": {"Wed, 21 Oct 2026 07:26:00 GMT"}}
	clock := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, 2*time.Minute, parseRetryAfter(header, clock), "a local clock that is years ahead changes nothing")

	header.Set("Date", "today")
	require.Zero(t, parseRetryAfter(header, clock), "without a readable Date the local clock counts")
}

func TestRetryAfterInThePastIsNoWait(t *testing.T) {
	t.Parallel()
	header := http.Header{"Retry-After": {"Wed, 21 Oct 2026 07:28:00 GMT"}}
	for _, now := range []time.Time{
		time.Date(2026, 10, 21, 7, 28, 0, 0, time.UTC), time.Date(2026, 10, 21, 7, 28, 1, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		require.Zero(t, parseRetryAfter(header, now))
	}
}
