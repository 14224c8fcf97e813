package sandbox

import (
	"encoding/json"
	"time"
)

// The words that Facty's page gives, and the ones that the ledger adds.
const (
	statusPending    = "pending"
	statusStamped    = "stamped"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
	statusRegistered = "registered"
)

// A document is an invoice or a complement as its provider keeps it.
type document struct {
	op      Operation
	id      string
	account string
	key     string
	uuid    string
	serie   string
	folio   json.RawMessage
	issuer  string
	kind    string // type of the document in the provider's words
	total   json.Number
	coin    string
	payment string // Facty: id of the payment that it is a complement of
	history []moment
}

// A moment is what became of a document, and when.
type moment struct {
	at     time.Time
	status string
}

// enter adds to the history of the document.
func (d *document) enter(status string, at time.Time) {
	d.history = append(d.history, moment{at: at, status: status})
}

// withdraw takes the last moment back, and reports whether any is left.
func (d *document) withdraw() bool {
	d.history = d.history[:len(d.history)-1]
	return len(d.history) > 0
}

// status returns the document's status as it was at a time, or "" if it was not
// there yet.
func (d *document) status(asOf time.Time) string {
	status := ""
	for _, m := range d.history {
		if m.at.After(asOf) {
			break
		}
		status = m.status
	}
	return status
}

// stamped returns when the document was stamped, seen from a time.
func (d *document) stamped(asOf time.Time) time.Time {
	var at time.Time
	for _, m := range d.history {
		if m.status == statusStamped && !m.at.After(asOf) {
			at = m.at
		}
	}
	return at
}

// find returns the first document that matches, or nil.
func find(docs []*document, match func(*document) bool) *document {
	for _, d := range docs {
		if match(d) {
			return d
		}
	}
	return nil
}
