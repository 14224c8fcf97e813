package sqljournal

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/unavez/unavez/journal/sqljournal/internal/sqlitedsn"
)

// sqliteDriver is the name under which modernc.org/sqlite registers itself.
const sqliteDriver = "sqlite"

// OpenSQLite opens, or creates, the journal in the file at path: WAL, synchronous FULL, a busy timeout of 10 s, one writer. Its
// folder must exist, on a local disk. Close the journal in the end.
//
// This package imports no driver. Import the sub-package sqlite, whose Open does the same, or modernc.org/sqlite itself.
func OpenSQLite(path string, options ...Option) (*Journal, error) {
	if !slices.Contains(sql.Drivers(), sqliteDriver) {
		return nil, errors.New(`sqljournal: no database/sql driver named "sqlite", expected an import of ` +
			"github.com/unavez/unavez/journal/sqljournal/sqlite or modernc.org/sqlite")
	}
	name, err := sqlitedsn.For(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(sqliteDriver, name)
	if err != nil {
		return nil, failed("open", err)
	}
	db.SetMaxOpenConns(1)
	j, err := New(context.Background(), db, SQLite, options...)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	j.ownsDB = true
	return j, nil
}
