package payouts

import (
	"net/http"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

// payoutBody is the body of POST /v1/payouts. Its order counts: the API compares bytes.
type payoutBody struct {
	QuoteID       string `json:"quoteId,omitempty"`
	Method        string `json:"method,omitempty"`
	BeneficiaryID string `json:"beneficiaryId,omitempty"`
}

// Encode turns an operation into the API's request. It implements [unavez.Provider]. The API pays out and does nothing else.
func (p Provider) Encode(operation *unavez.Operation) (unavez.Request, error) {
	if operation.Name != unavez.PayoutCreate {
		return unavez.Request{}, encode.NoOperation(name, operation.Name)
	}
	params := operation.Payout
	body, err := encode.Body(params, params.Extra, params.Raw, func(check *encode.Check) any {
		check.Require("QuoteID", params.QuoteID != "", "quoteId")
		check.Require("Method", params.Method != "", "method")
		check.Require("BeneficiaryID", params.BeneficiaryID != "", "beneficiaryId")
		return payoutBody{QuoteID: params.QuoteID, Method: params.Method, BeneficiaryID: params.BeneficiaryID}
	})
	if err != nil {
		return unavez.Request{}, err
	}
	data, err := body.Encode()
	return unavez.Request{Method: http.MethodPost, Path: "/v1/payouts", Body: data, Proof: unavez.ProofIDAndStatus}, err
}
