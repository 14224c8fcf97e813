package ipsofactura

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/encode"
)

// EncodeLookup asks Ipsofactura for a document by its id, or by issuer, series and folio together. It implements [unavez.Finder].
//
// A key cannot be asked for, so what became of a write is found by the caller's own numbering; without it the same request is the
// way. No shape of the list and no status word is documented: the usual shapes are read, a row is ours only if it repeats
// all that was asked, and its fiscal UUID is the proof.
func (p Provider) EncodeLookup(query unavez.Query) (unavez.Request, error) {
	if err := checkReference(query); err != nil {
		return unavez.Request{}, err
	}
	rows := unavez.Rows{Single: true, Proof: unavez.ProofUUID, Echo: recorded(query)}
	switch query.Operation {
	case unavez.InvoiceCreate, unavez.InvoiceStampXML, unavez.PaymentCreate:
	case "":
		rows.Proof = unavez.ProofObject
	default:
		return unavez.Request{}, fmt.Errorf("ipsofactura documents no lookup for %s: %w", query.Operation, errors.ErrUnsupported)
	}
	return lookUp(query.Reference, rows)
}

// checkReference refuses an identity that is not the recorded one: what it finds, or does not find, would prove nothing.
func checkReference(query unavez.Query) error {
	request, _ := unavez.ParseObject(query.Body)
	for _, part := range [...]struct{ field, member, given string }{
		{"Series", "serie", query.Reference.Series},
		{"Folio", "folio", query.Reference.Folio},
		{"Issuer", "rfc_emisor", query.Reference.Issuer},
	} {
		if recorded := request.Text(part.member); recorded != "" && part.given != "" && recorded != part.given {
			return unavez.Unsupported("InvoiceRef."+part.field, "differs from that of the recorded request")
		}
	}
	return nil
}

func lookUp(reference unavez.InvoiceRef, rows unavez.Rows) (unavez.Request, error) {
	rows.Echo = append(rows.Echo, identity(reference)...)
	switch {
	case reference.ID != "":
		check := encode.Check{}
		path := "/cfdi/" + check.Element("ID", reference.ID)
		rows.MayBeAbsent = true
		return unavez.Request{Method: http.MethodGet, Path: path, Rows: rows}, check.Err()
	case reference.Issuer != "" && reference.Series != "" && reference.Folio != "":
		rows.Lists = []string{"", "data", "items", "results", "cfdi"}
		query := "?serie=" + url.QueryEscape(reference.Series) + "&folio=" + url.QueryEscape(reference.Folio) +
			"&rfc_emisor=" + url.QueryEscape(reference.Issuer)
		return unavez.Request{Method: http.MethodGet, Path: "/cfdi" + query, Rows: rows}, nil
	}
	return unavez.Request{}, fmt.Errorf("ipsofactura finds a document by its id, or by issuer, series and folio: %w", errors.ErrUnsupported)
}

// identity is what a row must repeat: all that was asked.
func identity(reference unavez.InvoiceRef) []unavez.Echo {
	var echo []unavez.Echo
	for _, member := range [...]unavez.Echo{
		{Member: "id", Want: reference.ID},
		{Member: "folio_fiscal", Want: reference.UUID},
		{Member: "serie", Want: reference.Series},
		{Member: "folio", Want: reference.Folio},
		{Member: "rfc_emisor", Want: reference.Issuer},
	} {
		if member.Want != "" {
			echo = append(echo, member)
		}
	}
	return echo
}

// recorded is what the journal's request says of its document: its type, which no query carries though each type may be numbered apart, and
// its numbering, so that a reference to another document adopts nothing. A row need not have these members.
func recorded(query unavez.Query) []unavez.Echo {
	request, _ := unavez.ParseObject(query.Body)
	var echo []unavez.Echo
	for _, member := range [...]string{"tipo_comprobante", "serie", "folio", "rfc_emisor"} {
		if want := request.Text(member); want != "" {
			echo = append(echo, unavez.Echo{Member: member, Want: want, WhenPresent: true})
		}
	}
	if query.Operation == unavez.PaymentCreate {
		echo = append(echo, unavez.Echo{Member: "tipo_comprobante", Want: "P", WhenPresent: true})
	}
	return echo
}
