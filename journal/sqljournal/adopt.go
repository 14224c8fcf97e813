package sqljournal

import (
	"context"
	"time"
)

const (
	// adoptGroup is how many records one transaction looks through.
	adoptGroup = 10_000
	// settleTime is how long the watermark stays behind new records, some of which may not be committed yet.
	settleTime = 2 * time.Minute
)

// adopt finds the records that were being sent for the first time when their process died, so that passes see them, and returns
// the last record there is. It looks through the records since the watermark, and moves that on: over records that
// have come to rest, or are seen by passes from now on.
func (j *Journal) adopt(ctx context.Context) (last int64, err error) {
	run := j.pool()
	if err := run.row(ctx, maxSequence).Scan(&last); err != nil {
		return 0, failed("begin a pass", err)
	}
	a := &adoption{}
	if err := run.row(ctx, watermark).Scan(&a.after); err != nil {
		return 0, failed("begin a pass", err)
	}
	for ; a.after < last; a.after = a.upTo {
		a.upTo = min(a.after+adoptGroup, last)
		if err := j.do(ctx, "look for what a dead process left", a); err != nil {
			return 0, err
		}
		a.isStuck = a.isStuck || a.rest < a.upTo
	}
	return last, nil
}

// adoption looks through the records after one and up to another.
type adoption struct {
	after, upTo int64
	// rest is up to where all are at rest; once that is not to the end, the watermark stays.
	rest    int64
	isStuck bool
}

func (a *adoption) quick(context.Context, runner) (bool, error) { return false, nil }

func (a *adoption) full(ctx context.Context, run runner) error {
	if _, err := run.exec(ctx, adoptDead, a.after, a.upTo); err != nil {
		return err
	}
	if a.isStuck {
		return nil
	}
	var first int64
	if err := run.row(ctx, firstUnsettled, a.after, a.upTo, settleTime.Microseconds()).Scan(&first); err != nil {
		return err
	}
	a.rest = a.upTo
	if first > 0 {
		a.rest = first - 1
	}
	_, err := run.exec(ctx, moveWatermark, a.rest, a.rest)
	return err
}
