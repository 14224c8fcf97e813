package unavez_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// TestRowsAPersonIsToldWhatThePageSays holds Explain against the sentence of the page that decided, also where another rule
// would have decided the same.
func TestRowsAPersonIsToldWhatThePageSays(t *testing.T) {
	t.Parallel()
	type said struct {
		status int
		code   string
		says   string
	}
	const created = 201
	for provider, rows := range map[string][]said{
		atFacty: {
			{400, "X", "correct it and send it under the same key"},
			{401, "UNAUTHORIZED", "API key is missing or wrong"},
			{403, "MISSING_SCOPE", "lacks a right, or belongs to another organisation"},
			{402, "INSUFFICIENT_TIMBRES", "no stamps left"},
			{422, "X", "correct it and send it under the same key"},
			{429, "RATE_LIMITED", "the one answer after which the same request is sent again"},
		},
		atIpsofactura: {
			{422, "IDEMPOTENCY_KEY_REUSED", "another body, and nothing ran"},
			{400, "VALIDATION_ERROR", "header and body name different keys"},
			{400, "X", "refused for what it holds"},
			{404, "X", "does not exist"},
			{422, "X", "the document was refused for what it holds"},
			{409, "DUPLICATE_IN_PROGRESS", "still in progress"},
			{401, "X", "credentials were refused; the key is free again"},
			{402, "X", "limit of the trial"},
			{403, "X", "not active and can be activated"},
			{408, "X", "the server gave up waiting"},
			{429, "X", "too many requests; the key is free again"},
			{500, "X", "not kept with the key"},
			{503, "X", "not kept with the key"},
			{503, "STAMPING_OUTCOME_UNKNOWN", "never another key or folio"},
		},
		atFiscalisto: {
			{400, "idempotency_key_missing", "drops the header Idempotency-Key"},
			{400, "idempotency_key_invalid", "8 to 255 ASCII characters"},
			{202, "", "has not answered yet"},
			{409, "request_in_progress", "still stamping"},
			{409, "idempotency_key_reused", "another body or for another route"},
			{422, "invoice_invalid", "never reached the PAC"},
			{422, "invoice_rejected", "a corrected one takes a new key"},
			{402, "X", "no stamps are left"},
			{403, "X", "lacks a right; the answer stays the same"},
			{400, "X", "correct it and send it under the same key"},
			{429, "X", "too many requests"},
			{500, "X", "never stamps twice"},
		},
		atPayouts: {
			{409, "idempotency_key_reused", "another order of the members"},
			{409, "idempotency_request_in_flight", "has not ended"},
			{409, "quote_already_consumed", "a payout for this quote exists"},
			{502, "provider_error", "an upstream provider failed"},
			{503, "no_provider_available", "nobody can pay at the moment"},
			{429, "rate_limited", "more slowly"},
			{400, "X", "under a new key, for its body changes"},
			{422, "X", "under a new key, for its body changes"},
			{created, "failed", "another quote under a new key"},
			{created, "unknown", "under no key and no quote"},
			{401, "X", "credentials were refused"},
			{402, "X", "nothing left"},
			{403, "X", "lacks a right"},
			{409, "X", "not documented"},
			{302, "", "never followed"},
		},
	} {
		for _, row := range rows {
			body := errorBody(provider, row.code)
			if row.status == created {
				body = `{"id":"po_1","status":"` + row.code + `"}`
			}
			require.Contains(t, explained(t, provider, answer(row.status, body)), row.says, "%s %d %s", provider, row.status, row.code)
		}
	}
}

func TestRowsAStateThatDecidesIsNamed(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"failed", "unknown"} {
		require.Contains(t, explained(t, atPayouts, answer(200, `{"id":"po_1","status":"`+word+`"}`)), "the provider's status is "+word)
	}
	require.NotContains(t, explained(t, atPayouts, answer(400, errorBody(atPayouts, "x"))), "the provider's status is")
}

