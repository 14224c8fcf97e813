package sqljournal

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// pruneGroup is how many bodies one transaction drops.
const pruneGroup = 500

// PruneBodies drops the bodies of operations that ended longer ago than olderThan, those in the history included, and returns
// how many records it pruned. The fingerprint stays, so that other bytes under the key are still told apart, and so does the
// document, which answers Create and Reconcile. Bodies of unresolved operations and of those in review stay.
//
// What it costs: a dropped body cannot be sent again from the journal, nor be shown to anybody. After a refusal the
// caller must give the request again. SQLite keeps the bytes in free pages until they are used again: run VACUUM, or set
// the pragma secure_delete, where that matters.
func (j *Journal) PruneBodies(ctx context.Context, olderThan time.Duration) (int64, error) {
	if olderThan < 0 {
		return 0, fmt.Errorf("sqljournal: bodies older than %s, expected zero or more", olderThan)
	}
	var pruned int64
	for p := (&prune{olderThan: olderThan}); ; {
		if err := j.do(ctx, "prune bodies", p); err != nil {
			return pruned, err
		}
		if len(p.records) == 0 {
			return pruned, nil
		}
		pruned += int64(len(p.records))
		p.after = slices.Max(p.records)
	}
}

type prune struct {
	olderThan time.Duration
	after     int64
	records   []int64
}

func (p *prune) quick(context.Context, runner) (bool, error) { return false, nil }

func (p *prune) full(ctx context.Context, run runner) error {
	var err error
	if p.records, err = p.dropBodies(ctx, run); err != nil {
		return err
	}
	for _, record := range p.records {
		if _, err := run.exec(ctx, pruneHistory, record); err != nil {
			return err
		}
	}
	return nil
}

func (p *prune) dropBodies(ctx context.Context, run runner) ([]int64, error) {
	rows, err := run.query(ctx, pruneRecords, p.after, p.olderThan.Microseconds(), pruneGroup)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // reading; rows.Err is checked
	records := make([]int64, 0, pruneGroup)
	for rows.Next() {
		var record int64
		if err := rows.Scan(&record); err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, rows.Err()
}
