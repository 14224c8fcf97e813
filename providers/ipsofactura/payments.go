package ipsofactura

import (
	"encoding/json"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

// paymentBody is the body of POST /cfdi/complemento-pago: SAT's names in snake_case, inferred. Of a paid invoice the currency, the
// equivalence and the object of tax have no typed parameter; whoever needs them gives pagos in Extra.
type paymentBody struct {
	Issuer   string    `json:"rfc_emisor,omitempty"`
	Series   string    `json:"serie,omitempty"`
	Folio    string    `json:"folio,omitempty"`
	Receiver *receiver `json:"receptor,omitempty"`
	Payments []payment `json:"pagos,omitempty"`
}

type payment struct {
	PaidAt       string         `json:"fecha_pago"`
	PaymentForm  string         `json:"forma_de_pago"`
	Currency     string         `json:"moneda"`
	ExchangeRate json.Number    `json:"tipo_cambio,omitempty"`
	Amount       json.Number    `json:"monto"`
	Reference    string         `json:"num_operacion,omitempty"`
	Documents    []paidDocument `json:"documentos_relacionados"`
}

type paidDocument struct {
	UUID        string      `json:"id_documento"`
	Installment int         `json:"num_parcialidad"`
	Previous    json.Number `json:"imp_saldo_ant"`
	Paid        json.Number `json:"imp_pagado"`
	Remaining   json.Number `json:"imp_saldo_insoluto"`
}

// encodePayment sends PaidAt as the wall clock of its own location, to the second, as a CFDI has it.
func encodePayment(key string, params *unavez.PaymentParams) (unavez.Request, error) {
	body, err := encode.Body(params, params.Extra, params.Raw, func(check *encode.Check) any {
		check.Refuse("AccountID", params.AccountID != "", notCarried)
		check.Refuse("StampNow", !params.StampNow, "is not set, and Ipsofactura records no payment without stamping it")
		check.Require("Issuer", params.Issuer != "", "rfc_emisor")
		return paymentBody{
			Issuer: params.Issuer, Series: params.Series, Folio: params.Folio,
			Receiver: newReceiver(check, &params.Customer, ""), Payments: payments(check, params),
		}
	})
	return write("/cfdi/complemento-pago", key, body, unavez.ProofUUID, err)
}

// payments is the one payment of the complement, or nothing if no part of it is set and Extra has it.
func payments(check *encode.Check, params *unavez.PaymentParams) []payment {
	isGiven := params.PaymentForm != "" || params.Currency != "" || params.Reference != "" || !params.PaidAt.IsZero() ||
		params.Amount != "" || params.ExchangeRate != "" || len(params.Documents) > 0
	if !isGiven && check.Has("pagos") {
		return nil
	}
	check.Refuse("PaidAt", params.PaidAt.IsZero(), "is empty")
	check.Refuse("PaymentForm", params.PaymentForm == "", "is empty")
	check.Refuse("Amount", params.Amount == "", "is empty")
	check.Refuse("Documents", len(params.Documents) == 0, "is empty")
	check.RequireRate(params.Currency, params.ExchangeRate, "pagos")
	currency := params.Currency
	if currency == "" {
		currency = encode.Pesos
	}
	return []payment{{
		PaidAt: params.PaidAt.Format(encode.WallClock), PaymentForm: params.PaymentForm, Currency: currency,
		ExchangeRate: params.ExchangeRate.Number(), Amount: params.Amount.Number(), Reference: params.Reference,
		Documents: documents(check, params.Documents),
	}}
}

func documents(check *encode.Check, params []unavez.PaidDocument) []paidDocument {
	return encode.Bodies(params, func(i int, document *unavez.PaidDocument) paidDocument {
		row := check.Row("Documents", i)
		row.Refuse("InvoiceID", document.InvoiceID != "", "is not how Ipsofactura names a paid invoice; expected UUID")
		row.Require("UUID", document.UUID != "")
		row.PaidDocument(document)
		return paidDocument{
			UUID: document.UUID, Installment: document.Installment, Previous: document.PreviousBalance.Number(),
			Paid: document.Paid.Number(), Remaining: document.RemainingBalance.Number(),
		}
	})
}
