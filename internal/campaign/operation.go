package campaign

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/providers/payouts"
)

// The names of the providers.
const (
	Facty       = "facty"
	Ipsofactura = "ipsofactura"
	Fiscalisto  = "fiscalisto"
	Payouts     = "payouts"
)

// Providers returns the names of all providers.
func Providers() []string { return []string{Facty, Ipsofactura, Fiscalisto, Payouts} }

// Account is an account at a provider.
type Account struct {
	Provider string
	Number   int
}

// Kind is what an operation writes.
type Kind string

// The kinds of operations.
const (
	Invoice      Kind = "invoice"
	Payment      Kind = "payment"
	Registration Kind = "registration" // a payment that is recorded and not stamped
	Retention    Kind = "retention"
	StampXML     Kind = "xml"
	CreditNote   Kind = "credit-note" // an operation without types in the SDK
	Payout       Kind = "payout"
)

func kindsOf(provider string) []Kind {
	switch provider {
	case Facty:
		return []Kind{Invoice, Invoice, Invoice, Payment, Registration, Retention}
	case Ipsofactura:
		return []Kind{Invoice, Invoice, Payment, StampXML}
	case Fiscalisto:
		return []Kind{Invoice, Invoice, CreditNote}
	}
	return []Kind{Payout}
}

// retention is how long the provider remembers a key, by its page; zero if for ever, or if no end is documented.
func retention(provider string) time.Duration {
	switch provider {
	case Ipsofactura:
		return 96 * time.Hour
	case Payouts:
		return 24 * time.Hour
	}
	return 0
}

// Operation is one business record that must become one document or one payout.
type Operation struct {
	Number  int
	Account Account
	Kind    Kind
}

// ID is the record's id in the program's own database.
func (o Operation) ID() string { return strconv.Itoa(4471 + o.Number) }

// Key is the key that the program derives from its record, with the environment in it.
func (o Operation) Key() string {
	return namespace + ":" + string(unavez.Test) + ":" + string(o.Kind) + ":" + o.ID()
}

// String names the record, its account and its key.
func (o Operation) String() string {
	return fmt.Sprintf("%s at %s account %d (%s)", o.Kind, o.Account.Provider, o.Account.Number, o.Key())
}

const (
	namespace = "erp"
	// BaseURL is the address of every provider: the network in memory has only one host.
	BaseURL = "http://127.0.0.1"
)

// Provider is the SDK's provider for the account.
func (a Account) newProvider() unavez.Provider {
	secret := fmt.Sprintf("secret-of-account-%d", a.Number)
	switch a.Provider {
	case Facty:
		return facty.Provider{BaseURL: BaseURL, Org: fmt.Sprintf("org-%d", a.Number), APIKey: secret}
	case Ipsofactura:
		return ipsofactura.Provider{BaseURL: BaseURL, APIKey: secret}
	case Fiscalisto:
		return fiscalisto.Provider{BaseURL: BaseURL, APIKey: secret}
	}
	return payouts.Provider{BaseURL: BaseURL, APIKey: secret}
}

const (
	issuer = "EKU9003173C9"
	series = "B"
)

func (o Operation) invoice(retriesFailed bool) *unavez.InvoiceParams {
	switch o.Account.Provider {
	case Facty:
		return &unavez.InvoiceParams{
			AllowRetryOnFailed: retriesFailed, Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
			Items: []unavez.Item{{
				Quantity: "2", ProductKey: "86121700", UnitKey: "E48", Description: "Pedido " + o.ID(), UnitPrice: "150.50",
				Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
			}},
		}
	case Ipsofactura:
		return &unavez.InvoiceParams{Raw: []byte(`{"rfc_emisor":"` + issuer + `","serie":"` + series + `","folio":"` + o.ID() +
			`","tipo_comprobante":"I","moneda":"MXN","forma_pago":"03","metodo_pago":"PUE"}`)}
	}
	return &unavez.InvoiceParams{Raw: []byte(`{"customer":"cus_` + o.ID() +
		`","payment_form":"03","items":[{"description":"Renta","product_key":"86121700","quantity":1,"unit_price":900}]}`)}
}

