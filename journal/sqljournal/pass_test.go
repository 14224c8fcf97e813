package sqljournal_test

import (
	"context"
	"database/sql"
	"iter"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/sqljournal"
	"github.com/unavez/unavez/sandbox"
)

// passBundle is a journal, a client of it and the sandbox.
type passBundle struct {
	server  *sandbox.Server
	journal *sqljournal.Journal
	db      *sql.DB
	client  *unavez.Client
	intents []unavez.Intent
}

// newPass enqueues n operations.
func newPass(t *testing.T, p place, n int, options ...sqljournal.Option) *passBundle {
	t.Helper()
	b := &passBundle{server: sandbox.Start(t)}
	b.journal, b.db = p.open(t, options...)
	b.client = newClient(t, atFiscalisto, b.server.URL(), b.journal)
	for i := range n {
		intent := prepare(t, b.client, atFiscalisto, i)
		require.NoError(t, enqueue(t.Context(), b.journal, b.db, intent))
		b.intents = append(b.intents, intent)
	}
	return b
}

// collect ranges over a whole pass.
func collect(t *testing.T, reports iter.Seq2[sqljournal.Report, error]) (done int, errs []error) {
	t.Helper()
	for report, err := range reports {
		if err != nil {
			require.NotEmpty(t, report.Key, err)
			errs = append(errs, err)
			continue
		}
		require.NotNil(t, report.Outcome)
		done++
	}
	return done, errs
}

func TestDrain(t *testing.T) {
	t.Parallel()

	t.Run("sends what is queued, once", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 30)
			done, errs := collect(t, b.journal.Drain(t.Context(), b.client))
			require.Empty(t, errs)
			require.Equal(t, 30, done)
			done, errs = collect(t, b.journal.Drain(t.Context(), b.client))
			require.Empty(t, errs)
			require.Zero(t, done)
			require.Equal(t, 30, b.server.Stamps())
		})
	})

	t.Run("sends the bytes that were prepared", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 1)
			collect(t, b.journal.Drain(t.Context(), b.client))
			require.Equal(t, string(b.intents[0].Body), string(b.server.Requests()[0].Body))
		})
	})

	t.Run("leaves alone what was put off, and comes back", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 1)
			b.server.Script(sandbox.TooMany("30"))
			_, errs := collect(t, b.journal.Drain(t.Context(), b.client))
			require.Len(t, errs, 1)
			require.ErrorIs(t, errs[0], unavez.ErrRetryLater)
			done, errs := collect(t, b.journal.Drain(t.Context(), b.client))
			require.Zero(t, done+len(errs), "within the 30 s")
			pass(t, b.db, 31*time.Second)
			done, _ = collect(t, b.journal.Drain(t.Context(), b.client))
			require.Equal(t, 1, done)
		})
	})

	t.Run("brings an unknown outcome to its end", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 1)
			b.server.Script(sandbox.CloseAfter())
			_, errs := collect(t, b.journal.Drain(t.Context(), b.client))
			require.Len(t, errs, 1)
			require.ErrorIs(t, errs[0], unavez.ErrOutcomeUnknown)
			pass(t, b.db, time.Minute)
			done, errs := collect(t, b.journal.Drain(t.Context(), b.client))
			require.Empty(t, errs)
			require.Equal(t, 1, done)
			require.Equal(t, 1, b.server.Stamps())
		})
	})

	t.Run("resends nothing at a provider that is asked first", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 0)
			client := newClient(t, atFacty, b.server.URL(), b.journal)
			require.NoError(t, enqueue(t.Context(), b.journal, b.db, prepare(t, client, atFacty, 1)))
			b.server.Script(sandbox.CloseAfter())
			b.server.ScriptLookups(sandbox.Status(500, ""))
			_, errs := collect(t, b.journal.Drain(t.Context(), client))
			require.Len(t, errs, 1)
			pass(t, b.db, time.Minute)
			done, errs := collect(t, b.journal.Drain(t.Context(), client))
			require.Empty(t, errs)
			require.Equal(t, 1, done)
			writes := 0
			for _, request := range b.server.Requests() {
				if request.Method == http.MethodPost {
					writes++
				}
			}
			require.Equal(t, 1, writes)
		})
	})

	t.Run("ends when the caller has enough, and keeps what it did", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 20)
			for _, err := range b.journal.Drain(t.Context(), b.client, sqljournal.WithConcurrency(2)) {
				require.NoError(t, err)
				break
			}
			sent := b.server.Stamps()
			require.Less(t, sent, 20)
			done, errs := collect(t, b.journal.Drain(t.Context(), b.client))
			require.Empty(t, errs)
			require.Equal(t, 20-sent, done, "what was not sent is due at once")
		})
	})

	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 20)
			ctx, cancel := context.WithCancel(t.Context())
			var last error
			for _, err := range b.journal.Drain(ctx, b.client, sqljournal.WithConcurrency(1)) {
				cancel()
				last = err
			}
			cancel()
			require.ErrorIs(t, last, context.Canceled)
			require.Less(t, b.server.Stamps(), 20)
		})
	})

	t.Run("reports a record that cannot be opened, and goes on", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 1, sqljournal.WithBodyCipher(newCipher(t, 1)))
			other, db := p.open(t, sqljournal.WithBodyCipher(newCipher(t, 2)))
			client := newClient(t, atFiscalisto, b.server.URL(), other)
			require.NoError(t, enqueue(t.Context(), other, db, prepare(t, client, atFiscalisto, 7)))
			done, errs := collect(t, other.Drain(t.Context(), client))
			require.Equal(t, 1, done)
			require.Len(t, errs, 1)
			require.ErrorIs(t, errs[0], sqljournal.ErrSealed)
		})
	})

	t.Run("takes no other account's records", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 3)
			other := newClient(t, atPayouts, b.server.URL(), b.journal)
			done, errs := collect(t, b.journal.Drain(t.Context(), other))
			require.Zero(t, done+len(errs))
		})
	})
}

