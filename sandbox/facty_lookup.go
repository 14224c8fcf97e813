package sandbox

import (
	"net/http"
	"strings"
	"time"
)

// list is GET /invoices. It has a row for every CFDI that is an invoice or a
// complement; retentions are documents of another kind.
func (f *facty) list(q *query, _ time.Time) answer {
	rows := []factyRow{}
	for _, doc := range f.docs {
		if f.listed(doc, q) {
			rows = append(rows, f.row(doc, q.asOf))
		}
	}
	return jsonAnswer(http.StatusOK, struct {
		Invoices []factyRow `json:"invoices"`
	}{rows})
}

func (f *facty) listed(doc *document, q *query) bool {
	status := doc.status(q.asOf)
	if doc.account != q.account || doc.op == OpRetention || status == "" || status == statusRegistered {
		return false
	}
	if q.everything {
		return true
	}
	if key, asked := q.filter["idempotencyKey"]; asked && doc.key != key {
		return false
	}
	if uuid, asked := q.filter["uuid"]; asked && !strings.EqualFold(doc.uuid, uuid) {
		return false
	}
	return true
}

// get is GET /invoices/{id}.
func (f *facty) get(q *query, _ time.Time) answer {
	doc := f.named(q.account, q.target)
	if doc == nil || doc.status(q.asOf) == "" {
		return f.problem(notFound("invoice"))
	}
	return jsonAnswer(http.StatusOK, f.row(doc, q.asOf))
}

// named returns the document with an id.
func (f *facty) named(account, id string) *document {
	return find(f.docs, func(d *document) bool { return d.account == account && d.id == id })
}

type factySATStatus struct {
	Estado       string `json:"estado"`
	EsCancelable string `json:"esCancelable"`
	Cached       bool   `json:"cached"`
	CheckedAt    string `json:"checkedAt"`
}

// satStatus is GET /invoices/{id}/sat-status.
func (f *facty) satStatus(q *query, at time.Time) answer {
	doc := f.named(q.account, q.target)
	if doc == nil || doc.status(q.asOf) == "" {
		return f.problem(notFound("invoice"))
	}
	status := factySATStatus{
		Estado: "No Encontrado", EsCancelable: "No cancelable",
		Cached: !q.forced, CheckedAt: at.Format(zoneless),
	}
	switch doc.status(q.asOf) {
	case statusStamped:
		status.Estado, status.EsCancelable = "Vigente", "Cancelable sin aceptación"
	case statusCancelled:
		status.Estado = "Cancelado"
	}
	return jsonAnswer(http.StatusOK, status)
}