func TestRowsAPersonIsNotToldWhatThePageSaysOfAnotherCode(t *testing.T) {
	t.Parallel()
	for status, says := range map[int]string{502: "upstream", 503: "nobody can pay", 429: "more slowly"} {
		require.NotContains(t, explained(t, atPayouts, answer(status, errorBody(atPayouts, "another_code"))), says, "%d at payouts", status)
	}
}

// explained is what a person is told after a write with one answer.
func explained(t *testing.T, provider string, only reply) string {
	t.Helper()
	b := newMock(t, provider).play(only)
	_, err := mainCase(t, provider).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
	return strings.Join(strings.Fields(requireError(t, err).Explain()), " ")
}

// orderedRules is a provider without lookups whose table may be written in the other order.
type orderedRules struct {
	unavez.Provider

	isReversed bool
}

func (p orderedRules) Profile(environment unavez.Environment) (unavez.Profile, error) {
	profile, err := p.Provider.Profile(environment)
	if p.isReversed {
		profile.Rules = slices.Clone(profile.Rules)
		slices.Reverse(profile.Rules)
	}
	return profile, err
}

func TestRowsTheOrderOfATableDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		own := newProvider(t, provider, testHost)
		profile, err := own.Profile(unavez.Test)
		require.NoError(t, err)
		for _, rule := range profile.Rules {
			statuses := []int{rule.Status}
			if rule.Status < 100 {
				statuses = []int{rule.Status * 100, rule.Status*100 + 3, rule.Status*100 + 22}
			}
			for _, status := range statuses {
				body := errorBody(provider, rule.Code)
				if rule.Word != "" {
					body = `{"id":"po_1","status":"` + rule.Word + `"}`
				}
				var told [2]string
				for i, table := range []unavez.Provider{orderedRules{own, false}, orderedRules{own, true}} {
					mock := newMock(t, provider).play(answer(status, body))
					client, err := unavez.New(table, unavez.WithHTTPClient(&http.Client{Transport: mock.transport}), unavez.WithEnvironment(unavez.Test))
					require.NoError(t, err)
					_, err = mainCase(t, provider).do(t.Context(), client, testKey, unavez.WithMaxAttempts(1))
					told[i] = requireError(t, err).Error() + requireError(t, err).Explain()
				}
				require.Equal(t, told[0], told[1], "%s %d %s %s", provider, status, rule.Code, rule.Word)
			}
		}
	}
}

func TestRowsEveryAttemptTellsWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for name, row := range map[string]struct {
			reply  reply
			effect unavez.Effect
		}{
			"408": {answer(408, ""), unavez.Unknown}, "409": {answer(409, errorBody(provider, "X")), unavez.Unknown},
			"500": {answer(500, ""), unavez.Unknown}, "502": {answer(502, ""), unavez.Unknown}, "503": {answer(503, ""), unavez.Unknown},
			"504": {answer(504, ""), unavez.Unknown}, "599": {answer(599, ""), unavez.Unknown}, "200 without a body": {answer(200, ""), unavez.Unknown},
			"302": {answer(302, ""), unavez.NotExecuted}, "401": {answer(401, ""), unavez.NotExecuted}, "402": {answer(402, ""), unavez.NotExecuted},
			"403": {answer(403, ""), unavez.NotExecuted}, "418": {answer(418, ""), unavez.NotExecuted}, "425": {answer(425, ""), unavez.NotExecuted},
			"429": {answer(429, ""), unavez.NotExecuted}, "a lost answer": {lostAnswer(), unavez.Unknown}, "silence": {silence(), unavez.Unknown},
			"no connection": {noConnection(), unavez.NotSent}, "a certificate": {untrusted(), unavez.NotSent},
		} {
			synctest.Test(t, func(t *testing.T) {
				b := newMock(t, provider).play(row.reply, answer(403, "")) // the second one for the lookup
				_, err := mainCase(t, provider).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
				first := requireError(t, err).Attempts[0]
				require.Equal(t, row.effect, first.Effect, "%s at %s", name, provider)
			})
		}
	}
}
