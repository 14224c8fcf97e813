package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/unavez/unavez"
)

// Timbra is the access of one account of an imaginary API that stamps invoices. It takes its key in the header Idempotency-Key, in the manner
// of the IETF draft of that name, and answers errors as application/problem+json.
type Timbra struct {
	// BaseURL is the address of the API, without the "/v1" of its paths.
	BaseURL string
	// Account is the account's public name.
	Account string
	// Token is the secret.
	Token string
}

var _ unavez.Finder = Timbra{} // a unavez.Provider that can also be asked

// Profile is what the client has to know about the API: data, to be held beside its page.
func (t Timbra) Profile(environment unavez.Environment) (unavez.Profile, error) {
	switch {
	case t.BaseURL == "":
		return unavez.Profile{}, errors.New("timbra: BaseURL is empty, and no host is documented")
	case t.Account == "":
		return unavez.Profile{}, errors.New("timbra: Account is empty")
	case t.Token == "":
		return unavez.Profile{}, errors.New("timbra: Token is empty")
	}
	return unavez.Profile{
		Name: "timbra", Account: string(environment) + " " + t.Account, BaseURL: t.BaseURL,
		Header: http.Header{"Authorization": {"Bearer " + t.Token}},
		Key:    unavez.KeyRule{Min: 1, Max: 64, Header: "Idempotency-Key"},
		Operations: map[unavez.OperationName]unavez.OperationRules{
			unavez.InvoiceCreate: {
				Ambiguity: unavez.AmbiguityResend, Retention: 24 * time.Hour, EmptyProves: true, FailedNext: unavez.NextReview,
				Hint: "the same request under the same key shows what became of it within a day.",
			},
		},
		Rules:    rules(),
		Envelope: unavez.Envelope{Code: []string{"type"}, Message: []string{"detail"}, FieldErrors: []string{"errors"}},
		Document: unavez.Fields{
			ID: []string{"id"}, UUID: []string{"uuid"}, Status: []string{"status"}, Total: []string{"total"}, Key: []string{"key"},
		},
	}, nil
}

// Format shows the configuration without its secret, under every verb of fmt.
func (t Timbra) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "Timbra{"+t.Account+" at "+t.BaseURL+"}")
}

// invoiceBody is the documented body of POST /v1/invoices. The order of its fields is the order on the wire.
type invoiceBody struct {
	RFC   string     `json:"rfc"`
	Lines []lineBody `json:"lines"`
}

type lineBody struct {
	Text   string         `json:"text"`
	Amount unavez.Decimal `json:"amount"`
}

// Encode turns an operation into its request. It is called once per operation; every attempt sends the bytes that it returns.
func (t Timbra) Encode(operation *unavez.Operation) (unavez.Request, error) {
	if operation.Name != unavez.InvoiceCreate {
		return unavez.Request{}, fmt.Errorf("timbra documents no request for %s: %w", operation.Name, errors.ErrUnsupported)
	}
	params := operation.Invoice
	if err := checkInvoice(params); err != nil {
		return unavez.Request{}, err
	}
	body := unavez.Body{Extra: params.Extra, Raw: params.Raw}
	if params.Raw == nil {
		body.Typed = newInvoiceBody(params)
	}
	data, err := body.Encode()
	return unavez.Request{Method: http.MethodPost, Path: "/v1/invoices", Body: data, Proof: unavez.ProofUUID}, err
}

func newInvoiceBody(params *unavez.InvoiceParams) invoiceBody {
	body := invoiceBody{RFC: params.Customer.RFC}
	for _, item := range params.Items {
		body.Lines = append(body.Lines, lineBody{Text: item.Description, Amount: item.UnitPrice})
	}
	return body
}

// checkInvoice refuses by name what the API cannot carry: a field is never dropped, and its name on the wire never guessed.
func checkInvoice(params *unavez.InvoiceParams) error {
	if params.Raw != nil {
		return refuseRest("", *params, unavez.InvoiceParams{Raw: params.Raw, Extra: params.Extra})
	}
	customer := unavez.Customer{RFC: params.Customer.RFC}
	err := errors.Join(
		refuseRest("", *params, unavez.InvoiceParams{Customer: params.Customer, Items: params.Items, Extra: params.Extra}),
		refuseRest("Customer.", params.Customer, customer),
	)
	for i, item := range params.Items {
		row := fmt.Sprintf("Items[%d].", i)
		err = errors.Join(err, refuseRest(row, item, unavez.Item{
			Description: item.Description, Quantity: item.Quantity, UnitPrice: item.UnitPrice,
		}))
		if item.Quantity != "1" {
			err = errors.Join(err, unavez.Unsupported(row+"Quantity", "is not 1, and Timbra has no quantities"))
		}
	}
	return err
}

// refuseRest names the first field of given that differs from carried, which holds only what the API takes.
func refuseRest(path string, given, carried any) error {
	all, taken := reflect.ValueOf(given), reflect.ValueOf(carried)
	for i := range all.NumField() {
		if !reflect.DeepEqual(all.Field(i).Interface(), taken.Field(i).Interface()) {
			return unavez.Unsupported(path+all.Type().Field(i).Name, "is not part of Timbra's body; give what Timbra takes in Extra or Raw")
		}
	}
	return nil
}

// EncodeLookup asks what became of a key. Nothing is adopted that does not repeat it.
func (t Timbra) EncodeLookup(query unavez.Query) (unavez.Request, error) {
	if query.Operation != unavez.InvoiceCreate || query.Key == "" {
		return unavez.Request{}, fmt.Errorf("timbra is asked by the key of an invoice: %w", errors.ErrUnsupported)
	}
	return unavez.Request{
		Method: http.MethodGet, Path: "/v1/keys/" + url.PathEscape(query.Key),
		Rows: unavez.Rows{
			Single: true, MayBeAbsent: true, Proof: unavez.ProofUUID,
			Echo: []unavez.Echo{{Member: "key", Want: query.Key}},
			Words: map[string]unavez.RowState{
				"issued": unavez.RowDone, "processing": unavez.RowPending, "rejected": unavez.RowFailed,
			},
		},
	}, nil
}
