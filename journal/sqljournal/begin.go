package sqljournal

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/unavez/unavez"
)

// maxLooks is how often an operation looks again when another process was faster.
const maxLooks = 3

// abandonTimeout bounds the attempt to give back a claim whose caller has gone.
const abandonTimeout = 2 * time.Second

// Begin implements [unavez.Journal]. If it returns an error, the intent may stand in the journal all the same (the connection broke
// after the commit): nothing may be sent, and the record is resumed once its lease has ended.
func (j *Journal) Begin(ctx context.Context, intent unavez.Intent) (unavez.Record, error) {
	b := &begin{j: j, intent: &intent}
	if err := j.do(ctx, "begin", b); err != nil {
		return unavez.Record{}, err
	}
	return b.record, nil
}

type begin struct {
	j      *Journal
	intent *unavez.Intent
	record unavez.Record
	// isUncertain says that the claim is to send what was sent before, so that FirstSent must outlive it.
	isUncertain bool
}

// quick is the usual case: the key is new.
func (b *begin) quick(ctx context.Context, run runner) (bool, error) {
	if b.intent.Reconciling {
		return false, nil
	}
	inserted, err := b.j.insertOpen(ctx, run, b.intent, 0)
	if inserted {
		b.fresh()
	}
	if isKeyTaken(err) {
		return false, nil
	}
	return inserted, err
}

func (b *begin) fresh() {
	b.record = unavez.Record{
		RecordID: b.intent.RecordID, State: unavez.StateQueued, Admission: unavez.AdmitSend,
		Claim: unavez.Claim{RecordID: b.intent.RecordID, Owner: b.intent.Owner, Fingerprint: b.intent.Fingerprint},
	}
}

// full looks before it claims. Where nothing is found and the insertion fails all the same, another process was faster.
func (b *begin) full(ctx context.Context, run runner) error {
	for range maxLooks {
		found, err := b.j.find(ctx, run, b.intent)
		switch {
		case err != nil:
			return err
		case found != nil:
			return b.admit(ctx, run, found)
		case b.intent.Reconciling:
			b.record = unavez.Record{Admission: unavez.AdmitNothing}
			return nil
		}
		isElsewhere, err := b.j.isElsewhere(ctx, run, b.intent)
		if err != nil {
			return err
		}
		if isElsewhere {
			b.record = unavez.Record{Admission: unavez.AdmitElsewhere}
			return nil
		}
		slot, err := b.j.slot(ctx, run, b.intent)
		if err != nil {
			return err
		}
		if inserted, err := b.j.insertOpen(ctx, run, b.intent, slot); inserted || err != nil {
			b.fresh()
			return err
		}
	}
	return errChanging
}

// admit asks the core, and claims the record if it says so.
func (b *begin) admit(ctx context.Context, run runner, found *row) error {
	if err := found.loadHistory(ctx, run); err != nil {
		return err
	}
	admission, err := b.j.admission(ctx, run, found, b.intent)
	if err != nil {
		return err
	}
	if admission.Claims() {
		if err := b.claim(ctx, run, found, admission); err != nil {
			return err
		}
		found.Claim = unavez.Claim{RecordID: b.intent.RecordID, Owner: b.intent.Owner, Fingerprint: b.intent.Fingerprint}
		if admission == unavez.AdmitResume {
			found.Claim.Fingerprint = found.Fingerprint
		}
	}
	found.Admission = admission
	b.record = found.Record
	return nil
}

func (b *begin) claim(ctx context.Context, run runner, found *row, admission unavez.Admission) error {
	intent, lease := b.intent, b.intent.Lease.Microseconds()
	var err error
	switch {
	case intent.Reconciling:
		_, err = run.exec(ctx, claimReconcile, intent.Owner, lease, found.seq)
	case admission == unavez.AdmitResume:
		_, err = run.exec(ctx, claimResume, intent.Owner, lease, found.seq)
	default:
		b.isUncertain = found.KeepsFirstSent(intent)
		err = b.j.replace(ctx, run, claimSend, found, intent, unavez.StateOpen, intent.Owner, lease)
	}
	return err
}

