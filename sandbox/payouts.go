package sandbox

import (
	"net/http"
	"strings"
	"time"
)

const (
	// payoutsLife is how long a key is remembered after its first use.
	payoutsLife = 24 * time.Hour
	// payoutsClaim is how long the key of a request that was cut stays in flight.
	payoutsClaim = time.Minute
)

// The words that a payout can have. The page gives the last two; the first stands
// for all those that it does not give.
const (
	payoutProcessing = "processing"
	payoutFailed     = "failed"
	payoutUnknown    = "unknown"
)

// payouts is the payouts API: the first answer is given again, the key of a
// request that was cut can be claimed after a while, and a quote is used once.
type payouts struct {
	server *Server
	keys   *ring
	quotes map[scope]bool // used up, by account and quote
}

var _ holder = (*payouts)(nil)

func newPayouts(s *Server) *payouts {
	return &payouts{server: s, keys: newRing(payoutsLife), quotes: map[scope]bool{}}
}

func (p *payouts) mount(mux *http.ServeMux) {
	mux.Handle("POST /v1/payouts", p.server.serveWrites(p, OpPayout))
}

func (p *payouts) credential(r *http.Request) string { return r.Header.Get("x-api-key") }

func (p *payouts) key(r *http.Request, _ object) string { return r.Header.Get("Idempotency-Key") }

type payoutsProblem struct {
	Error struct {
		Type      string `json:"type"`
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	} `json:"error"`
}

func (p *payouts) problem(what problem) answer {
	var body payoutsProblem
	body.Error.Type = payoutsType(what.status)
	body.Error.Code = codeOf(what, payoutsCodes)
	body.Error.Message = messageOf(what)
	body.Error.RequestID = p.server.ids.request()
	return jsonAnswer(what.status, body).withAll(what.header)
}

// payoutsType names the family of an error. Only the first is on the page.
func payoutsType(status int) string {
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// payoutsCodes names the code of a status; no page gives those below 429.
func payoutsCodes(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusTooManyRequests:
		return "rate_limited"
	case http.StatusBadGateway:
		return "provider_error"
	case http.StatusServiceUnavailable:
		return "no_provider_available"
	}
	return "error"
}

func (p *payouts) begin(w *write, at time.Time) (answer, bool) {
	if w.key == "" {
		w.record = &record{taken: at} // accepted, and not told apart from others
		return answer{}, false
	}
	mark := fingerprint(w.method, w.path, string(w.body))
	known := p.keys.get(w.account, w.key, at)
	if known == nil {
		w.record = p.keys.take(w.account, w.key, mark, at)
		return answer{}, false
	}
	return p.repeat(w, known, mark, at)
}

// repeat answers a key that was used before. The key of a request that failed is
// free for the same body; another one is refused, since the page wants a new key
// whenever the body changes.
func (p *payouts) repeat(w *write, known *record, mark string, at time.Time) (answer, bool) {
	switch {
	case known.mark != mark:
		return p.conflict("idempotency_key_reused", "the key was used with another request"), true
	case known.phase == done:
		return known.answer, true
	case known.phase != failed && !reached(known.due, at):
		return p.conflict("idempotency_request_in_flight", "the original request is still running"), true
	}
	known.phase, known.due = running, time.Time{}
	w.record = known
	return answer{}, false
}

func (p *payouts) conflict(code, message string) answer {
	return p.problem(problem{status: http.StatusConflict, code: code, message: message})
}

func (p *payouts) finish(w *write, o outcome, at time.Time) answer {
	if o.kind == denied {
		return p.refuse(w, o.denial)
	}
	if missing := p.check(w); len(missing) > 0 {
		return p.refuse(w, problem{
			status: http.StatusBadRequest, code: "validation_error",
			message: strings.Join(missing, ", ") + ": must be a string",
		})
	}
	if p.quotes[p.quote(w)] {
		return p.refuse(w, problem{
			status: http.StatusConflict, code: "quote_already_consumed", message: "the quote was used before",
		})
	}
	switch o.kind {
	case unsettled, doomed:
		return p.settleLater(w, o, at)
	case rejected:
		return p.pay(w, payoutFailed, at)
	case unknown:
		return p.pay(w, payoutUnknown, at)
	case interrupted:
		a := p.pay(w, payoutProcessing, at)
		w.record.phase, w.record.due = running, at.Add(payoutsClaim)
		return a
	default:
		return p.pay(w, payoutProcessing, at)
	}
}

func (p *payouts) quote(w *write) scope { return scope{w.account, w.members.text("quoteId")} }

// check returns the members that are missing or not strings.
func (p *payouts) check(w *write) []string {
	var missing []string
	for _, name := range []string{"quoteId", "method", "beneficiaryId"} {
		if w.members.text(name) == "" {
			missing = append(missing, name)
		}
	}
	return missing
}

// refuse answers an error, after which the key is free for the same request.
func (p *payouts) refuse(w *write, what problem) answer {
	w.record.phase = failed
	return p.problem(what)
}

func (p *payouts) settleLater(w *write, o outcome, at time.Time) answer {
	w.record.phase = pending
	status := payoutProcessing
	if o.kind == doomed {
		status = payoutFailed
	}
	p.server.schedule(at.Add(o.after), func(at time.Time) answer { return p.pay(w, status, at) })
	return p.conflict("idempotency_request_in_flight", "the request is still running")
}

type payout struct {
	ID            string `json:"id"`
	Status        string `json:"status"`
	QuoteID       string `json:"quoteId"`
	Method        string `json:"method"`
	BeneficiaryID string `json:"beneficiaryId"`
}

// pay uses the quote up, whatever becomes of the payout.
func (p *payouts) pay(w *write, status string, at time.Time) answer {
	id := p.server.ids.next("po")
	p.quotes[p.quote(w)] = true
	if status != payoutFailed {
		p.server.enter(Entry{
			Provider: Payouts, Account: w.account, Operation: OpPayout, Key: w.key,
			ID: id, Status: status, At: at,
		})
	}
	w.record.phase = done
	w.record.answer = jsonAnswer(http.StatusOK, payout{
		ID: id, Status: status, QuoteID: w.members.text("quoteId"),
		Method: w.members.text("method"), BeneficiaryID: w.members.text("beneficiaryId"),
	})
	return w.record.answer
}

// hold takes the key of a request that will be cut.
func (p *payouts) hold(w *write, at time.Time) {
	if _, answered := p.begin(w, at); answered {
		w.record = nil // the key is another request's
	}
}

// cut lets the key go, after a while.
func (p *payouts) cut(w *write, at time.Time) {
	if w.record != nil {
		w.record.phase, w.record.due = running, at.Add(payoutsClaim)
	}
}