func (o Operation) payment() *unavez.PaymentParams {
	if o.Account.Provider == Ipsofactura {
		return &unavez.PaymentParams{Raw: []byte(`{"rfc_emisor":"` + issuer + `","serie":"` + series + `","folio":"` + o.ID() +
			`","pagos":[{"fecha_pago":"2026-08-11T10:20:30","forma_de_pago":"03","moneda":"MXN","monto":100.00}]}`)}
	}
	return &unavez.PaymentParams{Raw: fmt.Appendf(nil, `{"accountId":"acc_%s","monto":100.00,"stamp":%t,"documents":[]}`,
		o.ID(), o.Kind == Payment)}
}

func (o Operation) xml() *unavez.StampXMLParams {
	return &unavez.StampXMLParams{XML: []byte(`<?xml version="1.0" encoding="UTF-8"?><cfdi:Comprobante ` +
		`xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Version="4.0" Serie="` + series + `" Folio="` + o.ID() + `" TipoDeComprobante="I">` +
		`<cfdi:Emisor Rfc="` + issuer + `"/></cfdi:Comprobante>`)}
}

func (o Operation) retention() *unavez.RetentionParams {
	return &unavez.RetentionParams{Extra: map[string]any{"folioInt": o.ID()}}
}

func (o Operation) creditNote() *unavez.RawParams {
	return &unavez.RawParams{
		Operation: "credit_notes.create", Path: "/v1/credit-notes", Raw: []byte(`{"customer":"cus_` + o.ID() + `"}`),
	}
}

func (o Operation) payout() *unavez.PayoutParams {
	return &unavez.PayoutParams{QuoteID: "quote-" + o.ID(), Method: "pago_movil", BeneficiaryID: "beneficiary-1"}
}

// reference is how a provider that looks documents up by their identity finds the record.
func (o Operation) reference() unavez.InvoiceRef {
	return unavez.InvoiceRef{Issuer: issuer, Series: series, Folio: o.ID()}
}

// Request is the operation as a program without the SDK sends it: the same body, address and credentials.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	// KeyHeader is the header that carries the key; it is in Header already. Empty if the key is in the body.
	KeyHeader string
}

// Request encodes the operation under a key, which is not the record's own if the program makes up another.
func (o Operation) Request(key string) (Request, error) {
	provider := o.Account.newProvider()
	profile, err := provider.Profile(unavez.Test)
	if err != nil {
		return Request{}, err
	}
	encoded, err := provider.Encode(o.encodable(key))
	if err != nil {
		return Request{}, err
	}
	request := Request{
		Method: encoded.Method, URL: BaseURL + encoded.Path, Header: profile.Header.Clone(), Body: encoded.Body, KeyHeader: profile.Key.Header,
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if request.KeyHeader != "" {
		request.Header.Set(request.KeyHeader, key)
	}
	return request, nil
}

// Lookup is how the provider is asked for the key, where its page documents that.
func (o Operation) Lookup() (Request, error) {
	provider := o.Account.newProvider()
	finder, ok := provider.(unavez.Finder)
	if !ok || o.Account.Provider != Facty {
		return Request{}, errors.ErrUnsupported
	}
	profile, err := provider.Profile(unavez.Test)
	if err != nil {
		return Request{}, err
	}
	encoded, err := finder.EncodeLookup(unavez.Query{Operation: unavez.InvoiceCreate, Key: o.Key()})
	if err != nil {
		return Request{}, err
	}
	return Request{Method: http.MethodGet, URL: BaseURL + encoded.Path, Header: profile.Header.Clone()}, nil
}

func (o Operation) encodable(key string) *unavez.Operation {
	operation := &unavez.Operation{Key: key}
	switch o.Kind {
	case Invoice:
		operation.Name, operation.Invoice = unavez.InvoiceCreate, o.invoice(false)
	case Payment, Registration:
		operation.Name, operation.Payment = unavez.PaymentCreate, o.payment()
	case Retention:
		operation.Name, operation.Retention = unavez.RetentionCreate, o.retention()
	case StampXML:
		operation.Name, operation.StampXML = unavez.InvoiceStampXML, o.xml()
	case CreditNote:
		operation.Raw = o.creditNote()
		operation.Name = operation.Raw.Operation
	case Payout:
		operation.Name, operation.Payout = unavez.PayoutCreate, o.payout()
	}
	return operation
}
