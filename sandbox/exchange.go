package sandbox

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"time"
)

// An exchange is one request on its way to an answer.
type exchange struct {
	server  *Server
	dialect dialect
	w       http.ResponseWriter
	r       *http.Request
	write   *write // nil for a lookup
}

// serveWrites returns the handler of one kind of write.
func (s *Server) serveWrites(d dialect, op Operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{server: s, dialect: d, w: w, r: r}
		if s.refused(d.key(r, nil)) {
			closing(x, answer{})
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			// Too long, or broken off: then there is nobody to read this.
			x.problem(problem{status: http.StatusRequestEntityTooLarge}).send(w)
			return
		}
		x.write = newWrite(d, op, r, body)
		x.serve(s.fault(x.write.key))
	}
}

func newWrite(d dialect, op Operation, r *http.Request, body []byte) *write {
	members, valid := parseObject(body)
	return &write{
		op:      op,
		account: accountOf(d, r),
		key:     d.key(r, members),
		path:    wirePath(r),
		target:  r.PathValue("id"),
		method:  r.Method,
		body:    body,
		members: members,
		valid:   valid,
		header:  r.Header,
	}
}

// accountOf returns the scope of a request's keys: the organisation of the path,
// or else the holder of the API key. The key itself stays out of the ledger.
func accountOf(d dialect, r *http.Request) string {
	if org := r.PathValue("org"); org != "" {
		return org
	}
	sum := sha256.Sum256([]byte(d.credential(r)))
	return fmt.Sprintf("acct_%x", sum[:6])
}

func (s *Server) refused(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scripts.refusal(key)
}

func (s *Server) fault(key string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scripts.write(key)
}

// serve carries a write through its fault.
func (x *exchange) serve(f Fault) {
	if f.refuse {
		closing(x, answer{})
		return
	}
	if f.before {
		x.deliverUnseen(f)
		return
	}
	a, ok := x.unauthorized()
	if !ok {
		a, ok = x.perform(f)
	}
	if !ok {
		hanging(x, answer{}) // nobody waits any more: only the server could
		return
	}
	x.deliver(f, a)
}

// deliverUnseen delivers what takes the place of the provider.
func (x *exchange) deliverUnseen(f Fault) {
	h, holds := x.dialect.(holder)
	if holds && f.cuts {
		x.locked(func(at time.Time) { h.hold(x.write, at) })
		defer x.locked(func(at time.Time) { h.cut(x.write, at) })
	}
	f.deliver(x, answer{})
}

func (x *exchange) locked(do func(at time.Time)) {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	do(x.server.settle())
}

func (x *exchange) deliver(f Fault, a answer) {
	if f.deliver == nil {
		a.send(x.w)
		return
	}
	f.deliver(x, a)
}

// unauthorized answers a request whose API key is missing, unknown or not
// allowed.
func (x *exchange) unauthorized() (answer, bool) {
	credential := x.dialect.credential(x.r)
	settings := x.server.settings
	switch {
	case settings.forbidden[credential]:
		return x.problem(problem{status: http.StatusForbidden, message: "the API key lacks the right"}), true
	case credential == "":
		return x.problem(problem{status: http.StatusUnauthorized, message: "no API key"}), true
	case settings.accepted != nil && !settings.accepted[credential]:
		return x.problem(problem{status: http.StatusUnauthorized, message: "unknown API key"}), true
	}
	return answer{}, false
}

func (x *exchange) problem(p problem) answer {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return x.dialect.problem(p)
}

// perform has the provider do its work. It reports false when the client or the
// server went away before there was an answer; the work goes on all the same.
func (x *exchange) perform(f Fault) (answer, bool) {
	s, d, w := x.server, x.dialect, x.write
	s.mu.Lock()
	at := s.settle()
	if f.delay == 0 {
		defer s.mu.Unlock()
		return execute(d, w, f.outcome, at), true
	}
	run := func(at time.Time) answer { return execute(d, w, f.outcome, at) }
	if !f.queued {
		if a, answered := d.begin(w, at); answered {
			s.mu.Unlock()
			return a, true
		}
		run = func(at time.Time) answer { return d.finish(w, f.outcome, at) }
	}
	j := s.schedule(at.Add(f.delay), run)
	s.mu.Unlock()
	return s.await(x.r.Context(), j)
}

// execute begins and finishes a write in one moment.
func execute(d dialect, w *write, o outcome, at time.Time) answer {
	a, answered := d.begin(w, at)
	switch {
	case !answered:
		return d.finish(w, o, at)
	case o.kind == denied:
		// An overloaded provider is so for keys it has seen as well.
		return d.problem(o.denial)
	}
	return a
}

// serveLookups returns the handler of one kind of lookup.
func (s *Server) serveLookups(d dialect, look finder) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{server: s, dialect: d, w: w, r: r}
		s.mu.Lock()
		f := s.scripts.lookup()
		s.mu.Unlock()
		if f.refuse {
			closing(x, answer{})
			return
		}
		if f.before {
			f.deliver(x, answer{})
			return
		}
		if f.delay > 0 && !s.sleepUntil(r.Context(), s.Now().Add(f.delay)) {
			hanging(x, answer{})
			return
		}
		x.deliver(f, x.look(f, look))
	}
}

func (x *exchange) look(f Fault, look finder) answer {
	if a, ok := x.unauthorized(); ok {
		return a
	}
	if f.outcome.kind == denied {
		return x.problem(f.outcome.denial)
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.settle()
	q := &query{
		account:    accountOf(x.dialect, x.r),
		target:     x.r.PathValue("id"),
		filter:     map[string]string{},
		everything: f.everything,
		asOf:       at.Add(-max(f.lag, s.settings.lag)),
	}
	for name, values := range x.r.URL.Query() {
		q.filter[name] = values[0]
	}
	q.forced = q.filter["force"] == "true"
	return look(q, at)
}
