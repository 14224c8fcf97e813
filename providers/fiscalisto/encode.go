package fiscalisto

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

const (
	notCarried = "has no documented name at Fiscalisto; give what Fiscalisto takes in Extra or Raw"
	apiPrefix  = "/v1/"
)

// Encode turns an operation into Fiscalisto's request. It implements [unavez.Provider].
//
// Of an invoice the customer, the payment form and the items have documented names; everything else goes in Extra or Raw. Any
// other stamping POST is a raw operation.
func (p Provider) Encode(operation *unavez.Operation) (unavez.Request, error) {
	switch {
	case operation.Raw != nil:
		return encodeRaw(operation.Raw)
	case operation.Name == unavez.InvoiceCreate:
		return encodeInvoice(operation.Invoice)
	}
	return unavez.Request{}, encode.NoOperation(name, operation.Name)
}

func write(path string, body unavez.Body) (unavez.Request, error) {
	data, err := body.Encode()
	return unavez.Request{Method: http.MethodPost, Path: path, Body: data, Proof: unavez.ProofUUID}, err
}

// encodeRaw is for a path that stamps and answers one document with its uuid: nothing else proves it, and only of what stamps
// does Fiscalisto keep the key for longer than a day.
func encodeRaw(params *unavez.RawParams) (unavez.Request, error) {
	if !isCleanPath(params.Path) {
		return unavez.Request{}, unavez.Unsupported("Path", "is not a clean path below "+apiPrefix+
			": expected elements of letters, digits and . _ - ~, without a query")
	}
	if params.Raw == nil {
		return unavez.Request{}, unavez.Unsupported("Raw", "is empty, expected the whole body")
	}
	return write(params.Path, unavez.Body{Raw: params.Raw})
}

// isCleanPath accepts what means the same to every server and proxy on the way.
func isCleanPath(path string) bool {
	rest, isAPI := strings.CutPrefix(path, apiPrefix)
	if !isAPI {
		return false
	}
	for element := range strings.SplitSeq(rest, "/") {
		if element == "" || element == "." || element == ".." || strings.ContainsFunc(element, isReserved) {
			return false
		}
	}
	return true
}

func isReserved(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("._-~", r)
}

// invoiceBody is the documented body of POST /v1/invoices.
type invoiceBody struct {
	// Customer is the id of a stored one, or a customer.
	Customer    any        `json:"customer,omitempty"`
	PaymentForm string     `json:"payment_form,omitempty"`
	Items       []itemBody `json:"items,omitempty"`
}

type customerBody struct {
	TaxID     string `json:"tax_id"`
	LegalName string `json:"legal_name"`
	TaxSystem string `json:"tax_system"`
	ZIP       string `json:"zip"`
}

type itemBody struct {
	Product     string      `json:"product,omitempty"`
	Description string      `json:"description,omitempty"`
	ProductKey  string      `json:"product_key,omitempty"`
	Quantity    json.Number `json:"quantity,omitempty"`
	UnitPrice   json.Number `json:"unit_price,omitempty"`
}

func encodeInvoice(params *unavez.InvoiceParams) (unavez.Request, error) {
	body, err := encode.Body(params, params.Extra, params.Raw, func(check *encode.Check) any {
		checkInvoice(check, params)
		return invoiceBody{
			Customer: customer(check, &params.Customer), PaymentForm: params.PaymentForm, Items: items(check, params.Items),
		}
	})
	if err != nil {
		return unavez.Request{}, err
	}
	return write(apiPrefix+"invoices", body)
}

// checkInvoice refuses what has no documented name. Income is what the path itself stands for.
func checkInvoice(check *encode.Check, params *unavez.InvoiceParams) {
	check.Refuse("Type", params.Type != "" && params.Type != unavez.Income, notCarried)
	check.Refuse("Issuer", params.Issuer != "", notCarried)
	check.Refuse("Series", params.Series != "", notCarried)
	check.Refuse("Folio", params.Folio != "", notCarried)
	check.Refuse("CFDIUse", params.CFDIUse != "", notCarried)
	check.Refuse("PaymentMethod", params.PaymentMethod != "", notCarried)
	check.Refuse("Currency", params.Currency != "", notCarried)
	check.Refuse("ExchangeRate", params.ExchangeRate != "", notCarried)
	check.Refuse("Export", params.Export != "", notCarried)
	check.Refuse("Related", len(params.Related) > 0, notCarried)
	check.Refuse("Global", params.Global != nil, notCarried)
	check.Refuse("AllowRetryOnFailed", params.AllowRetryOnFailed, "is an offer of Facty alone")
	check.Require("Items", len(params.Items) > 0, "items")
}

// customer is an id, or an object with everything that is documented of one; nil if none is given and Extra has it.
func customer(check *encode.Check, params *unavez.Customer) any {
	check.Refuse("Customer.Email", params.Email != "", notCarried)
	data := customerBody{TaxID: params.RFC, LegalName: params.LegalName, TaxSystem: params.TaxRegime, ZIP: params.PostalCode}
	switch isData := data != (customerBody{}); {
	case params.ID != "":
		check.Refuse("Customer.ID", isData, "is set beside the customer's data, and Fiscalisto takes one or the other")
		return params.ID
	case !isData:
		check.Require("Customer", false, "customer")
		return nil
	}
	check.Refuse("Customer.RFC", data.TaxID == "", "is empty")
	check.Refuse("Customer.LegalName", data.LegalName == "", "is empty")
	check.Refuse("Customer.TaxRegime", data.TaxSystem == "", "is empty")
	check.Refuse("Customer.PostalCode", data.ZIP == "", "is empty")
	return data
}

func items(check *encode.Check, params []unavez.Item) []itemBody {
	return encode.Bodies(params, func(i int, item *unavez.Item) itemBody {
		checkItem(check.Row("Items", i), item)
		return itemBody{
			Product: item.ProductID, Description: item.Description, ProductKey: item.ProductKey,
			Quantity: item.Quantity.Number(), UnitPrice: item.UnitPrice.Number(),
		}
	})
}

// checkItem holds the two forms of an item apart: a stored product, with or without a quantity, or its data.
func checkItem(row encode.Row, item *unavez.Item) {
	row.Refuse("UnitKey", item.UnitKey != "", notCarried)
	row.Refuse("SKU", item.SKU != "", notCarried)
	row.Refuse("Discount", item.Discount != "", notCarried)
	row.Refuse("TaxObject", item.TaxObject != "", notCarried)
	row.Refuse("Taxes", len(item.Taxes) > 0, notCarried)
	if item.ProductID == "" {
		row.Require("Description", item.Description != "")
		row.Require("ProductKey", item.ProductKey != "")
		row.Require("Quantity", item.Quantity != "")
		row.Refuse("Quantity", encode.IsZero(item.Quantity), "is zero, expected more")
		row.Require("UnitPrice", item.UnitPrice != "")
		return
	}
	const describesProduct = "is set beside ProductID, and Fiscalisto takes one or the other; give the items in Extra"
	row.Refuse("Description", item.Description != "", describesProduct)
	row.Refuse("ProductKey", item.ProductKey != "", describesProduct)
	row.Refuse("UnitPrice", item.UnitPrice != "", describesProduct)
}
