package ipsofactura

import (
	"encoding/json"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

// invoiceBody is the body of POST /cfdi/timbrar. The first seven members and the receiver's first three are shown by the
// vendor; the rest are SAT's names in snake_case, inferred.
type invoiceBody struct {
	Issuer        string      `json:"rfc_emisor,omitempty"`
	Series        string      `json:"serie,omitempty"`
	Folio         string      `json:"folio,omitempty"`
	Type          string      `json:"tipo_comprobante,omitempty"`
	Currency      string      `json:"moneda,omitempty"`
	PaymentForm   string      `json:"forma_pago,omitempty"`
	PaymentMethod string      `json:"metodo_pago,omitempty"`
	Receiver      *receiver   `json:"receptor,omitempty"`
	Concepts      []concept   `json:"conceptos,omitempty"`
	ExchangeRate  json.Number `json:"tipo_cambio,omitempty"`
	Export        string      `json:"exportacion,omitempty"`
	Related       []relation  `json:"cfdi_relacionados,omitempty"`
	Global        *globalInfo `json:"informacion_global,omitempty"`
}

type receiver struct {
	RFC        string `json:"rfc"`
	LegalName  string `json:"nombre"`
	PostalCode string `json:"domicilio_fiscal"`
	TaxRegime  string `json:"regimen_fiscal,omitempty"`
	CFDIUse    string `json:"uso_cfdi,omitempty"`
}

type concept struct {
	ProductKey  string      `json:"clave_prod_serv"`
	SKU         string      `json:"no_identificacion,omitempty"`
	Quantity    json.Number `json:"cantidad"`
	UnitKey     string      `json:"clave_unidad"`
	Description string      `json:"descripcion"`
	UnitPrice   json.Number `json:"valor_unitario"`
	Discount    json.Number `json:"descuento,omitempty"`
	TaxObject   string      `json:"objeto_imp,omitempty"`
	Taxes       *taxes      `json:"impuestos,omitempty"`
}

type taxes struct {
	Transferred []tax `json:"traslados,omitempty"`
	Withheld    []tax `json:"retenciones,omitempty"`
}

type tax struct {
	Type   string      `json:"impuesto"`
	Factor string      `json:"tipo_factor"`
	Rate   json.Number `json:"tasa_o_cuota,omitempty"`
}

type relation struct {
	Type  string   `json:"tipo_relacion"`
	UUIDs []string `json:"uuids"`
}

type globalInfo struct {
	Periodicity string `json:"periodicidad"`
	Months      string `json:"meses"`
	Year        int    `json:"anio"`
}

func encodeInvoice(key string, params *unavez.InvoiceParams) (unavez.Request, error) {
	body, err := encode.Body(params, params.Extra, params.Raw, func(check *encode.Check) any {
		checkInvoice(check, params)
		return invoiceBody{
			Issuer: params.Issuer, Series: params.Series, Folio: params.Folio, Type: documentType(check, params.Type),
			Currency: currency(check, params.Currency), PaymentForm: params.PaymentForm, PaymentMethod: params.PaymentMethod,
			Receiver: newReceiver(check, &params.Customer, params.CFDIUse), Concepts: concepts(check, params.Items),
			ExchangeRate: params.ExchangeRate.Number(), Export: params.Export,
			Related: encode.Bodies(params.Related, func(_ int, param *unavez.Relation) relation { return relation(*param) }),
			Global:  (*globalInfo)(params.Global),
		}
	})
	return write("/cfdi/timbrar", key, body, unavez.ProofUUID, err)
}

func checkInvoice(check *encode.Check, params *unavez.InvoiceParams) {
	check.Refuse("AllowRetryOnFailed", params.AllowRetryOnFailed, "is an offer of Facty alone")
	check.Require("Issuer", params.Issuer != "", "rfc_emisor")
	if params.Type != unavez.Transfer {
		check.Require("PaymentForm", params.PaymentForm != "", "forma_pago")
		check.Require("PaymentMethod", params.PaymentMethod != "", "metodo_pago")
	}
	check.Require("Items", len(params.Items) > 0, "conceptos")
	check.RequireRate(params.Currency, params.ExchangeRate, "tipo_cambio")
	check.Related(params.Related)
	check.Global(params.Global)
}

// documentType is Income unless the caller says otherwise, in Type or in Extra.
func documentType(check *encode.Check, kind unavez.InvoiceType) string {
	switch kind {
	case unavez.Income, unavez.Expense, unavez.Transfer:
		return string(kind)
	case "":
		return unlessExtra(check, "tipo_comprobante", string(unavez.Income))
	}
	check.Fail("Type", "is neither Income, Expense nor Transfer")
	return ""
}

func currency(check *encode.Check, code string) string {
	if code == "" {
		return unlessExtra(check, "moneda", encode.Pesos)
	}
	return code
}

// unlessExtra returns what an empty parameter stands for, or nothing where Extra has the member.
func unlessExtra(check *encode.Check, member, text string) string {
	if check.Has(member) {
		return ""
	}
	return text
}

// newReceiver is nil if no part of it is set; then Extra must have it.
func newReceiver(check *encode.Check, customer *unavez.Customer, use string) *receiver {
	check.Refuse("Customer.ID", customer.ID != "", notCarried)
	check.Refuse("Customer.Email", customer.Email != "", notCarried)
	r := receiver{
		RFC: customer.RFC, LegalName: customer.LegalName, PostalCode: customer.PostalCode, TaxRegime: customer.TaxRegime, CFDIUse: use,
	}
	if r == (receiver{}) && check.Has("receptor") {
		return nil
	}
	check.Refuse("Customer.RFC", r.RFC == "", "is empty, and so is receptor in Extra")
	check.Refuse("Customer.LegalName", r.LegalName == "", "is empty")
	check.Refuse("Customer.PostalCode", r.PostalCode == "", "is empty")
	return &r
}

func concepts(check *encode.Check, items []unavez.Item) []concept {
	return encode.Bodies(items, func(i int, item *unavez.Item) concept {
		row := check.Row("Items", i)
		row.Refuse("ProductID", item.ProductID != "", notCarried)
		row.Require("ProductKey", item.ProductKey != "")
		row.Require("UnitKey", item.UnitKey != "")
		row.Require("Description", item.Description != "")
		row.Require("Quantity", item.Quantity != "")
		row.Refuse("Quantity", encode.IsZero(item.Quantity), "is zero, expected more")
		row.Require("UnitPrice", item.UnitPrice != "")
		return concept{
			ProductKey: item.ProductKey, SKU: item.SKU, Quantity: item.Quantity.Number(), UnitKey: item.UnitKey,
			Description: item.Description, UnitPrice: item.UnitPrice.Number(), Discount: item.Discount.Number(),
			TaxObject: item.TaxObject, Taxes: newTaxes(row, item.Taxes),
		}
	})
}

func newTaxes(row encode.Row, params []unavez.Tax) *taxes {
	if len(params) == 0 {
		return nil
	}
	var bodies taxes
	for i, param := range params {
		checkTax(row, encode.Index("Taxes", i), &param)
		body := tax{Type: param.Type, Factor: param.Factor, Rate: param.Rate.Number()}
		if body.Factor == "" {
			body.Factor = "Tasa"
		}
		if param.Withheld {
			bodies.Withheld = append(bodies.Withheld, body)
		} else {
			bodies.Transferred = append(bodies.Transferred, body)
		}
	}
	return &bodies
}

func checkTax(row encode.Row, field string, param *unavez.Tax) {
	row.Require(field+".Type", param.Type != "")
	switch param.Factor {
	case "", "Tasa", "Cuota":
		row.Require(field+".Rate", param.Rate != "")
	case "Exento":
		row.Refuse(field+".Rate", param.Rate != "", "is set, and an exempt tax has none")
	default:
		row.Fail(field+".Factor", "is neither Tasa, Cuota nor Exento")
	}
}
