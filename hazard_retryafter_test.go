package unavez_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// integerLimits are numbers at and around every limit at which seconds, or the nanoseconds that they stand for, overflow.
func integerLimits() []string {
	var numbers []string
	for _, limit := range []uint64{
		math.MaxInt8, math.MaxUint8, math.MaxInt16, math.MaxUint16, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MaxUint64 - 1,
		math.MaxInt64 / uint64(time.Second), math.MaxUint64 / uint64(time.Second), math.MaxInt32 / 1000, 1 << 53,
	} {
		for _, number := range []uint64{limit - 1, limit, limit + 1} {
			numbers = append(numbers, strconv.FormatUint(number, 10))
		}
	}
	for _, length := range []int{19, 20, 21, 39, 40, 100, 1000, 8000} {
		numbers = append(numbers, strings.Repeat("9", length), "1"+strings.Repeat("0", length))
	}
	return numbers
}

// seconds says what a number of seconds is as a time that can be waited: the largest one if it is larger.
func seconds(number string) time.Duration {
	value, err := strconv.ParseUint(number, 10, 64)
	if err != nil || value > uint64(math.MaxInt64/int64(time.Second)) {
		return math.MaxInt64
	}
	return time.Duration(value) * time.Second
}

func TestRetryAfterOfAnySizeIsNeverAnEarlyOrNegativeWait(t *testing.T) {
	t.Parallel()
	for _, number := range integerLimits() {
		name := number
		if len(name) > 24 {
			name = fmt.Sprintf("%s of %d digits", number[:1], len(number))
		}
		for _, provider := range allProviders() {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, provider), newMock(t, provider)
					asked := seconds(number)
					b.play(answer(429, "", "Retry-After: "+number))
					if asked <= 30*time.Second {
						b.play(answer(201, c.success))
					}

					_, err := c.do(t.Context(), b.client, testKey)

					if asked <= 30*time.Second {
						require.NoError(t, err)
						require.Equal(t, asked, b.writes()[1].At)
						return
					}
					e := requireError(t, err)
					require.Equal(t, unavez.RetryLater, e.Disposition)
					require.Equal(t, asked, e.RetryAfter, "the wait as asked, saturated")
					require.True(t, e.RetryAt.After(time.Now()), "RetryAt %s is not in the future", e.RetryAt)
					require.Len(t, b.all(), 1, "a second attempt before the time")
					require.Zero(t, time.Since(b.began), "time that was slept in vain")
				})
			})
		}
	}
}

func TestRetryAfterThatSaysNothingCountsAsAbsent(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "0", "00", "-0", "-1", "-9223372036854775808", "+5", "1.5", "1e3", "0x10", "5 s", "5s", "5,6", "5;6", "120, 240", "soon", "\u0665", "5 5",
		"Sat, 01 Jan 2000 00:00:00 GMT", "Fri, 31 Dec 1999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "2000-01-01T00:00:10Z",
		"Sat, 01 Jan 2000 00:00:10 CST", "Sat, 01 Jan 2000 00:00:10 EST", "Sat, 01 Jan 2000 00:00:10 -0600", "Sat, 01 Jan 2000 00:00:10 Z",
		"Sat, 01 Jan 2000 00:00:10", "Saturday, 01-Jan-00 00:00:10 CST", "Sat, 1 Jan 2000 00:00:10 BST", "Sat, 32 Jan 2000 00:00:10 GMT",
	} {
		t.Run(strconv.Quote(value), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, atFiscalisto), newMock(t, atFiscalisto)
				for range 4 {
					b.play(answer(429, "", "Retry-After: "+value))
				}
				b.play(answer(201, c.success))

				_, err := c.do(t.Context(), b.client, testKey)

				require.NoError(t, err)
				require.Equal(t, at(0, 1, 3, 7, 15), times(b.writes()), "the ladder of 1, 2, 4, 8 s")
			})
		})
	}
}

// dateForms are the legal forms of one moment: ten seconds after the virtual time begins.
func dateForms() map[string]string {
	return map[string]string{
		"IMF-fixdate": "Sat, 01 Jan 2000 00:00:10 GMT",
		"RFC 850":     "Saturday, 01-Jan-00 00:00:10 GMT",
		"asctime":     "Sat Jan  1 00:00:10 2000",
		"UTC":         "Sat, 01 Jan 2000 00:00:10 UTC",
		"+0000":       "Sat, 01 Jan 2000 00:00:10 +0000",
	}
}

func TestRetryAfterDateIsTheSameMomentInEveryForm(t *testing.T) {
	t.Parallel()
	for name, value := range dateForms() {
		for _, provider := range allProviders() {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, provider), newMock(t, provider)
					b.play(answer(429, "", "Retry-After: "+value), answer(201, c.success))

					_, err := c.do(t.Context(), b.client, testKey)

					require.NoError(t, err)
					require.Equal(t, at(0, 10), times(b.writes()))
				})
			})
		}
	}
}

func TestRetryAfterDateDoesNotDependOnTheZoneOfTheHost(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "America/Mexico_City", "Asia/Kolkata"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), os.Args[0],
				"-test.run=^(TestRetryAfterDateIsTheSameMomentInEveryForm|TestRetryAfterThatSaysNothingCountsAsAbsent)$", "-test.count=1")
			command.Env = append(os.Environ(), "TZ="+zone)
			output, err := command.CombinedOutput()
			require.NoError(t, err, "%s", output)
			require.Contains(t, string(output), "PASS")
		})
	}
}

