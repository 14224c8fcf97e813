package main

import (
	"net/http"

	"github.com/unavez/unavez"
)

// The problem types of the API's page.
const (
	problemInProgress = "https://timbra.example/problems/request-in-progress"
	problemReused     = "https://timbra.example/problems/idempotency-key-reused"
	problemInvalid    = "https://timbra.example/problems/invoice-invalid"
)

// rules are the API's page, row by row. An answer without a row here follows the rules that hold for every provider, none of which
// sends anything again that may have been executed, but for what Ambiguity allows.
func rules() []unavez.Rule {
	return []unavez.Rule{
		{
			Status: http.StatusConflict, Code: problemInProgress, Effect: unavez.Unknown, Then: unavez.StepResend,
			Disposition: unavez.RetryLater, Next: unavez.NextResend,
			Says: "the first request is still in progress: wait and send the same request under the same key.",
		},
		{
			Status: http.StatusUnprocessableEntity, Code: problemReused, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextReconcile, Marks: unavez.ErrKeyReused,
			Says: "the key was used with another body, and nothing was done.",
		},
		{
			Status: http.StatusUnprocessableEntity, Code: problemInvalid, Effect: unavez.NotExecuted, Then: unavez.StepStop,
			Disposition: unavez.Refused, Next: unavez.NextFixSameKey, AboutPayload: true,
			Says: "the invoice is not valid and the key is free: correct it and send it under the same key.",
		},
	}
}
