package sandbox

import (
	"encoding/json"
	"net/http"
	"time"
)

// An ipsofacturaRow is a document in an answer to a write and in a list. No page
// gives the words of status: these are made up, in its language.
type ipsofacturaRow struct {
	ID             string          `json:"id"`
	UUID           *string         `json:"folio_fiscal"`
	Status         string          `json:"status"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	Issuer         string          `json:"rfc_emisor,omitempty"`
	Kind           string          `json:"tipo_comprobante,omitempty"`
	Serie          string          `json:"serie,omitempty"`
	Folio          json.RawMessage `json:"folio,omitempty"`
	StampedAt      string          `json:"fecha_timbrado,omitempty"`
	Related        []object        `json:"documentos_relacionados,omitzero"`
}

func (i *ipsofactura) row(doc *document, asOf time.Time) ipsofacturaRow {
	row := ipsofacturaRow{
		ID: doc.id, Status: "pendiente", Issuer: doc.issuer,
		Kind: doc.kind, Serie: doc.serie, Folio: doc.folio,
	}
	switch doc.status(asOf) {
	case statusStamped:
		row.Status = "timbrado"
	case statusCancelled:
		row.Status = "cancelado"
	default:
		return row
	}
	row.UUID, row.StampedAt = &doc.uuid, doc.stamped(asOf).Format(zoneless)
	return row
}

// list is GET /cfdi. No page gives its shape: it is an object with the rows in
// data. A document whose outcome is open has a row without UUID.
func (i *ipsofactura) list(q *query, _ time.Time) answer {
	rows := []ipsofacturaRow{}
	for _, doc := range i.docs {
		if doc.account == q.account && doc.status(q.asOf) != "" && i.matches(doc, q) {
			rows = append(rows, i.row(doc, q.asOf))
		}
	}
	return jsonAnswer(http.StatusOK, struct {
		Data []ipsofacturaRow `json:"data"`
	}{rows})
}

func (i *ipsofactura) matches(doc *document, q *query) bool {
	if q.everything {
		return true
	}
	own := map[string]string{
		"serie":      doc.serie,
		"folio":      object{"folio": doc.folio}.scalar("folio"),
		"rfc_emisor": doc.issuer,
	}
	for name, value := range own {
		if asked, ok := q.filter[name]; ok && asked != value {
			return false
		}
	}
	return true
}

// get is GET /cfdi/{id}.
func (i *ipsofactura) get(q *query, _ time.Time) answer {
	doc := find(i.docs, func(d *document) bool { return d.account == q.account && d.id == q.target })
	if doc == nil || doc.status(q.asOf) == "" {
		return i.problem(notFound("document"))
	}
	return jsonAnswer(http.StatusOK, i.row(doc, q.asOf))
}
