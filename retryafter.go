package unavez

import (
	"math"
	"net/http"
	"strings"
	"time"
)

const (
	maxDuration = time.Duration(math.MaxInt64)
	maxSeconds  = int64(maxDuration / time.Second)
)

// parseRetryAfter reads the Retry-After header in the grammar of RFC 9110: delay-seconds of any length, or one of the three
// forms of an HTTP date, which counts from the answer's own Date where it has one. Whatever is not more than zero or
// not in the grammar counts as absent, and is 0.
func parseRetryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if countDigits(value) == len(value) {
		return secondsToDuration(value)
	}
	at, ok := parseHTTPDate(value)
	if !ok {
		return 0
	}
	if sent, ok := parseHTTPDate(header.Get("Date")); ok {
		now = sent
	}
	return max(at.Sub(now), 0)
}

// secondsToDuration saturates: the comparison is made in seconds, before anything can overflow.
func secondsToDuration(digits string) time.Duration {
	var seconds int64
	for i := range len(digits) {
		seconds = seconds*10 + int64(digits[i]-'0')
		if seconds > maxSeconds {
			return maxDuration
		}
	}
	return time.Duration(seconds) * time.Second
}

// parseHTTPDate reads IMF-fixdate, RFC 850 and asctime dates, and IMF-fixdate with UTC or +0000 in the place of GMT. Any other
// zone is refused: time.Parse would give a zone name the offset of the host's own zone, or none.
func parseHTTPDate(value string) (time.Time, bool) {
	for _, layout := range [...]string{
		http.TimeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC, "Mon, 02 Jan 2006 15:04:05 UTC", "Mon, 02 Jan 2006 15:04:05 +0000",
	} {
		if at, err := time.Parse(layout, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
