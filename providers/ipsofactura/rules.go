package ipsofactura

import (
	"net/http"
	"time"

	"github.com/unavez/unavez"
)

// retention is the documented life of a key; after it the key is free again and protects nothing.
const retention = 96 * time.Hour

// operations are the writes of Ipsofactura. They follow one rule: the same request under the same key. It stays safe after an empty list,
// which therefore counts as never arrived.
func operations() map[unavez.OperationName]unavez.OperationRules {
	write := unavez.OperationRules{
		Ambiguity: unavez.AmbiguityResend, Retention: retention, EmptyProves: true,
		Hint: "never try another key or another folio: ask for the document by issuer, series and folio, or give Ipsofactura's support the key.",
	}
	return map[unavez.OperationName]unavez.OperationRules{
		unavez.InvoiceCreate:   write,
		unavez.InvoiceStampXML: write,
		unavez.PaymentCreate:   write,
		unavez.InvoiceCancel:   write,
	}
}

// rules are Ipsofactura's page on recovery after a timeout, row by row in its order.
func rules() []unavez.Rule {
	return []unavez.Rule{
		// The same key with another body.
		{
			Status: http.StatusUnprocessableEntity, Code: "IDEMPOTENCY_KEY_REUSED", Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextReconcile, Marks: unavez.ErrKeyReused,
			Says: "the key was used with another body, and nothing ran: send the original body to get its answer, or a new operation under a new key.",
		},
		// Header and body name different keys.
		{
			Status: http.StatusBadRequest, Code: "VALIDATION_ERROR", Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, AboutPayload: true,
			Says: "the request is not valid, for instance because header and body name different keys; nothing ran.",
		},
		// The first attempt still runs, or what became of it is still being found out.
		{
			Status: http.StatusConflict, Code: "DUPLICATE_IN_PROGRESS", Effect: unavez.Unknown, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "the first attempt is still in progress: wait as Retry-After says and send the same request under the same key.",
		},
		// Verdicts on the payload: they are stored and answered again, so a correction takes a new key.
		{
			Status: http.StatusBadRequest, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, AboutPayload: true,
			Says: "the request was refused for what it holds; this answer is kept with the key, so the corrected one takes a new key.",
		},
		{
			Status: http.StatusNotFound, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, AboutPayload: true,
			Says: "something that the request names does not exist; this answer is kept with the key, so the corrected one takes a new key.",
		},
		{
			Status: http.StatusUnprocessableEntity, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, AboutPayload: true,
			Says: "the document was refused for what it holds; this answer is kept with the key, so the corrected one takes a new key.",
		},
		// Verdicts on the caller: they are not stored, so the next send under the key really runs.
		{
			Status: http.StatusUnauthorized, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrUnauthorized,
			Says: "the credentials were refused; the key is free again.",
		},
		{
			Status: http.StatusPaymentRequired, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrInsufficientBalance,
			Says: "the limit of the trial is reached and can be raised; the key is free again.",
		},
		{
			Status: http.StatusForbidden, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrUnauthorized,
			Says: "the account is not active and can be activated again; the key is free again.",
		},
		{
			Status: http.StatusRequestTimeout, Effect: unavez.Unknown, Then: unavez.StepAmbiguous, Disposition: unavez.RetryLater,
			Says: "the server gave up waiting; the key is free again, and the same request under it is the documented way.",
		},
		{
			Status: http.StatusTooManyRequests, Effect: unavez.NotExecuted, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "too many requests; the key is free again.",
		},
		{
			Status: 5, Effect: unavez.Unknown, Then: unavez.StepAmbiguous, Disposition: unavez.RetryLater,
			Says: "an error of the server is not kept with the key; the same request under the same key is the documented way.",
		},
		// The special case: this 503 does keep the key.
		{
			Status: http.StatusServiceUnavailable, Code: "STAMPING_OUTCOME_UNKNOWN", Effect: unavez.Unknown, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "the document may exist at SAT and Ipsofactura is finding out: wait as asked, then the same key, and never another key or folio.",
		},
	}
}