// replace puts the intent's request in the place of the recorded one. If other bytes were sent before, the history keeps them.
func (j *Journal) replace(
	ctx context.Context, run runner, s statement, found *row, intent *unavez.Intent, state unavez.State, first ...any,
) error {
	kept := 0
	if found.Fingerprint != intent.Fingerprint && found.Writes > 0 {
		if _, err := run.exec(ctx, insertHistory, string(state), "", "", found.seq); err != nil {
			return err
		}
		kept = 1
	}
	keepsFirstSent := 0
	isQueuedAgain := state == unavez.StateQueued && found.Fingerprint == intent.Fingerprint
	if isQueuedAgain || found.KeepsFirstSent(intent) { // a queued intent is not sent yet: whether its window goes on is asked then
		keepsFirstSent = 1
	}
	body, sealed := j.box.seal(intent.RecordID, purposeBody, intent.Body)
	args := slices.Concat(first, []any{
		string(intent.Operation), intent.Method, intent.Path, body, sealed, string(intent.Proof), intent.Fingerprint[:],
		keepsFirstSent, kept, found.seq,
	})
	_, err := run.exec(ctx, s, args...)
	return err
}

// admission is [unavez.Admit], and the guard against a second provider.
func (j *Journal) admission(ctx context.Context, run runner, found *row, intent *unavez.Intent) (unavez.Admission, error) {
	admission := unavez.Admit(&found.Record, intent)
	if admission != unavez.AdmitSend {
		return admission, nil
	}
	isElsewhere, err := j.isElsewhere(ctx, run, intent)
	if isElsewhere {
		admission = unavez.AdmitElsewhere
	}
	return admission, err
}

// isElsewhere reports whether the same record is unresolved at another provider.
func (j *Journal) isElsewhere(ctx context.Context, run runner, intent *unavez.Intent) (bool, error) {
	var count int
	err := run.row(ctx, selectElsewhere, identityOf(intent), string(intent.Environment), intent.Provider).Scan(&count)
	return count > 0, err
}

// slot is the next one of the intent's identity: 0 unless there is a record of it under another account, provider or key.
func (j *Journal) slot(ctx context.Context, run runner, intent *unavez.Intent) (slot int, err error) {
	err = run.row(ctx, nextSlot, identityOf(intent), string(intent.Environment)).Scan(&slot)
	return slot, err
}

// identityOf is the key where the intent has no other name.
func identityOf(intent *unavez.Intent) string {
	if intent.Identity == "" {
		return intent.Key
	}
	return intent.Identity
}

// insertOpen creates the record, claimed by the intent's owner. It reports false if the key or the slot is taken.
func (j *Journal) insertOpen(ctx context.Context, run runner, intent *unavez.Intent, slot int) (bool, error) {
	n, err := run.exec(ctx, insertOpen, append(j.recordArguments(intent, slot), intent.Owner, intent.Lease.Microseconds())...)
	return n == 1, err
}

func (j *Journal) insertQueued(ctx context.Context, run runner, intent *unavez.Intent, slot int) (bool, error) {
	n, err := run.exec(ctx, insertQueued, j.recordArguments(intent, slot)...)
	return n == 1, err
}

func (j *Journal) recordArguments(intent *unavez.Intent, slot int) []any {
	body, sealed := j.box.seal(intent.RecordID, purposeBody, intent.Body)
	return append(make([]any, 0, 15),
		intent.Provider, intent.Account, intent.Key, string(intent.Environment), identityOf(intent),
		string(intent.Operation), intent.Method, intent.Path, body, sealed, string(intent.Proof), intent.Fingerprint[:], slot)
}

// find locks and reads the record of the intent, nil if there is none. The lock on the identity puts transactions of several
// providers in line; it comes before the lock on the row, so that no two wait for each other.
func (j *Journal) find(ctx context.Context, run runner, intent *unavez.Intent) (*row, error) {
	if j.dialect == PostgreSQL && !intent.Reconciling {
		if _, err := run.exec(ctx, lockIdentity, string(intent.Environment), identityOf(intent)); err != nil {
			return nil, err
		}
	}
	return j.findID(ctx, run, intent.RecordID)
}

func (j *Journal) findID(ctx context.Context, run runner, id unavez.RecordID) (*row, error) {
	found, err := j.box.scanRow(run.row(ctx, selectRecord, id.Provider, id.Account, id.Key))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no record is no error here
	}
	return found, err
}

// abandon gives back a claim whose caller has gone before it heard of it: nothing was sent under it.
func (b *begin) abandon(ctx context.Context, run runner) error {
	s := abandonResume
	if b.record.Admission == unavez.AdmitSend && !b.isUncertain {
		s = abandonSend
	}
	_, err := run.exec(ctx, s, b.intent.Provider, b.intent.Account, b.intent.Key, b.intent.Owner)
	return err
}

// undo is abandon where the answer of the database was not waited for, so that it may have been a claim of either kind. A
// claim keeps its lease if this fails: then it is resumed later, which is slower and as safe.
func (b *begin) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	_ = b.abandon(ctx, b.j.pool())
}
