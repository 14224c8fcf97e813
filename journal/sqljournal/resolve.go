package sqljournal

import (
	"context"
	"database/sql"
	"errors"

	"github.com/unavez/unavez"
)

// Load implements [unavez.Journal].
func (j *Journal) Load(ctx context.Context, id unavez.RecordID) (unavez.Record, error) {
	run := j.pool()
	found, err := j.box.scanRow(run.row(ctx, loadRecord, id.Provider, id.Account, id.Key))
	if errors.Is(err, sql.ErrNoRows) {
		return unavez.Record{}, unavez.ErrNoRecord
	}
	if err != nil {
		return unavez.Record{}, failed("load", err)
	}
	if err := found.loadHistory(ctx, run); err != nil {
		return unavez.Record{}, failed("load the history", err)
	}
	return found.Record, nil
}

// Resolve implements [unavez.Journal]. Who decided and why is kept in the table unavez_history.
func (j *Journal) Resolve(ctx context.Context, id unavez.RecordID, resolution unavez.Resolution) error {
	return j.do(ctx, "resolve", &resolve{j, id, resolution})
}

type resolve struct {
	j          *Journal
	id         unavez.RecordID
	resolution unavez.Resolution
}

func (r *resolve) quick(context.Context, runner) (bool, error) { return false, nil }

func (r *resolve) full(ctx context.Context, run runner) error {
	found, err := r.j.findID(ctx, run, r.id)
	switch {
	case err != nil:
		return err
	case found == nil:
		return refusal{unavez.ErrNoRecord}
	case found.State != unavez.StateReview || found.HeldFor > 0:
		return refusal{unavez.ErrNotInReview}
	}
	result, err := r.resolution.Apply(found.Result)
	if err != nil {
		return refusal{err}
	}
	by, why := storable(r.resolution.By), storable(r.resolution.Why)
	if _, err := run.exec(ctx, insertHistory, string(result.State), by, why, found.seq); err != nil {
		return err
	}
	_, err = run.exec(ctx, settleReview, append(r.j.resultArguments(r.id, &result), found.seq)...)
	return err
}