// waitingAnswer is an answer of a provider after which the same request is sent again.
type waitingAnswer struct {
	provider string
	status   int
	body     string
}

// waitingAnswers are all answers after which the pages say to wait.
func waitingAnswers() []waitingAnswer {
	rows := []waitingAnswer{
		{atFacty, 429, `{"code":"RATE_LIMITED"}`},
		{atFacty, 425, ``},
		{atIpsofactura, 409, `{"code":"DUPLICATE_IN_PROGRESS"}`},
		{atIpsofactura, 503, `{"code":"STAMPING_OUTCOME_UNKNOWN"}`},
		{atPayouts, 409, `{"error":{"code":"idempotency_request_in_flight"}}`},
		{atPayouts, 502, `{"error":{"code":"provider_error"}}`},
		{atPayouts, 503, `{"error":{"code":"no_provider_available"}}`},
		{atFiscalisto, 409, `{"error":{"code":"request_in_progress"}}`},
		{atFiscalisto, 202, `{"id":"inv_1"}`},
	}
	for _, provider := range []string{atIpsofactura, atPayouts, atFiscalisto} {
		for _, status := range []int{408, 425, 429, 500, 502, 503, 504, 599} {
			rows = append(rows, waitingAnswer{provider, status, ""})
		}
	}
	return rows
}

func TestRetryAfterIsNeitherShortenedNorSleptPastTheCapOrTheDeadline(t *testing.T) {
	t.Parallel()
	for _, row := range waitingAnswers() {
		for _, limit := range []struct {
			name          string
			cap, deadline time.Duration
			asked         int
			isSlept       bool
		}{
			{"neither", 2 * time.Hour, 0, 3600, true},
			{"at the cap", time.Hour, 0, 3600, true},
			{"above the cap", time.Hour - 1, 0, 3600, false},
			{"default cap", 30 * time.Second, 0, 3600, false},
			{"at the default cap", 30 * time.Second, 0, 30, true},
			{"before the deadline", 2 * time.Hour, time.Hour + 1, 3600, true},
			{"at the deadline", 2 * time.Hour, time.Hour, 3600, false},
			{"past the deadline", 2 * time.Hour, 10 * time.Second, 3600, false},
			{"above the cap, past the deadline", time.Second, time.Second, 3600, false},
			{"the call never sleeps", 0, 0, 1, false},
		} {
			t.Run(fmt.Sprintf("%s %d %s %s", row.provider, row.status, row.body, limit.name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { requireWait(t, row, limit.cap, limit.deadline, limit.asked, limit.isSlept) })
			})
		}
	}
}

func requireWait(t *testing.T, row waitingAnswer, limit, deadline time.Duration, asked int, isSlept bool) {
	t.Helper()
	c, b := mainCase(t, row.provider), newMock(t, row.provider)
	b.play(answer(row.status, row.body, "Retry-After: "+strconv.Itoa(asked)))
	if isSlept {
		b.play(answer(201, c.success))
	}
	ctx := t.Context()
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}

	_, err := c.do(ctx, b.client, testKey, unavez.WithMaxWait(limit))

	wait := time.Duration(asked) * time.Second
	if isSlept {
		require.NoError(t, err)
		require.Equal(t, []time.Duration{0, wait}, times(b.writes()), "the wait is exactly what was asked")
		return
	}
	e := requireError(t, err)
	require.Equal(t, unavez.RetryLater, e.Disposition)
	require.Zero(t, time.Since(b.began), "time that was slept in vain")
	require.Len(t, b.all(), 1)
	if row.provider == atPayouts && e.Effect == unavez.Unknown && asked < 60 {
		require.GreaterOrEqual(t, e.RetryAfter, wait, "a payout that was cut is in flight for a minute")
	} else {
		require.Equal(t, wait, e.RetryAfter)
	}
	requireRetryAt(t, e)
	require.Equal(t, row.status, e.HTTPStatus)
}

func TestLookupWaitsAsFactyAsksAfterAnAmbiguousAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 409, 500, 502, 503, 504} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, atFacty), newMock(t, atFacty)
				b.play(answer(status, "", "Retry-After: 7"), answer(200, `{"invoices":[{"id":"inv_1","uuid":"`+testUUID+
					`","idempotencyKey":"`+testKey+`","status":"stamped"}]}`))

				made, err := c.do(t.Context(), b.client, testKey)

				require.NoError(t, err)
				require.Equal(t, testUUID, made.UUID)
				require.Equal(t, at(7), times(b.lookups()), "asked earlier than the answer said")
			})
		})
	}
}

func TestRetryAfterOfTheBodyIsReadWhereItsPageHasIt(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]time.Duration{
		`"retry_after":60`: time.Minute, `"retry_after":"60"`: time.Minute, `"retry_after":0`: time.Second, `"retry_after":-5`: time.Second,
		`"retry_after":null`: time.Second, `"retry_after":[60]`: time.Second, `"retry_after":1.5`: time.Second, `"retry_after":true`: time.Second,
		`"retry_after":9223372036854775807`: math.MaxInt64, `"retry_after":9223372037`: math.MaxInt64, `"retry_after":1e3`: time.Second,
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, b := mainCase(t, atIpsofactura), newMock(t, atIpsofactura, unavez.WithMaxWait(0))
				b.play(answer(503, `{"code":"STAMPING_OUTCOME_UNKNOWN",`+body+`}`))

				_, err := c.do(t.Context(), b.client, testKey)

				e := requireError(t, err)
				require.Equal(t, want, e.RetryAfter)
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
			})
		})
	}
}
