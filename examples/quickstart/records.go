package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/unavez/unavez"
)

// record is one entry of the integrator's books: an invoice to stamp, or a payout.
type record struct {
	kind, id string
	invoice  *unavez.InvoiceParams
	payout   *unavez.PayoutParams
}

func (r *record) operation() *unavez.Operation {
	if r.payout != nil {
		return &unavez.Operation{Name: unavez.PayoutCreate, Payout: r.payout}
	}
	return &unavez.Operation{Name: unavez.InvoiceCreate, Invoice: r.invoice}
}

// invoiceFile is the form of the files in testdata/invoices. Amounts are texts there, so that they stay as they are written.
type invoiceFile struct {
	Record   string `json:"record"`
	Kind     string `json:"kind"`
	Type     string `json:"type"`
	Issuer   string `json:"issuer"`
	Series   string `json:"series"`
	Folio    string `json:"folio"`
	Customer struct {
		RFC        string `json:"rfc"`
		LegalName  string `json:"legal_name"`
		TaxRegime  string `json:"tax_regime"`
		PostalCode string `json:"postal_code"`
	} `json:"customer"`
	CFDIUse       string         `json:"cfdi_use"`
	PaymentForm   string         `json:"payment_form"`
	PaymentMethod string         `json:"payment_method"`
	Currency      string         `json:"currency"`
	ExchangeRate  unavez.Decimal `json:"exchange_rate"`
	Export        string         `json:"export"`
	Items         []itemFile     `json:"items"`
	Related       []struct {
		Type  string   `json:"type"`
		UUIDs []string `json:"uuids"`
	} `json:"related"`
	Global *struct {
		Periodicity string `json:"periodicity"`
		Months      string `json:"months"`
		Year        int    `json:"year"`
	} `json:"global"`
}

type itemFile struct {
	ProductKey  string         `json:"product_key"`
	UnitKey     string         `json:"unit_key"`
	SKU         string         `json:"sku"`
	Description string         `json:"description"`
	Quantity    unavez.Decimal `json:"quantity"`
	UnitPrice   unavez.Decimal `json:"unit_price"`
	Discount    unavez.Decimal `json:"discount"`
	TaxObject   string         `json:"tax_object"`
	Taxes       []struct {
		Type     string         `json:"type"`
		Factor   string         `json:"factor"`
		Rate     unavez.Decimal `json:"rate"`
		Withheld bool           `json:"withheld"`
	} `json:"taxes"`
}

var errNoInvoices = errors.New("no invoices: run it at the root of the repository, or name the folder with -invoices")

func readInvoices(folder fs.FS) ([]invoiceFile, error) {
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errNoInvoices
	}
	invoices := make([]invoiceFile, len(names))
	for i, name := range names {
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &invoices[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return invoices, nil
}

// params is the invoice as the SDK has it, whatever the provider.
func (f *invoiceFile) params() *unavez.InvoiceParams {
	params := &unavez.InvoiceParams{
		Type: unavez.InvoiceType(f.Type), Issuer: f.Issuer, Series: f.Series, Folio: f.Folio, Customer: unavez.Customer{
			RFC: f.Customer.RFC, LegalName: f.Customer.LegalName, TaxRegime: f.Customer.TaxRegime, PostalCode: f.Customer.PostalCode,
		},
		CFDIUse: f.CFDIUse, PaymentForm: f.PaymentForm, PaymentMethod: f.PaymentMethod,
		Currency: f.Currency, ExchangeRate: f.ExchangeRate, Export: f.Export,
	}
	for i := range f.Items {
		params.Items = append(params.Items, f.Items[i].params())
	}
	for _, relation := range f.Related {
		params.Related = append(params.Related, unavez.Relation{Type: relation.Type, UUIDs: relation.UUIDs})
	}
	if f.Global != nil {
		params.Global = &unavez.GlobalInfo{Periodicity: f.Global.Periodicity, Months: f.Global.Months, Year: f.Global.Year}
	}
	return params
}

func (f *itemFile) params() unavez.Item {
	item := unavez.Item{
		ProductKey: f.ProductKey, UnitKey: f.UnitKey, SKU: f.SKU, Description: f.Description,
		Quantity: f.Quantity, UnitPrice: f.UnitPrice, Discount: f.Discount, TaxObject: f.TaxObject,
	}
	for _, tax := range f.Taxes {
		item.Taxes = append(item.Taxes, unavez.Tax{Type: tax.Type, Factor: tax.Factor, Rate: tax.Rate, Withheld: tax.Withheld})
	}
	return item
}

func asInvoices(fit func(*unavez.InvoiceParams)) func([]invoiceFile) []record {
	return func(files []invoiceFile) []record {
		records := make([]record, len(files))
		for i := range files {
			params := files[i].params()
			fit(params)
			records[i] = record{kind: files[i].Kind, id: files[i].Record, invoice: params}
		}
		return records
	}
}

// forIpsofactura changes nothing: Ipsofactura takes all data inline.
func forIpsofactura(*unavez.InvoiceParams) {}

// forFacty leaves out what the account implies, and names the customers that are stored at Facty. A ticket's number goes into the
// description, for which Facty has no field of its own.
func forFacty(params *unavez.InvoiceParams) {
	params.Issuer, params.Folio = "", ""
	params.Customer = unavez.Customer{ID: "cli_" + params.Customer.RFC}
	for i := range params.Items {
		if item := &params.Items[i]; item.SKU != "" {
			item.Description, item.SKU = item.Description+" "+item.SKU, ""
		}
	}
}

// forFiscalisto leaves out what the account implies, and names the customers and products that are stored at Fiscalisto, with
// their price and their taxes. What has no documented name there stays, and is refused by name.
func forFiscalisto(params *unavez.InvoiceParams) {
	params.Issuer, params.Series, params.Folio, params.CFDIUse, params.Export = "", "", "", "", ""
	params.Customer = unavez.Customer{ID: "cus_" + params.Customer.RFC}
	if params.PaymentMethod == "PUE" {
		params.PaymentMethod = ""
	}
	if params.Currency == "MXN" {
		params.Currency = ""
	}
	for i, item := range params.Items {
		params.Items[i] = unavez.Item{ProductID: "prd_" + item.ProductKey, Quantity: item.Quantity, Discount: item.Discount}
	}
}

// asPayouts pays twelve suppliers. The invoices of the folder have no part in it.
func asPayouts([]invoiceFile) []record {
	records := make([]record, 12)
	for i := range records {
		records[i] = record{kind: "pago", id: fmt.Sprintf("2026-%04d", i+1), payout: &unavez.PayoutParams{
			QuoteID: fmt.Sprintf("11111111-2222-4333-8444-%012d", i+1), Method: "pago_movil",
			BeneficiaryID: fmt.Sprintf("66666666-7777-4888-9999-%012d", i+1),
		}}
	}
	return records
}
