package sqljournal

import (
	"fmt"
	"strconv"
	"strings"
)

// Dialect is the kind of database behind a [Journal].
type Dialect string

// The dialects.
const (
	// SQLite is SQLite 3.42 or newer: one file on a local disk, any number of processes of one machine.
	SQLite Dialect = "sqlite"
	// PostgreSQL is PostgreSQL 12 or newer, shared by replicas on any number of machines.
	PostgreSQL Dialect = "postgresql"
)

func (d Dialect) validate() error {
	if d != SQLite && d != PostgreSQL {
		return fmt.Errorf("sqljournal: unknown dialect %q, expected SQLite or PostgreSQL", string(d))
	}
	return nil
}

// The statements of this package are written once, with these marks where the dialects differ:
//
//	?            the next argument
//	{now}        the database's clock in microseconds
//	{lock}       lock the selected row until the end of the transaction; SQLite has locked the whole file by then
//	{skiplocked} as {lock}, and pass over rows that another transaction has locked
//	{arbiter}    the constraint whose conflict is expected; naming it spares PostgreSQL a look into every other one
const (
	sqliteNow   = "(CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) * 1000)"
	postgresNow = "(date_part('epoch', clock_timestamp()) * 1000000)::bigint" // extract computes with numeric
)

// render turns a statement of this package into the dialect's own.
func (d Dialect) render(statement string) string {
	if d == SQLite {
		return strings.NewReplacer("{now}", sqliteNow, "{lock}", "", "{skiplocked}", "", "{arbiter}", "").Replace(statement)
	}
	statement = strings.NewReplacer(
		"{now}", postgresNow, "{lock}", "FOR UPDATE", "{skiplocked}", "FOR UPDATE SKIP LOCKED",
		"{arbiter}", "(identity, environment, slot)",
	).Replace(statement)
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(statement, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		statement = after
	}
}
