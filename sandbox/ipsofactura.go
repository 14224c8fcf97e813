package sandbox

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	// ipsofacturaLife is how long a key is remembered after its first use.
	ipsofacturaLife = 96 * time.Hour
	// ipsofacturaPatience is how long the PAC is asked again about an outcome.
	ipsofacturaPatience = 72 * time.Hour
	// ipsofacturaRecheck is the longest time between two such questions.
	ipsofacturaRecheck = time.Minute
)

// ipsofactura is Ipsofactura: an answer that depends on the request alone is
// replayed byte for byte, any other frees the key.
type ipsofactura struct {
	server *Server
	keys   *ring
	docs   []*document
}

func newIpsofactura(s *Server) *ipsofactura {
	return &ipsofactura{server: s, keys: newRing(ipsofacturaLife)}
}

func (i *ipsofactura) mount(mux *http.ServeMux) {
	mux.Handle("POST /cfdi/timbrar", i.server.serveWrites(i, OpInvoice))
	mux.Handle("POST /cfdi/timbrar-xml", i.server.serveWrites(i, OpXML))
	mux.Handle("POST /cfdi/timbrar-sellado", i.server.serveWrites(i, OpSealedXML))
	mux.Handle("POST /cfdi/complemento-pago", i.server.serveWrites(i, OpPayment))
	mux.Handle("POST /cfdi/cancelar", i.server.serveWrites(i, OpCancel))
	mux.Handle("GET /cfdi", i.server.serveLookups(i, i.list))
	mux.Handle("GET /cfdi/{id}", i.server.serveLookups(i, i.get))
}

func (i *ipsofactura) credential(r *http.Request) string { return r.Header.Get("x-api") }

func (i *ipsofactura) key(r *http.Request, members object) string {
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		return key
	}
	return members.text("idempotency_key")
}

type ipsofacturaProblem struct {
	Code           string `json:"code"`
	Message        string `json:"message"`
	RetryAfter     int    `json:"retry_after,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

func (i *ipsofactura) problem(p problem) answer {
	return jsonAnswer(p.status, ipsofacturaProblem{
		Code: codeOf(p, ipsofacturaCodes), Message: messageOf(p),
	}).withAll(p.header)
}

// ipsofacturaCodes names the code of a status. No page gives those for what is
// not VALIDATION_ERROR.
func ipsofacturaCodes(status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return "VALIDATION_ERROR"
	case http.StatusUnauthorized:
		return "UNAUTHORIZED"
	case http.StatusPaymentRequired:
		return "TRIAL_LIMIT_REACHED"
	case http.StatusForbidden:
		return "ACCOUNT_INACTIVE"
	case http.StatusTooManyRequests:
		return "RATE_LIMITED"
	}
	return ""
}

func (i *ipsofactura) invalid(message string) answer {
	return i.problem(problem{status: http.StatusBadRequest, message: message})
}

func (i *ipsofactura) begin(w *write, at time.Time) (answer, bool) {
	if message := i.badKey(w); message != "" {
		return i.invalid(message), true
	}
	slot := i.slot(w)
	if slot == "" {
		w.record = &record{taken: at} // nothing to tell a repetition by
		return answer{}, false
	}
	mark := fingerprint(w.path, string(w.body))
	known := i.keys.get(w.account, slot, at)
	if known == nil {
		w.record = i.keys.take(w.account, slot, mark, at)
		return answer{}, false
	}
	return i.repeat(known, mark, at), true
}

// badKey says what is wrong with the key, if anything.
func (i *ipsofactura) badKey(w *write) string {
	inHeader, inBody := w.header.Get("Idempotency-Key"), w.members.text("idempotency_key")
	switch {
	case inHeader != "" && w.members.has("idempotency_key") && inHeader != inBody:
		return "idempotency_key in the body differs from the header"
	case w.members.has("idempotency_key") && inBody == "":
		return "idempotency_key is not a string, or empty"
	case w.key != "" && !printable(w.key, 1, 100, false):
		return "idempotency_key must be 1 to 100 printable ASCII characters without space"
	}
	return ""
}

// slot returns what the key is kept under: the key itself, or one derived from
// issuer, type, series and folio if the request brings its own series and folio,
// or "".
func (i *ipsofactura) slot(w *write) string {
	if w.key != "" {
		return w.key
	}
	serie, folio := w.members.scalar("serie"), w.members.scalar("folio")
	if serie == "" || folio == "" {
		return ""
	}
	kind := i.kind(w)
	// A key that a client may send has no control character in it.
	return "derived\x00" + fingerprint(w.members.text("rfc_emisor"), kind, serie, folio)
}

// kind returns the type of a document; a complement is of type P by nature.
func (i *ipsofactura) kind(w *write) string {
	if w.op == OpPayment {
		return "P"
	}
	return orDefault(w.members.text("tipo_comprobante"), "I")
}

func (i *ipsofactura) repeat(known *record, mark string, at time.Time) answer {
	switch {
	case known.mark != mark:
		return i.problem(problem{
			status: http.StatusUnprocessableEntity, code: "IDEMPOTENCY_KEY_REUSED",
			message: "the idempotency key was used with another request",
		})
	case known.phase == done:
		return known.answer.with("Idempotency-Replayed", "true")
	}
	return i.problem(problem{
		status: http.StatusConflict, code: "DUPLICATE_IN_PROGRESS",
		message: "the first attempt is still being processed",
		header:  retryAfter(i.wait(known, at)),
	})
}

// wait returns in how many seconds it is worth asking again.
func (i *ipsofactura) wait(known *record, at time.Time) int {
	switch {
	case known.phase == running:
		return 2
	case known.due.IsZero():
		return seconds(ipsofacturaRecheck)
	}
	return seconds(min(known.due.Sub(at), ipsofacturaRecheck))
}

// seconds rounds a wait up, to at least one.
func seconds(d time.Duration) int {
	return int(max(1, (d+time.Second-1)/time.Second))
}

func retryAfter(seconds int) http.Header {
	return http.Header{"Retry-After": {strconv.Itoa(seconds)}}
}

// settled keeps the answer of a key if it depends on the request alone.
func (i *ipsofactura) settled(w *write, a answer) answer {
	if a.status/100 == 2 || replayable(a.status) {
		w.record.phase, w.record.answer = done, a
		return a
	}
	i.keys.free(w.account, i.slot(w), w.record)
	return a
}

func replayable(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// unsettled answers that the outcome is open, and sees to its settling.
func (i *ipsofactura) unsettled(w *write, o outcome, at time.Time) answer {
	w.record.phase = pending
	w.record.due = time.Time{}
	wait := seconds(ipsofacturaRecheck)
	if o.kind == unsettled && o.after <= ipsofacturaPatience {
		w.record.due = at.Add(o.after)
		wait = i.wait(w.record, at)
		i.server.schedule(w.record.due, func(at time.Time) answer { return i.settled(w, i.execute(w, at)) })
	}
	return jsonAnswer(http.StatusServiceUnavailable, ipsofacturaProblem{
		Code:    "STAMPING_OUTCOME_UNKNOWN",
		Message: fmt.Sprintf("the outcome could not be confirmed, it is checked again in %d s", wait),
		// The key is told if the client sent one.
		RetryAfter: wait, IdempotencyKey: w.key,
	}).withAll(retryAfter(wait))
}
