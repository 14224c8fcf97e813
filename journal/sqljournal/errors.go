package sqljournal

import (
	"errors"
	"fmt"
)

// Errors of this package, beside those of [github.com/unavez/unavez.Journal].
var (
	// ErrSchemaNewer: the tables were made by a newer version of this module. Nothing was changed; update the program.
	ErrSchemaNewer = errors.New("sqljournal: the schema is newer than this version of the module")
	// ErrSchemaMissing: [WithoutMigration] was given and the schema is not there, or is older than this module needs.
	ErrSchemaMissing = errors.New("sqljournal: the schema is missing or outdated")
	// ErrSchemaForeign: there are tables of the journal's names that are not the journal's, or have lost columns.
	ErrSchemaForeign = errors.New("sqljournal: the schema is not the journal's")
	// ErrNotDurable: the database would report a commit before it is on the disk.
	ErrNotDurable = errors.New("sqljournal: the database is not durable")
	// ErrSealed: the record's bytes are sealed, and the journal has no cipher, or another one.
	ErrSealed = errors.New("sqljournal: the record is sealed with another cipher")
	// ErrClosed: the journal was closed.
	ErrClosed = errors.New("sqljournal: the journal is closed")
)

// errChanging: other processes were faster, again and again.
var errChanging = errors.New("the records of this identity are being changed by others, expected to find them at rest")

// failed names the step that a database error ended. Drivers put no values of arguments into their texts.
func failed(step string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqljournal: %s: %w", step, err)
}

// refusal is an answer of the journal itself, given before anything was written: no reason to undo what shares the
// transaction.
type refusal struct{ answer error }

func (r refusal) Error() string { return r.answer.Error() }
func (r refusal) Unwrap() error { return r.answer }

func isRefusal(err error) bool {
	_, ok := err.(refusal) //nolint:errorlint // never wrapped
	return ok
}

// isKeyTaken reports PostgreSQL's unique violation: the key has a record under another identity. Drivers agree on the method.
func isKeyTaken(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && state.SQLState() == "23505"
}
