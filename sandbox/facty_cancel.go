package sandbox

import (
	"net/http"
	"time"
)

// cancel is POST /invoices/{id}/cancel and /payments/{id}/cancel. It takes no key,
// so every repetition runs anew, and meets what the one before it did.
func (f *facty) cancel(w *write, o outcome, at time.Time) answer {
	doc := f.cancelled(w)
	switch {
	case o.kind == denied:
		return f.problem(o.denial)
	case doc == nil:
		return f.problem(notFound("document"))
	case o.kind == rejected:
		return f.problem(rejection(o.code))
	case o.kind == unsettled || o.kind == doomed || o.kind == unknown:
		return f.cancelLater(w, doc, o, at)
	}
	return f.cancelNow(w, doc, at)
}

// cancelled returns the document that a cancellation is about. An id of a payment
// stands for what was made of the payment last.
func (f *facty) cancelled(w *write) *document {
	if doc := f.named(w.account, w.target); doc != nil {
		return doc
	}
	payment := f.payments[w.target]
	if payment == nil || payment.account != w.account {
		return nil
	}
	return payment
}

func (f *facty) cancelNow(w *write, doc *document, at time.Time) answer {
	status := doc.status(at)
	if status != statusStamped && status != statusRegistered {
		return f.conflict("the document cannot be cancelled")
	}
	doc.enter(statusCancelled, at)
	f.server.enter(Entry{
		Provider: Facty, Account: w.account, Operation: OpCancel,
		ID: doc.id, UUID: doc.uuid, Status: statusCancelled, At: at,
	})
	return jsonAnswer(http.StatusOK, f.row(doc, at))
}

func (f *facty) cancelLater(w *write, doc *document, o outcome, at time.Time) answer {
	if o.kind == unsettled {
		f.server.schedule(at.Add(o.after), func(at time.Time) answer { return f.cancelNow(w, doc, at) })
	}
	return f.problem(problem{
		status: http.StatusGatewayTimeout, code: "PAC_TIMEOUT",
		message: "the SAT did not answer in time",
	})
}
