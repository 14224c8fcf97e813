// Package sqlite opens the journal in an SQLite file, with the driver modernc.org/sqlite, which needs no cgo. It is apart from
// sqljournal so that a program with PostgreSQL, or with another driver, does not link this one.
package sqlite

import (
	"database/sql"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/unavez/unavez/journal/sqljournal"
	"github.com/unavez/unavez/journal/sqljournal/internal/sqlitedsn"
)

// Open opens, or creates, the journal in the file at path; see [sqljournal.OpenSQLite]. Close the journal in the end.
func Open(path string, options ...sqljournal.Option) (*sqljournal.Journal, error) {
	return sqljournal.OpenSQLite(path, options...)
}

// OpenDB opens the file at path for the program's own tables, so that [sqljournal.Journal.Enqueue] can write an intent in
// the transaction of a sale. It may be open beside the journal of [Open]: they take turns. Its transactions begin with the
// write lock and wait up to 10 s for it; keep them short, since the journal waits meanwhile.
func OpenDB(path string) (*sql.DB, error) {
	name, err := sqlitedsn.For(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}
