package sandbox

import (
	"encoding/json"
	"math/big"
	"net/http"
	"strings"
	"time"
)

const (
	// fiscalistoBinding is how long a key belongs to one route and body.
	fiscalistoBinding = 24 * time.Hour
	// fiscalistoWait is what a request in progress is told to wait, in seconds.
	fiscalistoWait = 3
)

// fiscalisto is Fiscalisto. Every path is taken for one that stamps, since those
// that do not are not known.
type fiscalisto struct {
	server *Server
	keys   *ring
}

func newFiscalisto(s *Server) *fiscalisto {
	return &fiscalisto{server: s, keys: newRing(0)}
}

func (f *fiscalisto) mount(mux *http.ServeMux) {
	mux.Handle("POST /v1/invoices", f.server.serveWrites(f, OpInvoice))
	mux.HandleFunc("POST /v1/{path...}", func(w http.ResponseWriter, r *http.Request) {
		f.server.serveWrites(f, Operation(r.PathValue("path")))(w, r)
	})
}

func (f *fiscalisto) credential(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

func (f *fiscalisto) key(r *http.Request, _ object) string { return r.Header.Get("Idempotency-Key") }

type fiscalistoProblem struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (f *fiscalisto) problem(p problem) answer {
	var body fiscalistoProblem
	body.Error.Code = codeOf(p, fiscalistoCodes)
	body.Error.Message = messageOf(p)
	return jsonAnswer(p.status, body).withAll(p.header)
}

// fiscalistoCodes names the code of a status, where no page gives one.
func fiscalistoCodes(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusPaymentRequired:
		return "insufficient_stamps"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusUnprocessableEntity:
		return "invoice_invalid"
	case http.StatusTooManyRequests:
		return "rate_limited"
	}
	return "error"
}

func (f *fiscalisto) begin(w *write, at time.Time) (answer, bool) {
	switch {
	case w.key == "":
		return f.problem(problem{status: http.StatusBadRequest, code: "idempotency_key_missing"}), true
	case !printable(w.key, 8, 255, true):
		return f.problem(problem{status: http.StatusBadRequest, code: "idempotency_key_invalid"}), true
	}
	mark := fingerprint(w.path, string(w.body))
	known := f.keys.get(w.account, w.key, at)
	if known == nil {
		w.record = f.keys.take(w.account, w.key, mark, at)
		return answer{}, false
	}
	return f.repeat(w, known, mark, at)
}

// repeat answers a key that was used before. After 24 h neither route nor body is
// compared any more, but a key that stamped still answers its document.
func (f *fiscalisto) repeat(w *write, known *record, mark string, at time.Time) (answer, bool) {
	bound := at.Before(known.taken.Add(fiscalistoBinding))
	switch {
	case bound && known.mark != mark:
		return f.problem(problem{
			status: http.StatusConflict, code: "idempotency_key_reused",
			message: "the key was used with another request",
		}), true
	case known.phase == done:
		return known.answer.with("idempotent-replayed", "true"), true
	case known.phase != failed:
		return f.problem(problem{
			status: http.StatusConflict, code: "request_in_progress",
			message: "the first request is still being stamped", header: retryAfter(fiscalistoWait),
		}), true
	case known.answer.status != 0:
		// What became of a 202 is told once; repeating it after that tries again.
		refusal := known.answer
		known.answer = answer{}
		return refusal, true
	}
	if !bound {
		known = f.keys.take(w.account, w.key, mark, at)
	}
	known.phase = running
	w.record = known
	return answer{}, false
}

func (f *fiscalisto) finish(w *write, o outcome, at time.Time) answer {
	if o.kind == denied {
		return f.refuse(w, o.denial)
	}
	if message := f.check(w); message != "" {
		return f.refuse(w, problem{status: http.StatusUnprocessableEntity, code: "invoice_invalid", message: message})
	}
	switch o.kind {
	case rejected:
		return f.refuse(w, problem{status: http.StatusUnprocessableEntity, code: o.code, message: "rejected"})
	case unsettled, doomed, unknown:
		return f.accept(w, o, at)
	default:
		return f.stamp(w, f.server.ids.next("inv"), at)
	}
}

// refuse answers an error. If the request had reached the PAC, the key keeps the
// body; else it is free.
func (f *fiscalisto) refuse(w *write, p problem) answer {
	a := f.problem(p)
	reachedPAC := p.status == http.StatusPaymentRequired ||
		(p.status == http.StatusUnprocessableEntity && p.code != "invoice_invalid" && p.code != "")
	if reachedPAC {
		w.record.phase = failed
		return a
	}
	f.keys.free(w.account, w.key, w.record)
	return a
}

// accept answers 202: the PAC has not answered. No page gives the body.
func (f *fiscalisto) accept(w *write, o outcome, at time.Time) answer {
	id := f.server.ids.next("inv")
	w.record.phase = pending
	if o.kind != unknown {
		f.server.schedule(at.Add(o.after), func(at time.Time) answer {
			if o.kind == doomed {
				w.record.answer = f.refuse(w, problem{
					status: http.StatusUnprocessableEntity, code: "invoice_rejected", message: "the SAT rejected the document",
				})
				return answer{}
			}
			return f.stamp(w, id, at)
		})
	}
	return jsonAnswer(http.StatusAccepted, fiscalistoInvoice{ID: id, Status: statusPending, Total: f.total(w)})
}

type fiscalistoInvoice struct {
	ID     string      `json:"id"`
	UUID   *string     `json:"uuid"`
	Status string      `json:"status"`
	Total  json.Number `json:"total"`
}

func (f *fiscalisto) stamp(w *write, id string, at time.Time) answer {
	uuid := f.server.ids.uuid()
	f.server.enter(Entry{
		Provider: Fiscalisto, Account: w.account, Operation: w.op, Key: w.key,
		ID: id, UUID: uuid, Status: statusStamped, At: at,
	})
	w.record.phase = done
	w.record.answer = jsonAnswer(http.StatusCreated, fiscalistoInvoice{
		ID: id, UUID: &uuid, Status: statusStamped, Total: f.total(w),
	})
	return w.record.answer
}

// check says what the review before the PAC finds wrong, if anything.
func (f *fiscalisto) check(w *write) string {
	if !w.valid {
		return "the body is not a JSON object"
	}
	if bad := w.members.badText("payment_form"); len(bad) > 0 {
		return "payment_form: must be a string"
	}
	if customer := w.members["customer"]; w.members.has("customer") && w.members.text("customer") == "" {
		if _, ok := parseObject(customer); !ok {
			return "customer: must be an id or an object"
		}
	}
	items, ok := w.members.list("items")
	if !ok || (w.members.has("items") && len(items) == 0) {
		return "items: must be an array of objects, and not empty"
	}
	for _, item := range items {
		if bad := item.badNumbers("quantity", "unit_price"); len(bad) > 0 {
			return strings.Join(bad, ", ") + ": must be a number"
		}
	}
	return ""
}

// total computes the amount with 16 % of IVA. The price of a product that is only
// named is not known here and counts as nothing.
func (f *fiscalisto) total(w *write) json.Number {
	sum := new(big.Rat)
	items, _ := w.members.list("items")
	for _, item := range items {
		quantity := big.NewRat(1, 1)
		if item.has("quantity") {
			quantity = item.number("quantity")
		}
		sum.Add(sum, quantity.Mul(quantity, item.number("unit_price")))
	}
	return money(sum.Mul(sum, big.NewRat(116, 100)))
}
