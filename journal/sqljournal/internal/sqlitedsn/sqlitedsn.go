// Package sqlitedsn writes the data source name of a durable SQLite file, in the form of modernc.org/sqlite.
package sqlitedsn

import (
	"errors"
	"net/url"
	"strings"
)

// parameters: a commit is on the disk before it is reported (WAL with synchronous FULL), a locked file is waited for, and
// a transaction takes the write lock when it begins, since one that begins with a read cannot wait for it later.
const parameters = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"

// For returns the data source name for the file at path, which need not exist; its folder must.
func For(path string) (string, error) {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return "", errors.New("sqljournal: expected the path of a file for SQLite, not an address, nothing or memory")
	}
	escaped := (&url.URL{Path: path}).EscapedPath()
	return "file:" + escaped + parameters, nil
}
