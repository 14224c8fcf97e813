package sqljournal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/unavez/unavez"
)

// Journal is a [unavez.Journal] in an SQL database. It is safe for concurrent use, by any number of processes on one
// database. Make one with [New] or [OpenSQLite].
type Journal struct {
	db      *sql.DB
	dialect Dialect
	box     box
	text    *[statements]string
	ownsDB  bool

	// For SQLite: prepared statements, and the group commit.
	prepared *[statements]*sql.Stmt
	group    group

	closing sync.Once
}

var _ unavez.Journal = (*Journal)(nil)

// New makes a journal of the tables in db, after it has brought them to this module's version under a lock (see
// [WithoutMigration]). It keeps db and does not close it.
//
// The error tells a schema that is newer ([ErrSchemaNewer]), foreign ([ErrSchemaForeign]) or missing ([ErrSchemaMissing]), and a
// database that would lose a commit when the power fails ([ErrNotDurable]).
//
// For SQLite every connection of db must wait for locks (busy_timeout) and have synchronous FULL; the sub-package sqlite
// opens such a db. For PostgreSQL give db at least as many connections as there are concurrent calls.
func New(ctx context.Context, db *sql.DB, dialect Dialect, options ...Option) (*Journal, error) {
	settings := config{migrate: true}
	for _, o := range options {
		if err := o.apply(&settings); err != nil {
			return nil, err
		}
	}
	if err := dialect.validate(); err != nil {
		return nil, err
	}
	if err := checkDurable(ctx, db, dialect); err != nil {
		return nil, err
	}
	if err := prepareSchema(ctx, db, dialect, settings.migrate); err != nil {
		return nil, err
	}
	j := &Journal{db: db, dialect: dialect, box: box{settings.cipher}, text: statementTexts(dialect)}
	if dialect == SQLite {
		if err := j.prepare(ctx); err != nil {
			return nil, err
		}
		j.group.start(j)
	}
	return j, nil
}

// Close waits for what is being written, and closes the database if this package opened it. Later calls answer [ErrClosed].
func (j *Journal) Close() error {
	var err error
	j.closing.Do(func() {
		j.group.close()
		if j.prepared != nil {
			for _, statement := range j.prepared {
				if statement != nil {
					err = firstError(err, statement.Close())
				}
			}
		}
		if j.ownsDB {
			err = firstError(err, j.db.Close())
		}
	})
	return failed("close", err)
}

// checkDurable refuses an SQLite database that reports a commit before it is on the disk.
func checkDurable(ctx context.Context, db *sql.DB, dialect Dialect) error {
	if dialect != SQLite {
		return nil
	}
	var synchronous int
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return failed("read the pragma synchronous", err)
	}
	if synchronous < 2 {
		return fmt.Errorf("%w: pragma synchronous is %d, expected 2 (FULL)", ErrNotDurable, synchronous)
	}
	var file string
	if err := db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		return failed("read the name of the database file", err)
	}
	if file == "" {
		return fmt.Errorf("%w: the database is in memory, expected a file (unavez.NewMemoryJournal is for memory)", ErrNotDurable)
	}
	return nil
}

func (j *Journal) prepare(ctx context.Context) error {
	j.prepared = new([statements]*sql.Stmt)
	for i, text := range j.text {
		if text == "" {
			continue
		}
		statement, err := j.db.PrepareContext(ctx, text) //nolint:sqlclosecheck // Close closes it
		if err != nil {
			return firstError(failed("prepare a statement", err), j.Close())
		}
		j.prepared[i] = statement
	}
	return nil
}

// pool runs statements outside of a transaction.
func (j *Journal) pool() runner {
	if j.prepared != nil {
		return prepared{statements: j.prepared}
	}
	return texts{on: j.db, text: j.text}
}

func (j *Journal) within(tx *sql.Tx) runner {
	if j.prepared != nil {
		return prepared{statements: j.prepared, tx: tx}
	}
	return texts{on: tx, text: j.text}
}

// operation is one atomic change of the journal.
type operation interface {
	// quick tries to do it in one statement, which is a transaction of its own, or part of one that others share. It
	// reports false if it changed nothing and the operation needs to look first.
	quick(ctx context.Context, run runner) (bool, error)
	// full does it in a transaction.
	full(ctx context.Context, run runner) error
}

// do performs the operation, and returns when its outcome is durable.
func (j *Journal) do(ctx context.Context, step string, o operation) error {
	err := ctx.Err()
	switch {
	case err != nil:
	case j.dialect == SQLite:
		err = j.group.do(ctx, j, o)
	default:
		err = j.single(ctx, o)
	}
	if isRefusal(err) {
		return errors.Unwrap(err)
	}
	return failed(step, err)
}

// alone performs the operation in a transaction of its own.
func (j *Journal) alone(ctx context.Context, o operation) error {
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	run := j.within(tx)
	if j.dialect == SQLite {
		if _, err := run.exec(ctx, takeWriteLock); err != nil {
			return rollback(tx, err)
		}
	}
	if err := o.full(ctx, run); err != nil {
		return rollback(tx, err)
	}
	if err := tx.Commit(); err != nil {
		return rollback(tx, err)
	}
	return nil
}

// rollback ends the transaction; what made it necessary is the error that counts.
func rollback(tx *sql.Tx, err error) error {
	_ = tx.Rollback()
	return err
}
