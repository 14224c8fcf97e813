package ipsofactura

import (
	"encoding/base64"
	"net/http"
	"unicode/utf8"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

const notCarried = "is not part of Ipsofactura's body; give what Ipsofactura takes in Extra or Raw"

// Encode turns an operation into Ipsofactura's request. It implements [unavez.Provider].
//
// Ipsofactura stamps invoices, invoices that are XML already and payment complements, and cancels. It has no stored
// customers, products or payments, no withholding certificates, and pays nothing out. A payment is always stamped: StampNow must be set.
func (p Provider) Encode(operation *unavez.Operation) (unavez.Request, error) {
	switch operation.Name {
	case unavez.InvoiceCreate:
		return encodeInvoice(operation.Key, operation.Invoice)
	case unavez.InvoiceStampXML:
		return encodeXML(operation.Key, operation.StampXML)
	case unavez.PaymentCreate:
		return encodePayment(operation.Key, operation.Payment)
	case unavez.InvoiceCancel:
		return encodeCancel(operation.Key, operation.Cancel)
	default:
		return unavez.Request{}, encode.NoOperation(name, operation.Name)
	}
}

// write makes a request, unless the body could not be made. The key goes in the header alone; a body that repeats it must repeat it exactly.
func write(path, key string, body unavez.Body, proof unavez.Proof, err error) (unavez.Request, error) {
	if err != nil {
		return unavez.Request{}, err
	}
	body.KeyMember, body.Key = "idempotency_key", key
	data, err := body.Encode()
	return unavez.Request{Method: http.MethodPost, Path: path, Body: data, Proof: proof}, err
}

type xmlBody struct {
	XML string `json:"xml_base64,omitempty"`
}

// encodeXML sends a sealed document to an address of its own; that its body has the same form is inferred.
func encodeXML(key string, params *unavez.StampXMLParams) (unavez.Request, error) {
	path := "/cfdi/timbrar-xml"
	if params.Sealed {
		path = "/cfdi/timbrar-sellado"
	}
	body, err := encode.Body(params, params.Extra, nil, func(check *encode.Check) any {
		check.Require("XML", len(params.XML) > 0, "xml_base64")
		check.Refuse("XML", !utf8.Valid(params.XML), "is not valid UTF-8")
		return xmlBody{XML: base64.StdEncoding.EncodeToString(params.XML)}
	})
	return write(path, key, body, unavez.ProofUUID, err)
}

type cancelBody struct {
	ID         string `json:"id,omitempty"`
	UUID       string `json:"uuid,omitempty"`
	Motive     string `json:"motivo,omitempty"`
	Substitute string `json:"folio_sustitucion,omitempty"`
}

// encodeCancel names the document by its id, its fiscal UUID or both. The members are inferred.
func encodeCancel(key string, params *unavez.CancelParams) (unavez.Request, error) {
	body, err := encode.Body(params, params.Extra, params.Raw, func(check *encode.Check) any {
		isNamed := params.ID != "" || params.UUID != "" || check.Has("id") || check.Has("uuid")
		check.Refuse("ID", !isNamed, "is empty, and so is UUID: expected one of them")
		return cancelBody{ID: params.ID, UUID: params.UUID, Motive: params.Motive, Substitute: params.SubstituteUUID}
	})
	request, err := write("/cfdi/cancelar", key, body, unavez.ProofObject, err)
	if err == nil && params.Raw == nil {
		err = encode.CheckMotive(request.Body, "motivo", "folio_sustitucion")
	}
	return request, err
}
