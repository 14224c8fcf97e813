package sqljournal

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations
var migrationFiles embed.FS

// migrationLock is the advisory lock under which PostgreSQL migrates.
const migrationLock = 7_553_220_194_471

type migration struct {
	version int
	script  string
}

// Schema returns the statements that make the tables of the journal, for teams that migrate with a tool of their own. They
// run as they are, once, in one transaction; then use [WithoutMigration]. A later version of this module appends to them and
// never changes what is there.
func Schema(dialect Dialect) (string, error) {
	migrations, err := migrationsOf(dialect)
	if err != nil {
		return "", err
	}
	scripts := make([]string, len(migrations))
	for i, m := range migrations {
		scripts[i] = m.script
	}
	return strings.Join(scripts, "\n"), nil
}

// migrationsOf returns the embedded scripts in order; their file names begin with their version.
func migrationsOf(dialect Dialect) ([]migration, error) {
	if err := dialect.validate(); err != nil {
		return nil, err
	}
	folder := "migrations/" + string(dialect)
	entries, err := fs.ReadDir(migrationFiles, folder)
	if err != nil {
		return nil, failed("read the embedded migrations", err)
	}
	migrations := make([]migration, 0, len(entries))
	for i, entry := range entries {
		script, err := fs.ReadFile(migrationFiles, folder+"/"+entry.Name())
		if err != nil {
			return nil, failed("read an embedded migration", err)
		}
		migrations = append(migrations, migration{version: i + 1, script: string(script)})
	}
	return migrations, nil
}

// prepareSchema brings the schema to this module's version, or only checks it, and leaves nothing half done.
func prepareSchema(ctx context.Context, db *sql.DB, dialect Dialect, migrate bool) error {
	migrations, err := migrationsOf(dialect)
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, db, dialect)
	if err != nil {
		return err
	}
	if version < len(migrations) {
		if !migrate {
			return fmt.Errorf("%w: found version %d, expected %d", ErrSchemaMissing, version, len(migrations))
		}
		if err := runMigrations(ctx, db, dialect, migrations); err != nil {
			return err
		}
	}
	return checkColumns(ctx, db, dialect)
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaVersion is 0 where there is no schema. A newer or foreign one is an error.
func schemaVersion(ctx context.Context, db querier, dialect Dialect) (int, error) {
	hasSchema, hasRecords, err := hasTables(ctx, db, dialect)
	switch {
	case err != nil:
		return 0, err
	case !hasSchema && hasRecords:
		return 0, fmt.Errorf("%w: unavez_records without unavez_schema", ErrSchemaForeign)
	case !hasSchema:
		return 0, nil
	}
	var version sql.NullInt64
	if err := db.QueryRowContext(ctx, "SELECT max(version) FROM unavez_schema").Scan(&version); err != nil {
		return 0, fmt.Errorf("%w: unavez_schema cannot be read: %w", ErrSchemaForeign, err)
	}
	migrations, err := migrationsOf(dialect)
	if err != nil {
		return 0, err
	}
	switch {
	case !version.Valid || version.Int64 < 1:
		return 0, fmt.Errorf("%w: unavez_schema names no version", ErrSchemaForeign)
	case version.Int64 > int64(len(migrations)):
		return 0, fmt.Errorf("%w: found version %d, expected %d", ErrSchemaNewer, version.Int64, len(migrations))
	}
	return int(version.Int64), nil
}

// hasTables looks where unqualified names are looked up: in PostgreSQL along the search path. It reads the catalog, since
// to_regclass may answer from what the session remembered before it waited for the lock; and both at once, since
// somebody else may be migrating.
func hasTables(ctx context.Context, db querier, dialect Dialect) (schema, records bool, err error) {
	const count = "SELECT count(CASE WHEN %[1]s = 'unavez_schema' THEN 1 END), count(CASE WHEN %[1]s = 'unavez_records' THEN 1 END) FROM %[2]s"
	query := fmt.Sprintf(count, "name", "sqlite_master")
	if dialect == PostgreSQL {
		query = fmt.Sprintf(count, "relname", "pg_catalog.pg_class WHERE relname LIKE 'unavez%' AND pg_catalog.pg_table_is_visible(oid)")
	}
	var ofSchema, ofRecords int
	err = db.QueryRowContext(ctx, query).Scan(&ofSchema, &ofRecords)
	return ofSchema > 0, ofRecords > 0, failed("look for the schema", err)
}

// runMigrations holds a lock from the look at the version to the commit, so that replicas that start at once migrate once.
func runMigrations(ctx context.Context, db *sql.DB, dialect Dialect, migrations []migration) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return failed("connect", err)
	}
	defer func() { err = firstError(err, failed("give the connection back", conn.Close())) }()
	begin, lock := "BEGIN IMMEDIATE", ""
	if dialect == PostgreSQL {
		begin, lock = "BEGIN", fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(migrationLock))
	}
	for _, statement := range []string{begin, lock} {
		if statement == "" {
			continue
		}
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return failed("lock for the migration", err)
		}
	}
	if err := migrateLocked(ctx, conn, dialect, migrations); err != nil {
		_, rollback := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return firstError(err, failed("roll the migration back", rollback))
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return failed("commit the migration", err)
}

func migrateLocked(ctx context.Context, conn *sql.Conn, dialect Dialect, migrations []migration) error {
	version, err := schemaVersion(ctx, conn, dialect)
	if err != nil {
		return err
	}
	for _, m := range migrations[version:] {
		if _, err := conn.ExecContext(ctx, m.script); err != nil {
			return failed(fmt.Sprintf("migrate to version %d", m.version), err)
		}
	}
	return nil
}

// checkColumns finds out now, and not between an intent and its outcome, that a table lacks something.
func checkColumns(ctx context.Context, db *sql.DB, dialect Dialect) error {
	for _, query := range []string{
		"SELECT " + recordColumns + " FROM unavez_records WHERE 1 = 0",
		"SELECT " + historyColumns + ", body, body_sealed FROM unavez_history WHERE 1 = 0",
	} {
		if _, err := db.ExecContext(ctx, dialect.render(query)); err != nil {
			return fmt.Errorf("%w: %w", ErrSchemaForeign, err)
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
