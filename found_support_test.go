package unavez_test

import (
	"context"
	"net/http"
	"time"

	"github.com/unavez/unavez"
)

// roundTripper is a transport in one function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hookedJournal is a journal that calls a hook first, and fails where the hook does.
type hookedJournal struct {
	unavez.Journal
	begin  func(ctx context.Context) error
	extend func(ctx context.Context) error
	finish func(ctx context.Context, r unavez.Result) error
}

func (j *hookedJournal) Begin(ctx context.Context, intent unavez.Intent) (unavez.Record, error) {
	if j.begin != nil {
		if err := j.begin(ctx); err != nil {
			return unavez.Record{}, err
		}
	}
	return j.Journal.Begin(ctx, intent)
}

func (j *hookedJournal) Extend(ctx context.Context, c unavez.Claim, w int, l time.Duration) error {
	if j.extend != nil {
		if err := j.extend(ctx); err != nil {
			return err
		}
	}
	return j.Journal.Extend(ctx, c, w, l)
}

func (j *hookedJournal) Finish(ctx context.Context, c unavez.Claim, r unavez.Result) error {
	if j.finish != nil {
		if err := j.finish(ctx, r); err != nil {
			return err
		}
	}
	return j.Journal.Finish(ctx, c, r)
}
