package unavez_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// How long the client waits: Retry-After, the ladder of 1, 2, 4, 8 s, the cap, the deadline, the budget and the jitter.

func TestRowsWaits(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		runRows(t, provider, retryAfterRows(c))
		runRows(t, provider, capRows(c.success))
		runRows(t, provider, budgetRows())
	}
}

func slow(headers ...string) reply { return answer(429, "", headers...) }

func retryAfterRows(c writeCase) []row {
	done := answer(201, c.success)
	ladder := []float64{0, 1, 3, 7, 15}
	date := func(value string) reply { return slow("Date: Sat, 01 Jan 2000 00:00:00 GMT", "Retry-After: "+value) }
	rows := []row{
		{fact: "without Retry-After the ladder is 1 2 4 8", answers: then(repeated(4, slow()), done), sends: ladder, want: aDocument()},
		{fact: "Retry-After longer than the step is waited", answers: then(slow("Retry-After: 20"), done), sends: []float64{0, 20}, want: aDocument()},
		{
			fact: "Retry-After shorter than the step is taken as it is", answers: then(slow(), slow(), slow("Retry-After: 1"), done),
			sends: []float64{0, 1, 3, 4}, want: aDocument(),
		},
		{
			fact: "the ladder does not restart after a Retry-After", answers: then(slow(), slow("Retry-After: 5"), slow(), done),
			sends: []float64{0, 1, 6, 10}, want: aDocument(),
		},
		{
			fact: "Retry-After as a date counts from the answer's own Date", answers: then(date("Sat, 01 Jan 2000 00:00:07 GMT"), done),
			sends: []float64{0, 7}, want: aDocument(),
		},
		{fact: "RFC 850 date", answers: then(date("Saturday, 01-Jan-00 00:00:07 GMT"), done), sends: []float64{0, 7}, want: aDocument()},
		{fact: "asctime date", answers: then(date("Sat Jan  1 00:00:07 2000"), done), sends: []float64{0, 7}, want: aDocument()},
		{fact: "date without a Date header counts from now", answers: then(slow("Retry-After: Sat, 01 Jan 2000 00:00:09 GMT"), done), sends: []float64{0, 9}, want: aDocument()},
		{fact: "date in UTC", answers: then(date("Sat, 01 Jan 2000 00:00:07 UTC"), done), sends: []float64{0, 7}, want: aDocument()},
		{fact: "Retry-After of every answer", answers: then(slow("Retry-After: 3"), slow("Retry-After: 30"), done), sends: []float64{0, 3, 33}, want: aDocument()},
	}
	for name, value := range map[string]string{
		"zero": "0", "negative": "-5", "fraction": "1.5", "list": "120, 240", "word": "soon", "past date": "Fri, 31 Dec 1999 23:59:00 GMT",
		"named zone": "Sat, 01 Jan 2000 00:00:07 CST", "zero with zeros": "000", "plus sign": "+7",
	} {
		rows = append(rows, row{
			fact: name + " Retry-After is the ladder's step", answers: then(repeated(2, slow("Retry-After: "+value)), done), sends: []float64{0, 1, 3}, want: aDocument(),
		})
	}
	return rows
}

func capRows(success string) []row {
	done := answer(201, success)
	later := func(after float64) want {
		return retryLater(unavez.NotExecuted, unavez.NextResend, after).http(429, "")
	}
	cap3 := []unavez.CallOption{unavez.WithMaxWait(3 * time.Second)}
	return []row{
		{fact: "Retry-After at the cap is slept", answers: then(slow("Retry-After: 30"), done), sends: []float64{0, 30}, want: aDocument()},
		{fact: "Retry-After above the cap ends the call at once with the time", answers: then(slow("Retry-After: 31")), sends: []float64{0}, want: later(31)},
		{fact: "Retry-After of an hour is not slept", answers: then(slow("Retry-After: 3600")), sends: []float64{0}, want: later(3600)},
		{
			fact: "Retry-After beyond every integer saturates", answers: then(slow("Retry-After: 99999999999999999999999")), sends: []float64{0},
			want: want{
				disposition: unavez.RetryLater, effect: unavez.NotExecuted, next: unavez.NextResend, after: 1<<63 - 1, status: 429,
			},
		},
		{
			fact: "step above the cap is not slept either", options: cap3, answers: repeated(3, slow()), sends: []float64{0, 1, 3}, want: later(4),
		},
		{fact: "cap of zero never sleeps", options: []unavez.CallOption{unavez.WithMaxWait(0)}, answers: then(slow()), sends: []float64{0}, want: later(1)},
		{fact: "Retry-After beyond the deadline ends the call at once", deadline: 10 * time.Second, answers: then(slow("Retry-After: 20")), sends: []float64{0}, want: later(20)},
		{fact: "step beyond the deadline ends the call at once", deadline: 6 * time.Second, answers: repeated(3, slow()), sends: []float64{0, 1, 3}, want: later(4)},
		{
			fact: "refused dials beyond the deadline end at once", deadline: 6 * time.Second, answers: repeated(3, noConnection()),
			sends: []float64{0, 1, 3}, want: retryLater(unavez.NotSent, unavez.NextResend, 4),
		},
	}
}

