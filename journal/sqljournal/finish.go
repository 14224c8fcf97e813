package sqljournal

import (
	"context"
	"time"

	"github.com/unavez/unavez"
)

// Extend implements [unavez.Journal].
func (j *Journal) Extend(ctx context.Context, claim unavez.Claim, writes int, lease time.Duration) error {
	return j.do(ctx, "extend", &extend{j, claim, writes, lease})
}

type extend struct {
	j      *Journal
	claim  unavez.Claim
	writes int
	lease  time.Duration
}

func (e *extend) quick(ctx context.Context, run runner) (bool, error) {
	n, err := run.exec(ctx, extendClaim, e.writes, e.lease.Microseconds(), e.claim.Provider, e.claim.Account, e.claim.Key, e.claim.Owner)
	return n == 1, err
}

// full only says why quick found nothing.
func (e *extend) full(ctx context.Context, run runner) error {
	found, err := e.j.findID(ctx, run, e.claim.RecordID)
	switch {
	case err != nil:
		return err
	case found == nil:
		return refusal{unavez.ErrNoRecord}
	}
	return refusal{unavez.ErrClaimLost}
}

// Finish implements [unavez.Journal]. A document that comes after the claim was lost is recorded all the same, ends the claim
// of the other owner and is noted in the history; if there is a document already, the first one stays.
func (j *Journal) Finish(ctx context.Context, claim unavez.Claim, result unavez.Result) error {
	return j.do(ctx, "finish", &finish{j, claim, result})
}

type finish struct {
	j      *Journal
	claim  unavez.Claim
	result unavez.Result
}

func (f *finish) quick(ctx context.Context, run runner) (bool, error) {
	args := append(f.j.resultArguments(f.claim.RecordID, &f.result), f.claim.Provider, f.claim.Account, f.claim.Key, f.claim.Owner)
	n, err := run.exec(ctx, finishClaim, args...)
	return n == 1, err
}

func (f *finish) full(ctx context.Context, run runner) error {
	found, err := f.j.findID(ctx, run, f.claim.RecordID)
	switch {
	case err != nil:
		return err
	case found == nil:
		return refusal{unavez.ErrNoRecord}
	case f.result.State != unavez.StateDone, f.claim.Fingerprint != found.Fingerprint:
		return refusal{unavez.ErrClaimLost}
	case found.State == unavez.StateDone:
		return nil
	}
	if _, err := run.exec(ctx, insertHistory, string(unavez.StateDone), "", "", found.seq); err != nil {
		return err
	}
	_, err = run.exec(ctx, finishLate, append(f.j.resultArguments(f.claim.RecordID, &f.result), found.seq)...)
	return err
}

// resultArguments are the arguments of setResult. What was never sent has no first sending; what is resolved has an end.
func (j *Journal) resultArguments(id unavez.RecordID, r *unavez.Result) []any {
	document, sealed := j.box.seal(id, purposeDocument, r.Document)
	keepFirstSent, isFinished, replayed, waiting := 1, 0, 0, 0
	if r.Effect == unavez.NotSent {
		keepFirstSent = 0
	}
	if r.State == unavez.StateDone || r.State == unavez.StateRefused {
		isFinished = 1
	}
	if r.State == unavez.StateOpen || r.State == unavez.StateQueued {
		waiting = 1
	}
	if r.Replayed {
		replayed = 1
	}
	return append(make([]any, 0, 19),
		string(r.State), waiting, r.Writes, string(r.Effect), string(r.Disposition), string(r.Reason), string(r.Next), r.HTTPStatus,
		storable(r.Code), storable(r.RequestID), document, sealed, replayed, keepFirstSent, isFinished)
}
