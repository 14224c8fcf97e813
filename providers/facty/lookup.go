package facty

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

const (
	cancelSuffix    = "/cancel"
	satStatusSuffix = "/sat-status"
)

// EncodeLookup asks Facty. It implements [unavez.Finder].
//
// What became of a write is asked by its key, at the list of invoices: a row is ours if it repeats the key. A cancellation of an invoice
// is read from SAT's status of the invoice, never with the force that costs a stamp; one of a payment cannot be asked for. A
// document is read by its fiscal UUID or, which is inferred, by its id.
func (p Provider) EncodeLookup(query unavez.Query) (unavez.Request, error) {
	switch query.Operation {
	case "":
		return p.lookUpDocument(query.Reference)
	case unavez.InvoiceCreate, unavez.PaymentCreate, unavez.PaymentStamp, unavez.RetentionCreate:
		return p.lookUpKey(query)
	case unavez.InvoiceCancel:
		return p.lookUpCancellation(query.Path)
	default:
		return unavez.Request{}, fmt.Errorf("facty documents no lookup for %s: %w", query.Operation, errors.ErrUnsupported)
	}
}

func (p Provider) lookUpKey(query unavez.Query) (unavez.Request, error) {
	if query.Key == "" {
		return unavez.Request{}, fmt.Errorf("facty is asked by the key: %w", errors.ErrUnsupported)
	}
	echo := append([]unavez.Echo{{Member: keyMember, Want: query.Key}}, identity(query.Reference, true)...)
	return p.list("?"+keyMember+"="+url.QueryEscape(query.Key), unavez.Rows{
		Echo: echo, Proof: unavez.ProofUUID, FailedMayBeOld: triesFailedAgain(query.Body),
		Words: map[string]unavez.RowState{
			"stamped": unavez.RowDone, "pending": unavez.RowPending, "failed": unavez.RowFailed,
		},
	}), nil
}

// triesFailedAgain reads from a recorded body whether it was sent to try a failed key again.
func triesFailedAgain(body []byte) bool {
	object, ok := unavez.ParseObject(body)
	return ok && object.Get(retryMember) == "true"
}

// lookUpDocument is a plain read: it takes a document as it is, whatever its status.
func (p Provider) lookUpDocument(reference unavez.InvoiceRef) (unavez.Request, error) {
	rows := unavez.Rows{Echo: identity(reference, false), Proof: unavez.ProofObject}
	switch {
	case reference.Issuer != "":
	case reference.ID != "":
		check := encode.Check{}
		id := check.Element("ID", reference.ID)
		rows.Single, rows.MayBeAbsent = true, true
		return unavez.Request{Method: http.MethodGet, Path: p.path(invoicesPath + "/" + id), Rows: rows}, check.Err()
	case reference.UUID != "":
		return p.list("?uuid="+url.QueryEscape(reference.UUID), rows), nil
	}
	return unavez.Request{}, fmt.Errorf("facty finds an invoice by its id or its uuid: %w", errors.ErrUnsupported)
}

func (p Provider) list(query string, rows unavez.Rows) unavez.Request {
	rows.Lists = []string{"invoices"}
	return unavez.Request{Method: http.MethodGet, Path: p.path(invoicesPath) + query, Rows: rows}
}

// identity is what a row must repeat of a reference. Beside a key, which is identity enough, a row may lack it.
func identity(reference unavez.InvoiceRef, mayLack bool) []unavez.Echo {
	var echo []unavez.Echo
	for _, member := range [...]unavez.Echo{
		{Member: "id", Want: reference.ID},
		{Member: "uuid", Want: reference.UUID},
		{Member: "serie", Want: reference.Series},
		{Member: "folio", Want: reference.Folio},
	} {
		if member.Want != "" {
			member.WhenPresent = mayLack
			echo = append(echo, member)
		}
	}
	return echo
}

// lookUpCancellation reads SAT's word on the invoice that the recorded request names. Only one of its words says that the
// cancellation was done; an invoice that is still valid may be waiting for its receiver.
func (p Provider) lookUpCancellation(path string) (unavez.Request, error) {
	invoice, isCancel := strings.CutSuffix(path, cancelSuffix)
	if id, isOurs := strings.CutPrefix(invoice, p.path(invoicesPath+"/")); !isCancel || !isOurs || id == "" || strings.Contains(id, "/") {
		return unavez.Request{}, fmt.Errorf("facty reads sat-status of the invoice in the recorded path: %w", errors.ErrUnsupported)
	}
	return unavez.Request{
		Method: http.MethodGet, Path: invoice + satStatusSuffix,
		Rows: unavez.Rows{
			Single: true, Proof: unavez.ProofObject,
			Words: map[string]unavez.RowState{
				"Cancelado": unavez.RowDone, "Vigente": unavez.RowProvesNothing, "No Encontrado": unavez.RowProvesNothing,
			},
		},
	}, nil
}