func budgetRows() []row {
	later := func(after float64) want {
		return retryLater(unavez.NotExecuted, unavez.NextResend, after).http(429, "")
	}
	tries := func(n int) []unavez.CallOption { return []unavez.CallOption{unavez.WithMaxAttempts(n)} }
	return []row{
		{fact: "one attempt is one send and no wait", options: tries(1), answers: then(slow()), sends: []float64{0}, want: later(1)},
		{fact: "one attempt keeps what Retry-After said", options: tries(1), answers: then(slow("Retry-After: 9")), sends: []float64{0}, want: later(9)},
		{fact: "one attempt that finds no connection", options: tries(1), answers: then(noConnection()), sends: []float64{0}, want: retryLater(unavez.NotSent, unavez.NextResend, 1)},
		{fact: "two attempts", options: tries(2), answers: repeated(2, slow()), sends: []float64{0, 1}, want: later(2)},
		{fact: "the ladder stays at 8 s", options: tries(8), answers: repeated(8, slow()), sends: []float64{0, 1, 3, 7, 15, 23, 31, 39}, want: later(8)},
		{
			fact: "the last Retry-After is told", answers: then(repeated(4, slow()), slow("Retry-After: 25")), sends: []float64{0, 1, 3, 7, 15}, want: later(25),
		},
		{
			fact: "refused dials and answers share one budget", answers: then(noConnection(), slow(), noConnection(), slow(), slow()),
			sends: []float64{0, 1, 3, 7, 15}, want: later(8),
		},
	}
}

func TestRowsWaitsAfterAnAmbiguity(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atFiscalisto, atPayouts} {
		c := mainCase(t, provider)
		unknown := func(after float64) want { return unknownOutcome(unavez.NextResend, afterLoss(provider, after)) }
		runRows(t, provider, []row{
			{fact: "500 with Retry-After waits it", answers: then(answer(500, "", "Retry-After: 12"), answer(201, c.success)), sends: []float64{0, 12}, want: aDocument()},
			{fact: "500 with a long Retry-After ends at once", answers: then(answer(500, "", "Retry-After: 90")), sends: []float64{0}, want: unknown(90).http(500, "")},
			{
				fact: "one attempt that is lost", options: []unavez.CallOption{unavez.WithMaxAttempts(1)}, answers: then(lostAnswer()), sends: []float64{0},
				want: unknown(1),
			},
			{
				fact: "cap of zero after a loss", options: []unavez.CallOption{unavez.WithMaxWait(0)}, answers: then(lostAnswer()), sends: []float64{0}, want: unknown(1),
			},
			{fact: "deadline before the next step", deadline: 6 * time.Second, answers: repeated(3, lostAnswer()), sends: []float64{0, 1, 3}, want: unknown(4)},
			{
				fact: "good answer without proof keeps its Retry-After", answers: then(answer(200, "", "Retry-After: 6"), answer(201, c.success)),
				sends: []float64{0, 6}, want: aDocument(),
			},
		})
	}
}

func TestRowsJitterOnlyLengthensAWait(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		synctest.Test(t, func(t *testing.T) {
			isLonger := false
			for range 20 {
				b := newMock(t, provider, unavez.WithJitter(0.5), unavez.WithMaxWait(10*time.Second)).play(then(repeated(4, slow()), answer(201, c.success))...)
				_, err := c.do(t.Context(), b.client, testKey)
				require.NoError(t, err)
				moments := times(b.writes())
				for i, step := range at(1, 2, 4, 8) {
					waited := moments[i+1] - moments[i]
					require.GreaterOrEqual(t, waited, step, "jitter must not shorten a wait")
					require.LessOrEqual(t, waited, min(step*3/2, 10*time.Second), "jitter stays within its fraction and the cap")
					isLonger = isLonger || waited > step
				}
			}
			require.True(t, isLonger, "jitter lengthens")
		})
	}
}

func TestRowsJitterLengthensARetryAfterAsWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atIpsofactura)
		b := newMock(t, atIpsofactura, unavez.WithJitter(1)).play(slow("Retry-After: 20"), answer(201, c.success))
		_, err := c.do(t.Context(), b.client, testKey)
		require.NoError(t, err)
		require.GreaterOrEqual(t, b.writes()[1].At, 20*time.Second)
		require.LessOrEqual(t, b.writes()[1].At, 30*time.Second)
	})
}

func TestRowsAttemptsTellWhenTheyWereAndHowLongTheyTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atFiscalisto)
		b := newMock(t, atFiscalisto, unavez.WithMaxAttempts(3), unavez.WithTimeout(5*time.Second))
		b.play(noConnection(), silence(), answer(503, errorBody(atFiscalisto, "BUSY"), "X-Request-Id: r_9").late(time.Second))
		_, err := c.do(t.Context(), b.client, testKey)
		e := requireError(t, err)
		requireAttempts(t, e, b.all())
		var waited, took []time.Duration
		var effects []unavez.Effect
		for _, attempt := range e.Attempts {
			waited, took, effects = append(waited, attempt.Waited), append(took, attempt.Duration), append(effects, attempt.Effect)
		}
		require.Equal(t, at(0, 1, 2), waited)
		require.Equal(t, at(0, 5, 1), took)
		require.Equal(t, []unavez.Effect{unavez.NotSent, unavez.Unknown, unavez.Unknown}, effects)
		require.Error(t, e.Attempts[0].Err)
		require.ErrorIs(t, e.Attempts[1].Err, context.DeadlineExceeded)
		require.NoError(t, e.Attempts[2].Err)
		require.Equal(t, 503, e.Attempts[2].HTTPStatus)
		require.Equal(t, "BUSY", e.Attempts[2].Code)
	})
}
