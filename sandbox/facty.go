package sandbox

import (
	"net/http"
	"strconv"
	"time"
)

// facty is Facty: the key travels in the body, the state of a key can be looked
// up, and what was stamped under a key is answered for ever.
type facty struct {
	server   *Server
	keys     *ring
	docs     []*document
	payments map[string]*document // by id of the payment; the document may be unstamped
	folios   map[string]int       // the last one, by organisation and series
}

func newFacty(s *Server) *facty {
	return &facty{
		server:   s,
		keys:     newRing(0),
		payments: map[string]*document{},
		folios:   map[string]int{},
	}
}

func (f *facty) mount(mux *http.ServeMux) {
	for _, prefix := range []string{"", "/api"} {
		org := prefix + "/authenticated/{org}"
		mux.Handle("POST "+org+"/invoices", f.server.serveWrites(f, OpInvoice))
		mux.Handle("POST "+org+"/payments", f.server.serveWrites(f, OpPayment))
		mux.Handle("POST "+org+"/payments/{id}/stamp", f.server.serveWrites(f, OpPaymentStamp))
		mux.Handle("POST "+org+"/retenciones", f.server.serveWrites(f, OpRetention))
		mux.Handle("POST "+org+"/invoices/{id}/cancel", f.server.serveWrites(f, OpCancel))
		mux.Handle("POST "+org+"/payments/{id}/cancel", f.server.serveWrites(f, OpCancel))
		mux.Handle("GET "+org+"/invoices", f.server.serveLookups(f, f.list))
		mux.Handle("GET "+org+"/invoices/{id}", f.server.serveLookups(f, f.get))
		mux.Handle("GET "+org+"/invoices/{id}/sat-status", f.server.serveLookups(f, f.satStatus))
	}
}

func (f *facty) credential(r *http.Request) string { return r.Header.Get("X-API-Key") }

func (f *facty) key(_ *http.Request, members object) string { return members.text("idempotencyKey") }

type factyProblem struct {
	Error       string            `json:"error"`
	Code        string            `json:"code"`
	RequestID   string            `json:"requestId"`
	FieldErrors map[string]string `json:"fieldErrors,omitempty"`
}

func (f *facty) problem(p problem) answer {
	id := f.server.ids.request()
	return jsonAnswer(p.status, factyProblem{
		Error:       messageOf(p),
		Code:        codeOf(p, factyCodes),
		RequestID:   id,
		FieldErrors: p.fields,
	}).withAll(p.header).with("x-request-id", id)
}

// factyCodes names the code of a status, where nothing more precise is said.
func factyCodes(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "INVALID_API_KEY"
	case http.StatusPaymentRequired:
		return "INSUFFICIENT_TIMBRES"
	case http.StatusForbidden:
		return "MISSING_SCOPE"
	case http.StatusTooManyRequests:
		return "RATE_LIMITED"
	}
	return ""
}

// begin answers what Facty answers a key that it knows. Which operation, or which
// payment, a key was used for is compared; the body is not, since no page says so.
func (f *facty) begin(w *write, at time.Time) (answer, bool) {
	if p, bad := f.check(w); bad {
		return f.problem(p), true
	}
	if w.op == OpCancel {
		return answer{}, false // takes no key
	}
	mark := fingerprint(string(w.op), w.target)
	if known := f.keys.get(w.account, w.key, at); known != nil {
		return f.repeat(w, known, mark, at)
	}
	if p, bad := f.refuseStamp(w, at); bad {
		return f.problem(p), true
	}
	w.record = f.keys.take(w.account, w.key, mark, at)
	w.record.doc = f.open(w)
	w.record.doc.enter(statusPending, at)
	return answer{}, false
}

// repeat answers a key that was used before. A page names no code for the
// conflicts, so all of them have the same: only a lookup tells them apart.
func (f *facty) repeat(w *write, known *record, mark string, at time.Time) (answer, bool) {
	switch {
	case known.mark != mark:
	case known.phase == done:
		return known.answer.as(http.StatusOK).with("x-request-id", f.server.ids.request()), true
	case known.phase == failed && mayRetry(w):
		known.phase = running
		known.doc.enter(statusPending, at)
		f.describe(known.doc, w)
		w.record = known
		return answer{}, false
	}
	return f.conflict("the idempotency key is pending, failed or taken"), true
}

func mayRetry(w *write) bool {
	kind := w.members.text("type")
	return w.op == OpInvoice && (kind == "ingreso" || kind == "egreso") &&
		w.members.truth("allowRetryOnFailed")
}

func (f *facty) conflict(message string) answer {
	return f.problem(problem{status: http.StatusConflict, code: "CONFLICT", message: message})
}

// open makes the row of a new key.
func (f *facty) open(w *write) *document {
	doc := &document{
		op:      w.op,
		id:      f.server.ids.next("inv"),
		account: w.account,
		key:     w.key,
	}
	f.describe(doc, w)
	if w.op == OpPayment {
		doc.payment = f.server.ids.next("pay")
		f.payments[doc.payment] = doc
	}
	if w.op == OpPaymentStamp {
		registered := f.payments[w.target]
		doc.payment, doc.total, doc.coin = w.target, registered.total, registered.coin
	}
	f.docs = append(f.docs, doc)
	return doc
}

// describe copies what a row shows of the body.
func (f *facty) describe(doc *document, w *write) {
	doc.kind = w.members.text("type")
	doc.total = factyTotal(w)
	doc.coin = orDefault(w.members.text("moneda"), "MXN")
	doc.serie = orDefault(w.members.text("serie"), "A")
}

// number gives a document its folio, one after the other in each series.
func (f *facty) number(doc *document) {
	if doc.folio != nil {
		return
	}
	series := fingerprint(doc.account, doc.serie)
	f.folios[series]++
	doc.folio = []byte(strconv.Itoa(f.folios[series]))
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
