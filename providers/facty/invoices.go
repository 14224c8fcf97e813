package facty

import (
	"encoding/json"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

const (
	typeIncome  = "ingreso"
	typeExpense = "egreso"
)

// invoiceBody is the documented body of POST /invoices. Everything is left out when empty: a required member may come from Extra.
type invoiceBody struct {
	Type          string      `json:"type,omitempty"`
	Key           string      `json:"idempotencyKey"`
	RetryOnFailed bool        `json:"allowRetryOnFailed,omitempty"`
	ClientID      string      `json:"clientId,omitempty"`
	CFDIUse       string      `json:"usoCfdi,omitempty"`
	PaymentForm   string      `json:"formaPago,omitempty"`
	PaymentMethod string      `json:"metodoPago,omitempty"`
	Series        string      `json:"serie,omitempty"`
	Export        string      `json:"exportacion,omitempty"`
	Currency      string      `json:"moneda,omitempty"`
	ExchangeRate  json.Number `json:"tipoCambio,omitempty"`
	Items         []itemBody  `json:"items,omitempty"`
	Related       []relation  `json:"cfdiRelacionados,omitempty"`
	Global        *global     `json:"informacionGlobal,omitempty"`
}

type itemBody struct {
	Quantity    json.Number `json:"quantity,omitempty"`
	ProductID   string      `json:"productId,omitempty"`
	ProductKey  string      `json:"claveProdServ,omitempty"`
	UnitKey     string      `json:"claveUnidad,omitempty"`
	Description string      `json:"description,omitempty"`
	UnitPrice   json.Number `json:"unitPrice,omitempty"`
	IVA         json.Number `json:"iva,omitempty"`
	IEPS        json.Number `json:"ieps,omitempty"`
	RetainedISR json.Number `json:"retIsr,omitempty"`
	RetainedIVA json.Number `json:"retIva,omitempty"`
	TaxObject   string      `json:"objetoImp,omitempty"`
}

type relation struct {
	Type  string   `json:"tipoRelacion"`
	UUIDs []string `json:"uuids"`
}

type global struct {
	Periodicity string `json:"periodicidad"`
	Months      string `json:"meses"`
	Year        int    `json:"anio"`
}

func (p Provider) encodeInvoice(key string, params *unavez.InvoiceParams) (unavez.Request, error) {
	body, err := encode.Body(params, params.Extra, params.Raw, func(check *encode.Check) any {
		checkInvoice(check, params)
		return invoiceBody{
			Type: invoiceType(check, params.Type), Key: key, RetryOnFailed: params.AllowRetryOnFailed,
			ClientID: params.Customer.ID, CFDIUse: params.CFDIUse, PaymentForm: params.PaymentForm, PaymentMethod: params.PaymentMethod,
			Series: params.Series, Export: params.Export,
			Currency: foreign(params.Currency), ExchangeRate: params.ExchangeRate.Number(),
			Items: items(check, params.Items), Global: (*global)(params.Global),
			Related: encode.Bodies(params.Related, func(_ int, param *unavez.Relation) relation { return relation(*param) }),
		}
	})
	if err != nil {
		return unavez.Request{}, err
	}
	return p.write(invoicesPath, key, body)
}

func checkInvoice(check *encode.Check, params *unavez.InvoiceParams) {
	check.Refuse("Issuer", params.Issuer != "", notCarried)
	check.Refuse("Folio", params.Folio != "", notCarried)
	checkCustomer(check, &params.Customer)
	check.Require("Customer.ID", params.Customer.ID != "", "clientId")
	check.Require("CFDIUse", params.CFDIUse != "", "usoCfdi")
	check.Require("PaymentForm", params.PaymentForm != "", "formaPago")
	check.Require("PaymentMethod", params.PaymentMethod != "", "metodoPago")
	check.Require("Items", len(params.Items) > 0, "items")
	if params.Type == unavez.Expense {
		check.Require("Related", len(params.Related) > 0, "cfdiRelacionados")
	}
	checkCurrency(check, params.Currency, params.ExchangeRate)
	check.Related(params.Related)
	check.Global(params.Global)
}

// checkCustomer refuses the data of a customer: Facty takes the id of a stored one.
func checkCustomer(check *encode.Check, customer *unavez.Customer) {
	check.Refuse("Customer.RFC", customer.RFC != "", notCarried)
	check.Refuse("Customer.LegalName", customer.LegalName != "", notCarried)
	check.Refuse("Customer.TaxRegime", customer.TaxRegime != "", notCarried)
	check.Refuse("Customer.PostalCode", customer.PostalCode != "", notCarried)
	check.Refuse("Customer.Email", customer.Email != "", notCarried)
}

// checkCurrency holds moneda and tipoCambio together: pesos have neither, and every other currency has both.
func checkCurrency(check *encode.Check, currency string, rate unavez.Decimal) {
	check.RequireRate(currency, rate, "tipoCambio")
	check.Refuse("ExchangeRate", rate != "" && foreign(currency) == "" && !check.Has("moneda"), "is set, and Currency is MXN")
}

// foreign returns what moneda takes: Facty wants it for other currencies than the peso only.
func foreign(currency string) string {
	if currency == encode.Pesos {
		return ""
	}
	return currency
}

// invoiceType leaves the member out when Extra has it, for instance for a type that the SDK has no word for at Facty.
func invoiceType(check *encode.Check, kind unavez.InvoiceType) string {
	switch {
	case kind == unavez.Income, kind == "" && !check.Has("type"):
		return typeIncome
	case kind == unavez.Expense:
		return typeExpense
	}
	check.Refuse("Type", kind != "", notCarried)
	return ""
}

func items(check *encode.Check, params []unavez.Item) []itemBody {
	return encode.Bodies(params, func(i int, item *unavez.Item) itemBody {
		row := check.Row("Items", i)
		checkItem(row, item)
		body := itemBody{
			Quantity: item.Quantity.Number(), ProductID: item.ProductID, ProductKey: item.ProductKey, UnitKey: item.UnitKey,
			Description: item.Description, UnitPrice: item.UnitPrice.Number(), TaxObject: item.TaxObject,
		}
		body.addTaxes(row, item.Taxes)
		return body
	})
}

// checkItem holds the two forms of an item apart: by the id of a stored product, or with its data.
func checkItem(row encode.Row, item *unavez.Item) {
	row.Refuse("SKU", item.SKU != "", notCarried)
	row.Refuse("Discount", item.Discount != "", "is an amount, and Facty's descuento is a fraction of the price; give the items in Extra")
	row.Require("Quantity", item.Quantity != "")
	row.Refuse("Quantity", encode.IsZero(item.Quantity), "is zero, expected more")
	if item.ProductID == "" {
		row.Require("ProductKey", item.ProductKey != "")
		row.Require("UnitKey", item.UnitKey != "")
		row.Require("Description", item.Description != "")
		row.Require("UnitPrice", item.UnitPrice != "")
		return
	}
	const describesProduct = "is set beside ProductID, and Facty takes one or the other; give the items in Extra"
	row.Refuse("ProductKey", item.ProductKey != "", describesProduct)
	row.Refuse("UnitKey", item.UnitKey != "", describesProduct)
	row.Refuse("Description", item.Description != "", describesProduct)
	row.Refuse("UnitPrice", item.UnitPrice != "", describesProduct)
}

// addTaxes fills the four members that Facty has for taxes. Every other tax is refused.
func (b *itemBody) addTaxes(row encode.Row, taxes []unavez.Tax) {
	for i, tax := range taxes {
		field := encode.Index("Taxes", i)
		member := b.taxMember(tax)
		switch {
		case member == nil:
			row.Fail(field+".Type", "has no member at Facty: it carries 002 and 003 as transferred taxes, 001 and 002 as withheld ones")
			continue
		case tax.Factor != "" && tax.Factor != "Tasa":
			row.Fail(field+".Factor", "is not Tasa, the only factor that Facty carries")
		case tax.Rate == "":
			row.Fail(field+".Rate", "is empty")
		case *member != "":
			row.Fail(field+".Type", "is a second tax of one kind in this item")
		}
		*member = tax.Rate.Number()
	}
}

func (b *itemBody) taxMember(tax unavez.Tax) *json.Number {
	switch {
	case tax.Type == "002" && !tax.Withheld:
		return &b.IVA
	case tax.Type == "003" && !tax.Withheld:
		return &b.IEPS
	case tax.Type == "001" && tax.Withheld:
		return &b.RetainedISR
	case tax.Type == "002" && tax.Withheld:
		return &b.RetainedIVA
	}
	return nil
}
