// Package sqljournal keeps the journal of a unavez client in an SQL database, so that nothing is lost or done twice when the
// process dies: in one SQLite file, or in a PostgreSQL database that replicas share.
//
//	journal, err := sqlite.Open("journal.db")
//	client, err := unavez.New(provider, unavez.WithJournal(journal), …)
//
// With [Journal.Enqueue] the intent commits together with the sale, in the caller's own transaction; [Journal.Drain] sends
// what is due, and [Journal.Sweep] finds out what became of operations that a dead process left behind.
//
// All times, ages and leases are those of the database's clock; the clock of a process decides nothing. docs/durability.md in
// the repository says what is guaranteed under which failure, and how to operate it.
package sqljournal
