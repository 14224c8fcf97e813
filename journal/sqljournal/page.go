package sqljournal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/unavez/unavez"
)

// page is a few due records, reserved for one pass.
type page struct {
	pass        *pass
	id          unavez.RecordID
	after, last int64
	rows        []*row
}

func (p *page) quick(ctx context.Context, run runner) (bool, error) {
	p.rows = nil
	rows, err := run.query(ctx, p.pass.reserve, p.id.Provider, p.id.Account, p.after, p.last, p.pass.concurrency,
		p.pass.reservation.Microseconds())
	if err != nil {
		return false, err
	}
	defer rows.Close() //nolint:errcheck // reading; rows.Err is checked
	for rows.Next() {
		r, err := p.pass.j.box.scanRow(rows)
		if errors.Is(err, ErrSealed) {
			r.unreadable, err = err, nil
		}
		if err != nil {
			return false, err
		}
		p.rows = append(p.rows, r)
	}
	// The database returns what it changed in any order.
	slices.SortFunc(p.rows, func(a, b *row) int { return cmp.Compare(a.seq, b.seq) })
	return true, rows.Err()
}

func (p *page) full(context.Context, runner) error { return nil }

// putOff makes passes leave a record alone until a while from now, or no longer.
type putOff struct {
	seq int64
	by  time.Duration
}

func (p *putOff) quick(ctx context.Context, run runner) (bool, error) {
	fromNow := 0
	if p.by > 0 {
		fromNow = 1
	}
	_, err := run.exec(ctx, postpone, fromNow, p.by.Microseconds(), p.seq)
	return true, err
}

func (p *putOff) full(context.Context, runner) error { return nil }
