package facty

import (
	"encoding/json"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

// paymentBody is the body of POST /payments. The flag stamp is always there: it decides whether a complement is issued.
type paymentBody struct {
	AccountID    string         `json:"accountId,omitempty"`
	PaidAt       string         `json:"fechaPago,omitempty"`
	PaymentForm  string         `json:"formaPago,omitempty"`
	Amount       json.Number    `json:"monto,omitempty"`
	Key          string         `json:"idempotencyKey"`
	Stamp        *bool          `json:"stamp,omitempty"`
	Reference    string         `json:"numOperacion,omitempty"`
	Currency     string         `json:"moneda,omitempty"`
	ExchangeRate json.Number    `json:"tipoCambio,omitempty"`
	Documents    []paidDocument `json:"documents,omitempty"`
}

type paidDocument struct {
	InvoiceID   string      `json:"invoiceId"`
	Installment int         `json:"numParcialidad"`
	Previous    json.Number `json:"importeSaldoAnterior"`
	Paid        json.Number `json:"importePagado"`
	Remaining   json.Number `json:"importeSaldoInsoluto"`
}

const stampMember = "stamp"

// encodePayment sends PaidAt as the wall clock of its own location, to the second, as a CFDI has it. Whether a stamp was asked for, and
// with it what proves success, is read from the final bytes: it may stand in a typed field, in Extra or in Raw.
func (p Provider) encodePayment(key string, params *unavez.PaymentParams) (unavez.Request, error) {
	body, err := encode.Body(params, params.Extra, params.Raw, func(check *encode.Check) any {
		checkPayment(check, params)
		return newPayment(check, key, params)
	})
	if err != nil {
		return unavez.Request{}, err
	}
	request, err := p.write(paymentsPath, key, body)
	if err != nil {
		return unavez.Request{}, err
	}
	if object, _ := unavez.ParseObject(request.Body); object.Get(stampMember) == "false" {
		request.Proof = unavez.ProofPaymentID
	}
	return request, nil
}

func newPayment(check *encode.Check, key string, params *unavez.PaymentParams) paymentBody {
	body := paymentBody{
		AccountID: params.AccountID, PaymentForm: params.PaymentForm, Amount: params.Amount.Number(), Key: key,
		Reference: params.Reference, Currency: foreign(params.Currency), ExchangeRate: params.ExchangeRate.Number(),
		Documents: documents(check, params.Documents),
	}
	if !params.PaidAt.IsZero() {
		body.PaidAt = params.PaidAt.Format(encode.WallClock)
	}
	if params.StampNow || !check.Has(stampMember) {
		body.Stamp = &params.StampNow
	}
	return body
}

func checkPayment(check *encode.Check, params *unavez.PaymentParams) {
	check.Refuse("Issuer", params.Issuer != "", notCarried)
	check.Refuse("Series", params.Series != "", notCarried)
	check.Refuse("Folio", params.Folio != "", notCarried)
	check.Refuse("Customer.ID", params.Customer.ID != "", notCarried)
	checkCustomer(check, &params.Customer)
	check.Require("AccountID", params.AccountID != "", "accountId")
	check.Require("PaidAt", !params.PaidAt.IsZero(), "fechaPago")
	check.Require("PaymentForm", params.PaymentForm != "", "formaPago")
	check.Require("Amount", params.Amount != "", "monto")
	check.Require("Documents", len(params.Documents) > 0, "documents")
	checkCurrency(check, params.Currency, params.ExchangeRate)
}

func documents(check *encode.Check, params []unavez.PaidDocument) []paidDocument {
	return encode.Bodies(params, func(i int, document *unavez.PaidDocument) paidDocument {
		row := check.Row("Documents", i)
		row.Refuse("UUID", document.UUID != "", "is not how Facty names a paid invoice; expected InvoiceID")
		row.Require("InvoiceID", document.InvoiceID != "")
		row.PaidDocument(document)
		return paidDocument{
			InvoiceID: document.InvoiceID, Installment: document.Installment, Previous: document.PreviousBalance.Number(),
			Paid: document.Paid.Number(), Remaining: document.RemainingBalance.Number(),
		}
	})
}
