package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// phase is how far the work under a key has come.
type phase int

const (
	running phase = iota // nothing is decided
	pending              // nobody knows yet, the answer comes at record.due
	done                 // record.answer is what the key is answered
	failed               // it went wrong; the key remembers what it was used for
)

// A record is what a provider remembers of a key.
type record struct {
	mark   string // what the key was used for
	taken  time.Time
	phase  phase
	due    time.Time // running: claimable from then; pending: settled then; zero: never
	answer answer
	doc    *document
}

// reached reports whether a time is set and has come.
func reached(due, at time.Time) bool { return !due.IsZero() && !at.Before(due) }

type scope struct{ account, key string }

// A ring holds the records of one provider.
type ring struct {
	life    time.Duration // 0: for ever
	records map[scope]*record
}

func newRing(life time.Duration) *ring {
	return &ring{life: life, records: map[scope]*record{}}
}

// get returns the record of a write's key, or nil if there is none any more.
func (g *ring) get(account, key string, at time.Time) *record {
	r := g.records[scope{account, key}]
	if r == nil || (g.life > 0 && !at.Before(r.taken.Add(g.life))) {
		return nil
	}
	return r
}

// take makes a new record for a key.
func (g *ring) take(account, key, mark string, at time.Time) *record {
	r := &record{mark: mark, taken: at}
	g.records[scope{account, key}] = r
	return r
}

// free forgets a record, unless its key has been taken anew since.
func (g *ring) free(account, key string, r *record) {
	if g.records[scope{account, key}] == r {
		delete(g.records, scope{account, key})
	}
}

// fingerprint digests parts so that different parts never give the same digest.
func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return string(h.Sum(nil))
}

// printable reports whether a key has between least and most characters, all of
// them printable ASCII, with or without the space among them.
func printable(key string, least, most int, space bool) bool {
	if len(key) < least || len(key) > most {
		return false
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' || (key[i] == ' ' && !space) {
			return false
		}
	}
	return true
}
