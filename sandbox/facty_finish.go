package sandbox

import (
	"encoding/json"
	"net/http"
	"time"
)

// zoneless is how CFDI dates are written: local time, without saying of where.
const zoneless = "2006-01-02T15:04:05"

func (f *facty) finish(w *write, o outcome, at time.Time) answer {
	if w.op == OpCancel {
		return f.cancel(w, o, at)
	}
	switch o.kind {
	case denied:
		f.undo(w)
		return f.problem(o.denial)
	case rejected:
		f.fail(w, at)
		return f.problem(rejection(o.code))
	case unsettled, doomed, unknown:
		f.leavePending(w, o, at)
		return f.problem(problem{
			status: http.StatusGatewayTimeout, code: "PAC_TIMEOUT",
			message: "the PAC did not answer in time",
		})
	default:
		return f.stamp(w, at)
	}
}

func rejection(code string) problem {
	return problem{
		status: http.StatusUnprocessableEntity, code: code,
		message: "the document was rejected",
		fields:  map[string]string{"items": "rejected by the SAT: " + code},
	}
}

// undo takes the row back: nothing was tried.
func (f *facty) undo(w *write) {
	doc := w.record.doc
	if doc.withdraw() {
		w.record.phase = failed // a retry that was not tried either
		return
	}
	f.keys.free(w.account, w.key, w.record)
	for i := range f.docs {
		if f.docs[i] == doc {
			f.docs = append(f.docs[:i], f.docs[i+1:]...)
			break
		}
	}
	if w.op == OpPayment {
		delete(f.payments, doc.payment)
	}
}

func (f *facty) fail(w *write, at time.Time) {
	w.record.phase = failed
	w.record.doc.enter(statusFailed, at)
}

func (f *facty) leavePending(w *write, o outcome, at time.Time) {
	w.record.phase = pending
	if o.kind == unknown {
		return
	}
	f.server.schedule(at.Add(o.after), func(at time.Time) answer {
		if o.kind == doomed {
			f.fail(w, at)
			return answer{}
		}
		return f.stamp(w, at)
	})
}

// stamp issues the document, or registers the payment that is not to be stamped.
func (f *facty) stamp(w *write, at time.Time) answer {
	doc := w.record.doc
	status := statusStamped
	if w.op == OpPayment && !w.members.truth("stamp") {
		status = statusRegistered
	}
	doc.enter(status, at)
	if status == statusStamped {
		doc.uuid = f.server.ids.uuid()
		f.number(doc)
	}
	if w.op == OpPaymentStamp {
		f.payments[w.target] = doc
	}
	f.server.enter(Entry{
		Provider: Facty, Account: w.account, Operation: w.op, Key: w.key,
		ID: doc.id, UUID: doc.uuid, Status: status, At: at,
	})
	w.record.phase = done
	w.record.answer = jsonAnswer(http.StatusCreated, f.row(doc, at))
	return w.record.answer.with("x-request-id", f.server.ids.request())
}

// A factyRow is a document in an answer to a write and in a list.
type factyRow struct {
	ID               string          `json:"id"`
	UUID             *string         `json:"uuid"`
	IdempotencyKey   string          `json:"idempotencyKey"`
	Status           string          `json:"status"`
	Type             string          `json:"type,omitempty"`
	PaymentID        string          `json:"paymentId,omitempty"`
	PaymentInvoiceID string          `json:"paymentInvoiceId,omitempty"`
	Serie            string          `json:"serie,omitempty"`
	Folio            json.RawMessage `json:"folio,omitempty"`
	Total            json.Number     `json:"total"`
	Moneda           string          `json:"moneda,omitempty"`
	StampedAt        string          `json:"stampedAt,omitempty"`
}

// row shows a document as it was at a time.
func (f *facty) row(doc *document, asOf time.Time) factyRow {
	status := doc.status(asOf)
	if status == statusRegistered {
		return factyRow{
			ID: doc.payment, IdempotencyKey: doc.key, Status: status,
			PaymentID: doc.payment, Total: doc.total, Moneda: doc.coin,
		}
	}
	row := factyRow{
		ID: doc.id, IdempotencyKey: doc.key, Status: status, Type: doc.kind,
		PaymentID: doc.payment, Total: doc.total, Moneda: doc.coin,
	}
	if status != statusStamped && status != statusCancelled {
		return row
	}
	row.UUID, row.Serie, row.Folio = &doc.uuid, doc.serie, doc.folio
	row.StampedAt = doc.stamped(asOf).Format(zoneless)
	if doc.payment != "" {
		row.PaymentInvoiceID = doc.id
	}
	return row
}
