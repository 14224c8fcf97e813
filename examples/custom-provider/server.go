package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// server is the imaginary API. It answers as its page says, and can lose an answer or be busy.
type server struct {
	mu     sync.Mutex
	issued map[string]document // by key
	lose   int                 // so many answers are lost after the invoice is issued
	busy   int                 // so many requests find the first one in progress
	writes int
}

type document struct {
	body   string
	answer map[string]string
}

func newServer() *server { return &server{issued: make(map[string]document)} }

// misbehave makes the next requests go wrong.
func (s *server) misbehave(lose, busy int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose, s.busy = lose, busy
}

func (s *server) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("requests: %d, invoices: %d", s.writes, len(s.issued))
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/invoices", s.create)
	mux.HandleFunc("GET /v1/keys/{key}", s.show)
	return mux
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	known, isKnown := s.issued[key]
	switch {
	case key == "":
		problem(w, http.StatusBadRequest, "https://timbra.example/problems/idempotency-key-missing")
	case s.busy > 0:
		s.busy--
		w.Header().Set("Retry-After", "1")
		problem(w, http.StatusConflict, problemInProgress)
	case isKnown && known.body != string(body):
		problem(w, http.StatusUnprocessableEntity, problemReused)
	case isKnown:
		respond(w, http.StatusCreated, known.answer)
	case !hasLines(body):
		problem(w, http.StatusUnprocessableEntity, problemInvalid)
	default:
		s.issue(w, key, string(body))
	}
}

func (s *server) issue(w http.ResponseWriter, key, body string) {
	number := len(s.issued) + 1
	answer := map[string]string{
		"id": fmt.Sprint("tim_", number), "uuid": fmt.Sprintf("00000000-0000-4000-8000-%012d", number), "status": "issued", "key": key,
	}
	s.issued[key] = document{body: body, answer: answer}
	if s.lose > 0 {
		s.lose--
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
		return
	}
	respond(w, http.StatusCreated, answer)
}

func (s *server) show(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, isKnown := s.issued[r.PathValue("key")]
	if !isKnown {
		problem(w, http.StatusNotFound, "about:blank")
		return
	}
	respond(w, http.StatusOK, known.answer)
}

func hasLines(body []byte) bool {
	var invoice invoiceBody
	return json.Unmarshal(body, &invoice) == nil && len(invoice.Lines) > 0
}

func problem(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", "application/problem+json")
	respond(w, status, map[string]string{"type": kind, "title": http.StatusText(status)})
}

func respond(w http.ResponseWriter, status int, members map[string]string) {
	data, err := json.Marshal(members)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
