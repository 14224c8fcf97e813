package unavez

import (
	"math"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzRetryAfter holds the parser against a slow reading of RFC 9110: digits as a big number, dates by the layouts alone.
func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{
		"", " ", "0", "1", "120", "00", "007", "-1", "+1", "1.5", "1e3", "120, 240", "0x10", "٣", "soon", "\x00", " 7 ", "7\t", "7 s",
		"9223372036", "9223372037", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
		"4294967295", "4294967296", "2147483647", "2147483648", strings.Repeat("9", 400), strings.Repeat("0", 400) + "5",
		"Wed, 21 Oct 2026 07:28:00 GMT", "Wednesday, 21-Oct-26 07:28:00 GMT", "Wed Oct 21 07:28:00 2026", "Wed Oct  1 07:28:00 2026",
		"Wed, 21 Oct 2026 07:28:00 UTC", "Wed, 21 Oct 2026 07:28:00 +0000", "Wed, 21 Oct 2026 01:28:00 CST", "Wed, 21 Oct 2026 01:28:00 -0600",
		"Wed, 21 Oct 2026 07:28:00", "2026-10-21T07:28:00Z", "Wed, 31 Feb 2026 07:28:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
		"Mon, 01 Jan 0001 00:00:00 GMT", "Wednesday, 21-Oct-26 07:28:00 CST", "Sunday, 06-Nov-94 08:49:37 GMT", "Wed, 21 Oct 2026 07:28:60 GMT",
	} {
		f.Add(value, "", int64(1_792_567_000))
		f.Add(value, "Wed, 21 Oct 2026 07:27:00 GMT", int64(0))
	}
	f.Add("Wed, 21 Oct 2026 07:28:00 GMT", "yesterday", int64(math.MaxInt32))
	f.Fuzz(func(t *testing.T, value, date string, unix int64) {
		now := time.Unix(unix%(1<<40), 0)
		header := http.Header{"Retry-After": {value}}
		if date != "" {
			header["Date"] = []string{date}
		}
		got := parseRetryAfter(header, now)
		if got < 0 {
			t.Fatalf("Retry-After %q is negative: %s", value, got)
		}
		if sent, ok := slowHTTPDate(date); ok {
			now = sent
		}
		if want := slowRetryAfter(value, now); got != want {
			t.Fatalf("Retry-After %q at %s: got %s, expected %s", value, now, got, want)
		}
	})
}

func slowRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if isOfDigits(value) {
		seconds, _ := new(big.Int).SetString(value, 10)
		nanoseconds := seconds.Mul(seconds, big.NewInt(int64(time.Second)))
		if nanoseconds.Cmp(big.NewInt(math.MaxInt64)) > 0 {
			return math.MaxInt64
		}
		return time.Duration(nanoseconds.Int64())
	}
	at, ok := slowHTTPDate(value)
	if !ok || !at.After(now) {
		return 0
	}
	difference := new(big.Int).Sub(nanosecondsOf(at), nanosecondsOf(now))
	if difference.Cmp(big.NewInt(math.MaxInt64)) > 0 {
		return math.MaxInt64
	}
	return time.Duration(difference.Int64())
}

func isOfDigits(value string) bool {
	return value != "" && strings.Trim(value, "0123456789") == ""
}

func nanosecondsOf(at time.Time) *big.Int {
	seconds := big.NewInt(at.Unix())
	return seconds.Mul(seconds, big.NewInt(int64(time.Second))).Add(seconds, big.NewInt(int64(at.Nanosecond())))
}

// slowHTTPDate is net/http's own reading, which knows the three forms and takes any zone name: only GMT may stand there. UTC and +0000 in
// an IMF-fixdate are read as GMT.
func slowHTTPDate(value string) (time.Time, bool) {
	for _, zone := range []string{" UTC", " +0000"} {
		if head, found := strings.CutSuffix(value, zone); found {
			at, err := time.Parse(http.TimeFormat, head+" GMT")
			return at, err == nil
		}
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return time.Time{}, false
	}
	if _, err := time.Parse(time.ANSIC, value); err != nil && !strings.HasSuffix(value, " GMT") {
		return time.Time{}, false
	}
	return at, true
}
