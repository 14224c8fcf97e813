package sqljournal

import (
	"context"
	"database/sql"
	"errors"

	"github.com/unavez/unavez"
)

// Enqueue records the intent in the caller's transaction, so that a sale and the intent to stamp it commit together or not at
// all. It sends nothing; [Journal.Drain] does. Make the intent with [unavez.Client.Prepare]. The transaction must be on the
// journal's database, and on PostgreSQL READ COMMITTED, the default, so that it sees what others have committed.
//
// It may be called again with the same intent: what is recorded under the key with the same bytes stays as it is, except that a
// request which may be sent again, after a refusal for instance, is put back in line. Other bytes under the key are an
// [*unavez.Error] that matches [unavez.ErrKeyReused], unless the record ended with [unavez.NextFixSameKey]; the same record
// unresolved at another provider is one with [unavez.ReasonOtherProvider]. After an error the transaction has no intent;
// roll it back or go on without.
func (j *Journal) Enqueue(ctx context.Context, tx *sql.Tx, intent unavez.Intent) error {
	if err := checkIntent(&intent); err != nil {
		return err
	}
	run := texts{on: tx, text: j.text}
	for slot, look := 0, 0; look < maxLooks; look++ {
		inserted, err := j.insertQueued(ctx, run, &intent, slot)
		if inserted || err != nil {
			return failed("enqueue", err)
		}
		found, err := j.find(ctx, run, &intent)
		if err != nil {
			return failed("enqueue", err)
		}
		if found != nil {
			return j.enqueueAgain(ctx, run, found, &intent)
		}
		isElsewhere, err := j.isElsewhere(ctx, run, &intent)
		if err != nil {
			return failed("enqueue", err)
		}
		if isElsewhere {
			return elsewhere(&intent)
		}
		if slot, err = j.slot(ctx, run, &intent); err != nil {
			return failed("enqueue", err)
		}
	}
	return failed("enqueue", errChanging)
}

func (j *Journal) enqueueAgain(ctx context.Context, run runner, found *row, intent *unavez.Intent) error {
	admission, err := j.admission(ctx, run, found, intent)
	if err != nil {
		return failed("enqueue", err)
	}
	switch {
	case admission == unavez.AdmitElsewhere:
		return elsewhere(intent)
	case admission == unavez.AdmitSend && found.KeepsFirstSent(intent):
		// It stays what it is, so that the provider's window stays in force, and is taken up by the next pass.
		_, err := run.exec(ctx, recall, found.seq)
		return failed("enqueue", err)
	case admission == unavez.AdmitSend && found.State != unavez.StateQueued:
		return failed("enqueue", j.replace(ctx, run, requeue, found, intent, unavez.StateQueued))
	case found.Fingerprint != intent.Fingerprint:
		return reused(found, intent)
	}
	return nil
}

func checkIntent(intent *unavez.Intent) error {
	switch {
	case intent.Provider == "" || intent.Key == "" || len(intent.Body) == 0 || intent.Reconciling:
		return errors.New("sqljournal: enqueue: the intent is not one of Client.Prepare")
	case intent.Fingerprint != unavez.Fingerprint(intent.Operation, intent.Method, intent.Path, intent.Body):
		return errors.New("sqljournal: enqueue: the bytes of the intent are not those that were prepared")
	}
	return nil
}

func elsewhere(intent *unavez.Intent) *unavez.Error {
	return &unavez.Error{
		Op: string(intent.Operation), Provider: intent.Provider, Key: intent.Key,
		Disposition: unavez.NeedsManualReview, Reason: unavez.ReasonOtherProvider, Effect: unavez.Unknown, Next: unavez.NextReview,
	}
}

func reused(found *row, intent *unavez.Intent) *unavez.Error {
	e := &unavez.Error{
		Op: string(intent.Operation), Provider: intent.Provider, Key: intent.Key,
		Disposition: unavez.Refused, Effect: unavez.NotSent, Next: unavez.NextReconcile, Err: unavez.ErrKeyReused,
	}
	if !found.Resolved() {
		e.Disposition, e.Reason, e.Effect = unavez.NeedsManualReview, unavez.ReasonKeyReused, unavez.Unknown
	}
	return e
}
