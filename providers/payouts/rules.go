package payouts

import (
	"net/http"
	"time"

	"github.com/unavez/unavez"
)

// retention is the documented life of a key; after it the key is new again and protects nothing.
const retention = 24 * time.Hour

// operations are the writes of the API: one.
func operations() map[unavez.OperationName]unavez.OperationRules {
	return map[unavez.OperationName]unavez.OperationRules{
		unavez.PayoutCreate: {
			Ambiguity: unavez.AmbiguityResend, Retention: retention,
			Hint: "the same request under the same key shows what became of it within a day; never pay the same debt with another quote meanwhile.",
		},
	}
}

// rules are the page on idempotency, row by row in its order.
func rules() []unavez.Rule {
	return []unavez.Rule{
		// What a key is answered.
		{
			Status: http.StatusConflict, Code: "idempotency_key_reused", Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextReconcile, Marks: unavez.ErrKeyReused,
			Says: "the key was used with another body; another order of the members is another body too.",
		},
		{
			Status: http.StatusConflict, Code: "idempotency_request_in_flight", Effect: unavez.Unknown, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "the first request under this key has not ended: wait some seconds and send it again under the same key.",
		},
		// The second guard.
		{
			Status: http.StatusConflict, Code: "quote_already_consumed", Effect: unavez.Unknown, Then: unavez.StepStop,
			Disposition: unavez.NeedsManualReview, Next: unavez.NextReview, Reason: unavez.ReasonConflict,
			Says: "a payout for this quote exists, under whatever key: find it before anything else is paid.",
		},
		// What is repeated, and with which key.
		{
			Status: http.StatusBadGateway, Code: "provider_error", Effect: unavez.Unknown, Then: unavez.StepAmbiguous,
			Disposition: unavez.RetryLater,
			Says:        "an upstream provider failed: send the same request again under the same key.",
		},
		{
			Status: http.StatusServiceUnavailable, Code: "no_provider_available", Effect: unavez.NotExecuted, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "nobody can pay at the moment: send the same request later under the same key.",
		},
		{
			Status: http.StatusTooManyRequests, Code: "rate_limited", Effect: unavez.NotExecuted, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "too many requests: send the same request more slowly under the same key.",
		},
		// Validation: a correction is another body, so it takes a new key.
		{
			Status: http.StatusBadRequest, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, AboutPayload: true,
			Says: "the request is not valid: correct it and send it under a new key, for its body changes.",
		},
		{
			Status: http.StatusUnprocessableEntity, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, AboutPayload: true,
			Says: "the request is not valid: correct it and send it under a new key, for its body changes.",
		},
		// The states of a payout that are no success. Every other word is the payout's own affair.
		{
			Status: 2, Word: "failed", BeatsProof: true, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, AboutPayload: true,
			Says: "the payout failed: it can be tried with another quote under a new key.",
		},
		{
			Status: 2, Word: "unknown", BeatsProof: true, Effect: unavez.Unknown, Then: unavez.StepStop,
			Disposition: unavez.NeedsManualReview, Next: unavez.NextReview, Reason: unavez.ReasonOutcomeUnknown,
			Marks: unavez.ErrOutcomeUnknown,
			Says:  "nobody knows whether the money left: this payout is never sent again, under no key and no quote.",
		},
	}
}
