package sandbox

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"
)

// An Entry is one thing that cannot be undone: a stamp, a payment registered
// without stamping it, a cancellation or a payout.
type Entry struct {
	Provider  Provider
	Account   string // Facty: the organisation; elsewhere a digest of the API key
	Operation Operation
	Key       string // the idempotency key, or "" if the client sent none
	ID        string // the provider's id of the document or the payout
	UUID      string // the fiscal UUID, "" where nothing was stamped
	Status    string // "stamped", "registered", "cancelled", or the payout's word
	At        time.Time
}

// Ledger returns a copy of every effect so far, in the order in which they
// happened. Answers that were lost on the way back are in it, for the effect
// happened; refused and failed writes are not. A payout with status "unknown" is
// in it, since the money may have moved.
func (s *Server) Ledger() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	return append([]Entry(nil), s.ledger...)
}

// Effects returns how many effects the ledger holds under an idempotency key, at
// all providers together. More than 1 is what must never happen. Clients of
// several providers that derive the same keys need a Server each to be told apart.
func (s *Server) Effects(key string) int {
	return s.count(func(e Entry) bool { return e.Key == key })
}

// Stamps returns how many fiscal UUIDs were issued, at all providers together.
func (s *Server) Stamps() int {
	return s.count(func(e Entry) bool { return e.Status == statusStamped })
}

func (s *Server) count(match func(Entry) bool) int {
	n := 0
	for _, e := range s.Ledger() {
		if match(e) {
			n++
		}
	}
	return n
}

// enter adds an effect to the ledger. Needs the mutex.
func (s *Server) enter(e Entry) { s.ledger = append(s.ledger, e) }

// ids makes identifiers. They look arbitrary and come from counters, so that a
// run can be repeated.
type ids struct {
	uuids, requests int
	named           map[string]int
}

// next returns the next id with a prefix: inv_1, inv_2, ...
func (i *ids) next(prefix string) string {
	if i.named == nil {
		i.named = map[string]int{}
	}
	i.named[prefix]++
	return fmt.Sprintf("%s_%d", prefix, i.named[prefix])
}

// uuid returns a fiscal UUID, upper case as the SAT writes them.
func (i *ids) uuid() string {
	i.uuids++
	sum := counted("uuid", i.uuids)
	sum[6] = sum[6]&0x0f | 0x40
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%X-%X-%X-%X-%X", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// request returns the id of a request, for error envelopes.
func (i *ids) request() string {
	i.requests++
	sum := counted("request", i.requests)
	return fmt.Sprintf("req_%x", sum[:12])
}

func counted(kind string, n int) [sha256.Size]byte {
	return sha256.Sum256([]byte(kind + strconv.Itoa(n)))
}
