package campaign

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/internal/memnet"
	"github.com/unavez/unavez/sandbox"
)

// network is the sandbox behind a network in memory. It gives every request the fault of its operation, whatever key it has.
type network struct {
	run      *run
	sandbox  *sandbox.Server
	listener *memnet.Listener
	http     *http.Server
	served   chan error

	mu       sync.Mutex
	quiet    bool
	records  []*traffic
	byKey    map[string]int // the operation of a key
	requests int
}

// traffic is what arrived for one operation.
type traffic struct {
	writes, lookups []Fault // still to come
	arrivals        []arrival
	// seen is what the faults that were taken give a client reason to say.
	seen      map[evidence]bool
	conflicts int   // how many 409 the program got
	cleared   []int // how many writes had arrived when the program was told that nothing was done
	// openUntil is when the slowest work of the operation has surely ended.
	openUntil time.Time
}

// arrival is one write that reached the provider.
type arrival struct {
	at      time.Time
	journal *unavez.MemoryJournal
}

func newNetwork(r *run) *network {
	n := &network{run: r, sandbox: sandbox.New(), listener: memnet.Listen(), served: make(chan error, 1), byKey: make(map[string]int)}
	for i := range r.history.Operations {
		n.records = append(n.records, &traffic{
			writes: r.history.Writes[i], lookups: r.history.Lookups[i], seen: make(map[evidence]bool),
		})
	}
	n.http = &http.Server{Handler: n, ReadHeaderTimeout: time.Minute}
	go func() { n.served <- n.http.Serve(n.listener) }()
	return n
}

// close ends everything, and waits until net/http has let go of the connections that it had not read to the end.
func (n *network) close() {
	_ = n.sandbox.Close()
	_ = n.http.Close()
	if err := <-n.served; !errors.Is(err, http.ErrServerClosed) {
		n.run.failf("the network in memory ended with %v", err)
	}
	<-time.After(2 * time.Second)
}

func (n *network) isQuiet() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.quiet
}

// calm ends all faults.
func (n *network) calm() {
	n.listener.Refuse(0)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quiet = true
}

// ServeHTTP implements [http.Handler].
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(r.Header.Get(operationHeader))
	if err != nil || number >= len(n.records) {
		http.Error(w, "not a request of the campaign", http.StatusTeapot)
		return
	}
	life, err := strconv.Atoi(r.Header.Get(lifeHeader))
	if err != nil {
		http.Error(w, "not a request of the campaign", http.StatusTeapot)
		return
	}
	r.Header.Del(operationHeader)
	r.Header.Del(lifeHeader)
	if r.Method == http.MethodPost {
		n.write(r, number, life)
	} else {
		n.lookup(number)
	}
	n.sandbox.ServeHTTP(w, r)
}

func (n *network) write(r *http.Request, number, life int) {
	p := n.run.arrive(life)
	p.crashAt(CrashAfterSend)
	key := r.Header.Get("Idempotency-Key")
	if key == "" { // it is in the body, which has to be read to find the operation's fault
		body, err := io.ReadAll(r.Body)
		if err != nil {
			body = nil
		}
		object, _ := unavez.ParseObject(body)
		key = object.Text("idempotencyKey")
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	n.mu.Lock()
	fault := n.takeWrite(number)
	record := n.records[number]
	record.arrivals = append(record.arrivals, arrival{at: time.Now(), journal: p.journal})
	if key != "" {
		n.byKey[key] = number
	}
	n.mu.Unlock()
	n.run.logf("arrived: write of operation %d under %s: %s", number, key, fault.Fault)
	n.sandbox.ScriptKey(key, fault.Fault)
}

// takeWrite takes the fault of the next write. Needs the mutex.
func (n *network) takeWrite(number int) Fault {
	n.requests++
	record := n.records[number]
	if n.quiet || len(record.writes) == 0 {
		return plain(sandbox.Pass())
	}
	fault := record.writes[0]
	record.writes = record.writes[1:]
	if fault.IsVerdict && len(record.arrivals) > 0 {
		return plain(sandbox.Pass())
	}
	record.note(fault)
	return fault
}

func (n *network) lookup(number int) {
	n.mu.Lock()
	n.requests++
	record := n.records[number]
	fault := plain(sandbox.Pass())
	if !n.quiet && len(record.lookups) > 0 {
		fault = record.lookups[0]
		record.lookups = record.lookups[1:]
		record.note(fault)
	}
	n.mu.Unlock()
	n.run.logf("arrived: lookup of operation %d: %s", number, fault.Fault)
	n.sandbox.ScriptLookups(fault.Fault)
}

func (t *traffic) note(fault Fault) {
	t.seen[fault.Is] = true
	settles := min(fault.Settles, never)
	if end := time.Now().Add(settles); settles > 0 && end.After(t.openUntil) {
		t.openUntil = end
	}
}

// never is longer than any history.
const never = 10_000 * time.Hour

// effects returns what the ledger holds for an operation, under whatever keys.
func (n *network) effects(number int) []sandbox.Entry {
	ledger := n.sandbox.Ledger()
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []sandbox.Entry
	for _, entry := range ledger {
		if of, known := n.byKey[entry.Key]; known && of == number {
			found = append(found, entry)
		}
	}
	return found
}

// clear notes that the program was told for certain that nothing was done.
func (n *network) clear(number int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records[number].cleared = append(n.records[number].cleared, len(n.records[number].arrivals))
}

// conflict notes a 409 that reached the program.
func (n *network) conflict(number int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records[number].conflicts++
}

// firstOpen returns when the first write left, up to the arrival i, of which the program had not been told by then that it did nothing.
func (t *traffic) firstOpen(i int) time.Time {
	first := 0
	for _, before := range t.cleared {
		if before <= i {
			first = before
		}
	}
	return t.arrivals[first].at
}
