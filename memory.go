package unavez

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"
)

// DefaultMemoryRecords is how many records the default journal of a client keeps.
const DefaultMemoryRecords = 10_000

// MemoryJournal is a [Journal] in this process's memory. It is bounded: beyond its limit the record that was resolved longest
// ago, or that was never sent, is forgotten; any other unresolved record never is, so a journal full of those answers [ErrJournalFull]. The bodies of
// resolved operations are dropped at once and only their fingerprint is kept. Nothing survives the process.
type MemoryJournal struct {
	limit int

	mu             sync.Mutex
	records        map[RecordID]*memoryRecord
	oldest, newest *memoryRecord // what may be forgotten, in the order of its end
	byName         map[sharedIdentity]int
}

// sharedIdentity counts the unresolved records of one caller's record over all providers.
type sharedIdentity struct {
	environment Environment
	identity    string
}

// memoryRecord is a [Record] without what Begin fills in.
type memoryRecord struct {
	RecordID
	Environment  Environment
	Identity     string
	Operation    OperationName
	Method, Path string
	Body         []byte
	Proof        Proof
	Fingerprint  [sha256.Size]byte
	State        State
	FirstSent    time.Time
	Writes       int
	Result       Result
	History      []HistoryEntry

	owner      string
	leaseUntil time.Time
	isCounted  bool // in byName
	isLinked   bool // in the order of forgetting
	older      *memoryRecord
	newer      *memoryRecord
}

// NewMemoryJournal returns an empty journal that keeps at most limit records; a limit below 1 means [DefaultMemoryRecords].
// Several clients of one process may share it.
func NewMemoryJournal(limit int) *MemoryJournal {
	if limit < 1 {
		limit = DefaultMemoryRecords
	}
	return &MemoryJournal{limit: limit, records: make(map[RecordID]*memoryRecord), byName: make(map[sharedIdentity]int)}
}

// Begin implements [Journal].
func (j *MemoryJournal) Begin(ctx context.Context, intent Intent) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	record, found := j.records[intent.RecordID]
	if !found {
		return j.beginNew(&intent, now)
	}
	before := record.snapshot(now)
	before.Admission = Admit(&before, &intent)
	if before.Admission == AdmitSend && j.isUnresolvedElsewhere(record, &intent) {
		before.Admission = AdmitElsewhere
	}
	if before.Admission.Claims() {
		j.claim(record, &intent, &before, now)
		before.Claim = Claim{RecordID: intent.RecordID, Owner: intent.Owner, Fingerprint: record.Fingerprint}
	}
	return before, nil
}

func (j *MemoryJournal) beginNew(intent *Intent, now time.Time) (Record, error) {
	if intent.Reconciling {
		return Record{Admission: AdmitNothing}, nil
	}
	if j.byName[sharedIdentity{intent.Environment, intent.Identity}] > 0 && j.isUnresolvedElsewhere(nil, intent) {
		return Record{Admission: AdmitElsewhere}, nil
	}
	if len(j.records) >= j.limit && !j.forgetOldest() {
		return Record{}, ErrJournalFull
	}
	record := &memoryRecord{
		RecordID: intent.RecordID, Environment: intent.Environment, Identity: intent.Identity, State: StateQueued,
	}
	j.records[intent.RecordID] = record
	record.isCounted = true
	j.byName[record.shared()]++
	before := Record{RecordID: intent.RecordID, State: StateQueued, Admission: AdmitSend}
	j.claim(record, intent, &before, now)
	before.Claim = Claim{RecordID: intent.RecordID, Owner: intent.Owner, Fingerprint: record.Fingerprint}
	return before, nil
}

// claim opens the record for the intent's owner.
func (j *MemoryJournal) claim(record *memoryRecord, intent *Intent, before *Record, now time.Time) {
	if record.isLinked {
		j.unlink(record)
		if !record.isCounted {
			record.isCounted = true
			j.byName[record.shared()]++
		}
	}
	record.owner, record.leaseUntil = intent.Owner, now.Add(intent.Lease)
	if intent.Reconciling {
		return
	}
	record.State = StateOpen
	if before.Admission == AdmitResume {
		return
	}
	if record.Fingerprint != intent.Fingerprint && record.Writes > 0 {
		record.note(now, "", "")
	}
	record.Operation, record.Method, record.Path = intent.Operation, intent.Method, intent.Path
	record.Body, record.Proof, record.Fingerprint = intent.Body, intent.Proof, intent.Fingerprint
	record.Result = Result{}
	if !before.KeepsFirstSent(intent) {
		record.FirstSent = now
	}
}

// Extend implements [Journal].
func (j *MemoryJournal) Extend(_ context.Context, claim Claim, writes int, lease time.Duration) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	record, err := j.claimed(claim)
	if err != nil {
		return err
	}
	record.Writes, record.leaseUntil = writes, time.Now().Add(lease)
	return nil
}

