package fiscalisto

import (
	"net/http"

	"github.com/unavez/unavez"
)

// operations are the writes of Fiscalisto. What stamps is answered under its key for ever, so a resend never ends being safe.
func operations() map[unavez.OperationName]unavez.OperationRules {
	stamp := unavez.OperationRules{
		Ambiguity: unavez.AmbiguityResend, Retention: unavez.Forever,
		Hint: "the same request under the same key shows what became of it, however late.",
	}
	return map[unavez.OperationName]unavez.OperationRules{
		unavez.InvoiceCreate: stamp,
		unavez.RawOperation:  stamp,
	}
}

// rules are Fiscalisto's page on idempotency, row by row in its order.
func rules() []unavez.Rule {
	return []unavez.Rule{
		// How the key must look. The SDK refuses both cases before anything is sent; the status of the first is not documented.
		{
			Status: 4, Code: "idempotency_key_missing", Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrNoIdempotencyKey,
			Says: "the request arrived without a key: something between the client and Fiscalisto drops the header Idempotency-Key.",
		},
		{
			Status: http.StatusBadRequest, Code: "idempotency_key_invalid", Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, Marks: unavez.ErrKeyInvalid,
			Says: "the key is not 8 to 255 ASCII characters.",
		},
		// What a key is answered. 201 with the document needs no row: its uuid is the proof.
		{
			Status: http.StatusAccepted, Effect: unavez.Unknown, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "the PAC has not answered yet: wait and send the same request under the same key.",
		},
		{
			Status: http.StatusConflict, Code: "request_in_progress", Effect: unavez.Unknown, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "the first request is still stamping: wait as Retry-After says and send the same request under the same key.",
		},
		{
			Status: http.StatusConflict, Code: "idempotency_key_reused", Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextReconcile, Marks: unavez.ErrKeyReused,
			Says: "the key was used with another body or for another route, and nothing was stamped; this is never repeated.",
		},
		{
			Status: http.StatusUnprocessableEntity, Code: "invoice_invalid", Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixSameKey, AboutPayload: true,
			Says: "the invoice did not pass the check and never reached the PAC: correct it and send it under the same key.",
		},
		{
			Status: http.StatusUnprocessableEntity, Code: "invoice_rejected", Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixNewKey, AboutPayload: true,
			Says: "SAT rejected the invoice and the key keeps its body: a corrected one takes a new key, " +
				"the same one its own key if the cause lay elsewhere, for instance in a missing certificate.",
		},
		{
			Status: http.StatusPaymentRequired, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrInsufficientBalance,
			Says: "no stamps are left and the key keeps its body: with new ones send the same body under the same key.",
		},
		// Errors that are not in the table: only good answers are kept, so an error did nothing and leaves the key free.
		{
			Status: http.StatusForbidden, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrUnauthorized,
			Says: "the account lacks a right; the answer stays the same until it is given.",
		},
		{
			Status: 4, Effect: unavez.NotExecuted, Then: unavez.StepStop, Disposition: unavez.Refused, Next: unavez.NextFixSameKey,
			Says: "the request was refused and nothing was done: correct it and send it under the same key.",
		},
		// What is repeated.
		{
			Status: http.StatusTooManyRequests, Effect: unavez.NotExecuted, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "too many requests: wait and send the same request under the same key.",
		},
		{
			Status: 5, Effect: unavez.Unknown, Then: unavez.StepAmbiguous, Disposition: unavez.RetryLater,
			Says: "an error of the server leaves the outcome open: the same request under the same key never stamps twice.",
		},
	}
}
