package facty

import (
	"net/http"
	"net/url"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

const (
	keyMember    = "idempotencyKey"
	retryMember  = "allowRetryOnFailed"
	invoicesPath = "invoices"
	paymentsPath = "payments"
	notCarried   = "is not part of Facty's documented body; give what Facty takes in Extra or Raw"
)

// Encode turns an operation into Facty's request. It implements [unavez.Provider].
//
// Facty stamps invoices of the types Income and Expense for a stored customer, records and stamps payments, stamps withholding
// certificates, and cancels. Folio, Issuer and the data of a customer are its own; it stamps no XML and pays nothing out.
func (p Provider) Encode(operation *unavez.Operation) (unavez.Request, error) {
	switch operation.Name {
	case unavez.InvoiceCreate:
		return p.encodeInvoice(operation.Key, operation.Invoice)
	case unavez.PaymentCreate:
		return p.encodePayment(operation.Key, operation.Payment)
	case unavez.PaymentStamp:
		return p.encodePaymentStamp(operation.Key, operation.PaymentID)
	case unavez.RetentionCreate:
		return p.encodeRetention(operation.Key, operation.Retention)
	case unavez.InvoiceCancel:
		return p.encodeCancel(invoicesPath, operation.Cancel)
	case unavez.PaymentCancel:
		return p.encodeCancel(paymentsPath, operation.Cancel)
	default:
		return unavez.Request{}, encode.NoOperation(name, operation.Name)
	}
}

// path returns a path below the organisation. What follows must be escaped already.
func (p Provider) path(rest string) string {
	return "/authenticated/" + url.PathEscape(p.Org) + "/" + rest
}

// write makes a request of a body with the key in it, of which a fiscal UUID proves success.
func (p Provider) write(path, key string, body unavez.Body) (unavez.Request, error) {
	body.KeyMember, body.Key, body.KeyIsAdded = keyMember, key, true
	data, err := body.Encode()
	if err != nil {
		return unavez.Request{}, err
	}
	request := unavez.Request{Method: http.MethodPost, Path: p.path(path), Body: data, Proof: unavez.ProofUUID}
	if field := flagField(&body); field != "" {
		request.RetriesFailed, err = retriesFailed(field, data, path == invoicesPath)
	}
	return request, err
}

// flagField names the place in which the caller may have decided about a failed key.
func flagField(body *unavez.Body) string {
	typed, _ := body.Typed.(invoiceBody)
	_, isExtra := body.Extra[retryMember]
	switch {
	case body.Raw != nil:
		return "Raw"
	case typed.RetryOnFailed:
		return "AllowRetryOnFailed"
	case isExtra:
		return "Extra"
	}
	return ""
}

// retriesFailed reads the decision from the final bytes, whatever place it comes from, and refuses it where Facty does not offer it.
func retriesFailed(field string, body []byte, isInvoice bool) (bool, error) {
	object, _ := unavez.ParseObject(body)
	if !object.Has(retryMember) || object.Get(retryMember) == "false" {
		return false, nil
	}
	if object.Get(retryMember) != "true" {
		return false, unavez.Unsupported(field, "has "+retryMember+" with something else than true or false")
	}
	if kind := object.Text("type"); !isInvoice || (kind != typeIncome && kind != typeExpense) {
		return false, unavez.Unsupported(field, "is set to try a failed key again, which Facty offers for invoices of type "+
			typeIncome+" and "+typeExpense+" only")
	}
	return true, nil
}

func (p Provider) encodePaymentStamp(key, paymentID string) (unavez.Request, error) {
	check := encode.Check{}
	id := check.Element("PaymentID", paymentID)
	if err := check.Err(); err != nil {
		return unavez.Request{}, err
	}
	return p.write(paymentsPath+"/"+id+"/stamp", key, unavez.Body{})
}

// encodeRetention sends what the caller gives: the body is not documented.
func (p Provider) encodeRetention(key string, params *unavez.RetentionParams) (unavez.Request, error) {
	if params.Raw == nil && len(params.Extra) == 0 {
		return unavez.Request{}, unavez.Unsupported("Extra", "is empty, and so is Raw: expected the certificate in one of them")
	}
	return p.write("retenciones", key, unavez.Body{Extra: params.Extra, Raw: params.Raw})
}

type cancelBody struct {
	Motive     string `json:"motivo,omitempty"`
	Substitute string `json:"folioSustitucion,omitempty"`
}

// encodeCancel puts no key into the body, for none is documented there.
func (p Provider) encodeCancel(list string, params *unavez.CancelParams) (unavez.Request, error) {
	path := encode.Check{}
	path.Refuse("UUID", params.UUID != "", "is not how Facty names a document to cancel; expected ID")
	id := path.Element("ID", params.ID)
	if err := path.Err(); err != nil {
		return unavez.Request{}, err
	}
	body, err := encode.Body(params, params.Extra, params.Raw, func(*encode.Check) any {
		return cancelBody{Motive: params.Motive, Substitute: params.SubstituteUUID}
	}, "ID")
	if err != nil {
		return unavez.Request{}, err
	}
	data, err := body.Encode()
	if err == nil && params.Raw == nil {
		err = encode.CheckMotive(data, "motivo", "folioSustitucion")
	}
	return unavez.Request{Method: http.MethodPost, Path: p.path(list + "/" + id + "/cancel"), Body: data, Proof: unavez.ProofObject}, err
}