// Finish implements [Journal].
func (j *MemoryJournal) Finish(_ context.Context, claim Claim, result Result) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	record, err := j.claimed(claim)
	switch {
	case errors.Is(err, ErrClaimLost) && result.State == StateDone && claim.Fingerprint == record.Fingerprint:
		if record.State == StateDone {
			return nil
		}
	case err != nil:
		return err
	}
	record.owner, record.leaseUntil = "", time.Time{}
	j.settle(record, result)
	return nil
}

func (j *MemoryJournal) settle(record *memoryRecord, result Result) {
	result.Document = slices.Clone(result.Document) // the caller owns what it was given
	record.State, record.Result, record.Writes = result.State, result, result.Writes
	if result.Effect == NotSent {
		record.FirstSent = time.Time{}
	}
	isUnsent := record.State == StateOpen && result.Effect == NotSent
	if !isResolved(record.State) && !isUnsent {
		return
	}
	record.Body = nil
	if !isUnsent {
		j.forgetName(record)
	}
	if !record.isLinked {
		j.link(record)
	}
}

// Load implements [Journal].
func (j *MemoryJournal) Load(ctx context.Context, id RecordID) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	record, found := j.records[id]
	if !found {
		return Record{}, ErrNoRecord
	}
	snapshot := record.snapshot(time.Now())
	snapshot.Body, snapshot.Result.Document = slices.Clone(snapshot.Body), slices.Clone(snapshot.Result.Document)
	return snapshot, nil
}

// Resolve implements [Journal].
func (j *MemoryJournal) Resolve(ctx context.Context, id RecordID, resolution Resolution) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	record, found := j.records[id]
	switch {
	case !found:
		return ErrNoRecord
	case record.State != StateReview || record.leaseUntil.After(time.Now()):
		return ErrNotInReview
	}
	result, err := resolution.Apply(record.Result)
	if err != nil {
		return err
	}
	j.settle(record, result)
	record.note(time.Now(), resolution.By, resolution.Why)
	return nil
}

func (j *MemoryJournal) claimed(claim Claim) (*memoryRecord, error) {
	record, found := j.records[claim.RecordID]
	if !found {
		return nil, ErrNoRecord
	}
	if record.owner != claim.Owner {
		return record, ErrClaimLost
	}
	return record, nil
}

func (j *MemoryJournal) forgetOldest() bool {
	record := j.oldest
	if record == nil {
		return false
	}
	j.unlink(record)
	j.forgetName(record)
	delete(j.records, record.RecordID)
	return true
}

func (j *MemoryJournal) link(record *memoryRecord) {
	record.isLinked, record.older = true, j.newest
	if j.newest == nil {
		j.oldest = record
	} else {
		j.newest.newer = record
	}
	j.newest = record
}

func (j *MemoryJournal) unlink(record *memoryRecord) {
	if record.older == nil {
		j.oldest = record.newer
	} else {
		record.older.newer = record.newer
	}
	if record.newer == nil {
		j.newest = record.older
	} else {
		record.newer.older = record.older
	}
	record.isLinked, record.older, record.newer = false, nil, nil
}

func (j *MemoryJournal) forgetName(record *memoryRecord) {
	if !record.isCounted {
		return
	}
	record.isCounted = false
	name := record.shared()
	j.byName[name]--
	if j.byName[name] <= 0 {
		delete(j.byName, name)
	}
}

// isUnresolvedElsewhere scans only when some record of that name is unresolved, which outside of an accident is only our own.
func (j *MemoryJournal) isUnresolvedElsewhere(own *memoryRecord, intent *Intent) bool {
	count := j.byName[sharedIdentity{intent.Environment, intent.Identity}]
	if own != nil && own.isCounted {
		count--
	}
	if count <= 0 || intent.Identity == "" {
		return false
	}
	for id, record := range j.records {
		if id.Provider != intent.Provider && record.Environment == intent.Environment &&
			record.Identity == intent.Identity && !isResolved(record.State) {
			return true
		}
	}
	return false
}

func (r *memoryRecord) shared() sharedIdentity { return sharedIdentity{r.Environment, r.Identity} }

func (r *memoryRecord) note(now time.Time, by, why string) {
	r.History = append(r.History, HistoryEntry{At: now, State: r.State, Fingerprint: r.Fingerprint, By: by, Why: why})
}

func (r *memoryRecord) snapshot(now time.Time) Record {
	record := Record{
		RecordID: r.RecordID, Environment: r.Environment, Identity: r.Identity, Operation: r.Operation, Method: r.Method, Path: r.Path,
		Body: r.Body, Proof: r.Proof, Fingerprint: r.Fingerprint, State: r.State, FirstSent: r.FirstSent, Writes: r.Writes, Result: r.Result,
	}
	if !record.FirstSent.IsZero() {
		record.Age = now.Sub(record.FirstSent)
	}
	if r.owner != "" && r.leaseUntil.After(now) {
		record.HeldFor = r.leaseUntil.Sub(now)
	}
	record.History = append([]HistoryEntry(nil), r.History...)
	return record
}
