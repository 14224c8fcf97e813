package facty

import (
	"net/http"
	"time"

	"github.com/unavez/unavez"
)

// retention is how long a resend is taken to be protected. Facty documents no end of a key; a lookup has none.
const retention = 24 * time.Hour

// operations are the writes of Facty and what differs between them. The lookup by key is documented for invoices, so only there an
// empty list proves that nothing arrived; the flag for another try of a failed key is documented for invoices alone.
// A cancellation takes no documented key, so it is never sent a second time.
func operations() map[unavez.OperationName]unavez.OperationRules {
	invoice := unavez.OperationRules{
		Ambiguity: unavez.AmbiguityLookUp, Retention: retention, EmptyProves: true, FailedNext: unavez.NextFixSameKey,
		FailedHint: "once a person has corrected the document, it is sent under the same key with AllowRetryOnFailed; " +
			"without that flag nothing is sent.",
		Hint: "ask Facty's list of invoices for the key before anything is sent again.",
	}
	other := unavez.OperationRules{
		Ambiguity: unavez.AmbiguityLookUp, Retention: retention, FailedNext: unavez.NextReview,
		Hint: "Facty documents the lookup by key for invoices only: look the document up in Facty's console.",
	}
	return map[unavez.OperationName]unavez.OperationRules{
		unavez.InvoiceCreate:   invoice,
		unavez.PaymentCreate:   other,
		unavez.PaymentStamp:    other,
		unavez.RetentionCreate: other,
		unavez.InvoiceCancel: {
			Ambiguity: unavez.AmbiguityLookUp, Retention: retention,
			Hint: "a cancellation takes no documented key: read the invoice's sat-status, and cancel again only if it is still valid.",
		},
		unavez.PaymentCancel: {
			Ambiguity: unavez.AmbiguityStop,
			Hint:      "a cancellation takes no documented key: read the sat-status of the payment's complement in Facty's console.",
		},
	}
}

// rules are Facty's page on idempotency, row by row in its order, then what its published client knows of errors.
func rules() []unavez.Rule {
	return []unavez.Rule{
		// The answer to a repeated key: 409 both while the first request is in flight and after it failed. The codes that
		// would tell them apart are not documented, so the record's own status decides.
		{
			Status: http.StatusConflict, Effect: unavez.Unknown, Then: unavez.StepLookUp,
			Disposition: unavez.RetryLater, Next: unavez.NextReconcile,
			Says: "the key is in flight, or failed before: ask what became of it, and do not repeat the request.",
		},
		// A timeout and every 5xx leave open whether the document was issued; it is looked up before anything is sent.
		{
			Status: 5, Effect: unavez.Unknown, Then: unavez.StepAmbiguous, Disposition: unavez.RetryLater,
			Says: "an error of the server is not a failure: the document may have been issued, so it is looked up first.",
		},
		// The table of states. In the answer to a write, where no uuid proves the stamp, a state only sends the SDK to the record.
		{
			Status: 2, Word: "stamped", Effect: unavez.Unknown, Then: unavez.StepLookUp,
			Disposition: unavez.RetryLater, Next: unavez.NextReconcile,
			Says: "a stamped document carries its uuid; this answer has none, so the record is asked.",
		},
		{
			Status: 2, Word: "pending", Effect: unavez.Unknown, Then: unavez.StepLookUp,
			Disposition: unavez.RetryLater, Next: unavez.NextReconcile,
			Says: "still in flight: wait and ask again, and do not repeat the request.",
		},
		{
			Status: 2, Word: "failed", BeatsProof: true, Effect: unavez.Unknown, Then: unavez.StepLookUp,
			Disposition: unavez.RetryLater, Next: unavez.NextReconcile,
			Says: "nothing was issued and the stamp was refunded; the record is asked before that is believed.",
		},
		// What the published client handles. The statuses of its codes are inferred.
		{
			Status: http.StatusUnauthorized, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrUnauthorized,
			Says: "the API key is missing or wrong (UNAUTHORIZED, INVALID_API_KEY).",
		},
		{
			Status: http.StatusForbidden, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrUnauthorized,
			Says: "the API key lacks a right, or belongs to another organisation (MISSING_SCOPE, ORG_MISMATCH).",
		},
		{
			Status: http.StatusPaymentRequired, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextResend, Marks: unavez.ErrInsufficientBalance,
			Says: "the organisation has no stamps left (INSUFFICIENT_TIMBRES); with new ones the same key may be sent again.",
		},
		{
			Status: http.StatusUnprocessableEntity, HasFieldErrors: true, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixSameKey, AboutPayload: true,
			Says: "fields of the document are wrong: correct them and send it under the same key with AllowRetryOnFailed.",
		},
		{
			Status: 4, Effect: unavez.NotExecuted, Then: unavez.StepStop, Disposition: unavez.Refused, Next: unavez.NextFixSameKey,
			Says: "the request is wrong: correct it and send it under the same key.",
		},
		{
			Status: http.StatusTooManyRequests, Effect: unavez.NotExecuted, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "too many requests (RATE_LIMITED): the one answer after which the same request is sent again.",
		},
	}
}