func TestDrainByManyAtOnce(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, p place) {
		t.Helper()
		b := newPass(t, p, 120)
		var wait sync.WaitGroup
		counts := make([]int, 4)
		for i := range counts {
			journal, _ := p.open(t)
			client := newClient(t, atFiscalisto, b.server.URL(), journal)
			wait.Go(func() {
				for report, err := range journal.Drain(t.Context(), client) {
					if err == nil && report.Outcome != nil {
						counts[i]++
					}
				}
			})
		}
		wait.Wait()
		require.Equal(t, 120, counts[0]+counts[1]+counts[2]+counts[3])
		require.Equal(t, 120, b.server.Stamps())
		require.Len(t, b.server.Requests(), 120, "nobody sent what another one had taken up")
	})
}

func TestSweep(t *testing.T) {
	t.Parallel()

	t.Run("resolves what a dead process left", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 0)
			intent := prepare(t, b.client, atFiscalisto, 1)
			intent.Owner, intent.Lease = "dead", time.Minute
			_, err := b.journal.Begin(t.Context(), intent)
			require.NoError(t, err)

			done, errs := collect(t, b.journal.Sweep(t.Context(), b.client))
			require.Zero(t, done+len(errs), "while the lease runs it is somebody's work")
			pass(t, b.db, 2*time.Minute)
			done, errs = collect(t, b.journal.Sweep(t.Context(), b.client))
			require.Empty(t, errs)
			require.Equal(t, 1, done)
			require.Equal(t, 1, b.server.Effects(intent.Key))
		})
	})

	t.Run("sends nothing past the window", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			server := sandbox.Start(t)
			journal, db := p.open(t)
			client := newClient(t, atPayouts, server.URL(), journal)
			intent := prepare(t, client, atPayouts, 1)
			intent.Owner, intent.Lease = "dead", time.Minute
			_, err := journal.Begin(t.Context(), intent)
			require.NoError(t, err)

			pass(t, db, 25*time.Hour)
			_, errs := collect(t, journal.Sweep(t.Context(), client))
			require.Len(t, errs, 1)
			var e *unavez.Error
			require.ErrorAs(t, errs[0], &e)
			require.Equal(t, unavez.ReasonKeyExpired, e.Reason)
			require.Empty(t, server.Requests())
			record, err := journal.Load(t.Context(), intent.RecordID)
			require.NoError(t, err)
			require.Equal(t, unavez.StateReview, record.State)
		})
	})

	t.Run("starts nothing", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 2)
			intent := b.intents[0]
			intent.Owner, intent.Lease = "one", time.Minute
			finishWith(t, b.journal, intent, unavez.Result{State: unavez.StateOpen, Effect: unavez.NotExecuted, Next: unavez.NextResend})
			done, errs := collect(t, b.journal.Sweep(t.Context(), b.client))
			require.Zero(t, done+len(errs))
			require.Empty(t, b.server.Requests())
		})
	})

	t.Run("leaves what a person must decide", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 1)
			intent := b.intents[0]
			intent.Owner, intent.Lease = "one", time.Minute
			record, err := b.journal.Begin(t.Context(), intent)
			require.NoError(t, err)
			require.NoError(t, b.journal.Finish(t.Context(), record.Claim, unavez.Result{
				State: unavez.StateReview, Effect: unavez.Unknown, Reason: unavez.ReasonConflict, Next: unavez.NextReview,
			}))
			done, errs := collect(t, b.journal.Sweep(t.Context(), b.client))
			require.Zero(t, done+len(errs))
			done, errs = collect(t, b.journal.Drain(t.Context(), b.client))
			require.Zero(t, done+len(errs))
			require.Empty(t, b.server.Requests())
		})
	})

	t.Run("sends what a person decided to send", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 1)
			intent := b.intents[0]
			intent.Owner, intent.Lease = "one", time.Minute
			record, err := b.journal.Begin(t.Context(), intent)
			require.NoError(t, err)
			require.NoError(t, b.journal.Finish(t.Context(), record.Claim, unavez.Result{
				State: unavez.StateReview, Effect: unavez.Unknown, Reason: unavez.ReasonConflict, Next: unavez.NextReview,
			}))
			require.NoError(t, b.journal.Resolve(t.Context(), intent.RecordID, unavez.Resolution{
				Decision: unavez.DecideResend, By: "ana", Why: "the provider's support confirmed that it never arrived",
			}))
			done, errs := collect(t, b.journal.Drain(t.Context(), b.client))
			require.Empty(t, errs)
			require.Equal(t, 1, done)
		})
	})
}

func TestPassRefusesNonsense(t *testing.T) {
	t.Parallel()
	p := newSQLite(t)
	b := newPass(t, p, 1)
	for _, option := range []sqljournal.PassOption{sqljournal.WithConcurrency(0), sqljournal.WithReservation(0)} {
		var last error
		for _, err := range b.journal.Drain(t.Context(), b.client, option) {
			last = err
		}
		require.ErrorContains(t, last, "expected")
	}
	require.Empty(t, b.server.Requests())
}
