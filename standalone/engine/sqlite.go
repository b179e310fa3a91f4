package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite" // also registers the driver
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/tools/common/schema"
)

// Names of the schemas inside the server, and the one version of the second that is known: the
// server has no changes to it yet.
const (
	sqliteExecutions        = "sqlite/v3/temporal"
	sqliteVisibility        = "sqlite/v3/visibility"
	sqliteVisibilityVersion = "0.1"
)

func openSQLite(ctx context.Context, file string, log serverLog) (store, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return store{}, fmt.Errorf("find the engine's file: %w", err)
	}
	free, err := lock(ctx, file)
	if err != nil {
		return store{}, err
	}
	if err := prepareSQLite(ctx, file, log); err != nil {
		return store{}, errors.Join(fmt.Errorf("prepare %s: %w", file, err), free())
	}
	settings := &config.SQL{
		PluginName:   sqlite.PluginName,
		DatabaseName: escape(file),
		// One connection: with eight, writers wait for SQLite's lock and a run takes twice as long.
		MaxConns:     1,
		MaxIdleConns: 1,
		ConnectAttributes: map[string]string{
			"mode":         "rwc",
			"journal_mode": "wal", // ten times as fast as the rollback journal
			"synchronous":  "1",   // survives a kill; after a power cut the last commits may be gone
			"busy_timeout": "10000",
		},
	}
	return store{name: "sqlite " + file, executions: settings, visibility: settings, release: free}, nil
}

// escape writes a path as SQLite's file: names want it.
func escape(file string) string { return (&url.URL{Path: file}).EscapedPath() }

// prepareSQLite sets the schema up or brings it to what this server needs, in one transaction: a
// file is never half made. The server itself neither checks nor upgrades a SQLite file.
func prepareSQLite(ctx context.Context, file string, log serverLog) (err error) {
	private, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := private.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+escape(file)+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	f := sqliteFile{ctx, tx}
	if err := migrateSQLite(f, log); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := f.dropSpareIndexes(); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func migrateSQLite(f sqliteFile, log serverLog) error {
	version, tables, err := f.state()
	if err != nil {
		return err
	}
	known, err := minor(sqliteschema.Version)
	switch {
	case err != nil:
		return err
	case version == known:
		return nil
	case version > known:
		return fmt.Errorf("its schema is 0.%d and this program knows 0.%d: use the newer retinue that wrote it",
			version, known)
	case version > 0:
		target := &schema.UpdateConfig{SchemaName: sqliteExecutions, TargetVersion: sqliteschema.Version}
		return schema.NewUpdateSchemaTask(f, target, log).Run()
	case tables > 0:
		return errors.New("it is the file of another program: name a file of its own for the engine")
	}
	for _, name := range []string{sqliteExecutions, sqliteVisibility} {
		plain := &schema.SetupConfig{SchemaName: name, DisableVersioning: true}
		if err := schema.NewSetupSchemaTask(f, plain, log).Run(); err != nil {
			return err
		}
	}
	return f.UpdateSchemaVersion(sqliteschema.Version, "")
}

// sqliteFile is a file under the server's schema tasks. Its schema's version is 0.n, and n is kept
// in user_version.
type sqliteFile struct {
	ctx context.Context
	tx  *sql.Tx
}

var _ schema.DB = sqliteFile{}

func (f sqliteFile) state() (version, tables int, err error) {
	row := f.tx.QueryRowContext(f.ctx,
		"SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)")
	err = row.Scan(&version, &tables)
	return version, tables, err
}

// dropSpareIndexes drops the indexes of columns for search attributes that could be added to the
// list of workflows. None are added here, and each start and end of a workflow writes all of them:
// with these 35 a child that makes one call takes 1.2 times the CPU time.
func (f sqliteFile) dropSpareIndexes() error {
	rows, err := f.tx.QueryContext(f.ctx, "SELECT name FROM sqlite_master WHERE type = 'index' "+
		"AND tbl_name = 'executions_visibility' AND name GLOB 'by_*_[0-9][0-9]'")
	if err != nil {
		return err
	}
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return errors.Join(err, rows.Close())
		}
		names = append(names, name)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if err := f.Exec("DROP INDEX " + name); err != nil {
			return err
		}
	}
	return nil
}

func (f sqliteFile) Exec(stmt string, args ...any) error {
	_, err := f.tx.ExecContext(f.ctx, stmt, args...)
	return err
}

func (f sqliteFile) ReadSchemaVersion() (string, error) {
	version, _, err := f.state()
	return "0." + strconv.Itoa(version), err
}

func (f sqliteFile) UpdateSchemaVersion(version, _ string) error {
	n, err := minor(version)
	if err != nil {
		return err
	}
	return f.Exec("PRAGMA user_version = " + strconv.Itoa(n))
}

func (sqliteFile) DropAllTables() error {
	return errors.New("an engine's file is never emptied: remove the file instead")
}
func (sqliteFile) CreateSchemaVersionTables() error             { return nil }
func (sqliteFile) WriteSchemaUpdateLog(_, _, _, _ string) error { return nil }
func (sqliteFile) Close()                                       {}
func (sqliteFile) Type() string                                 { return "sql" }

func minor(version string) (int, error) {
	digits, ok := strings.CutPrefix(version, "0.")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return 0, fmt.Errorf("schema version %q is not 0.n", version)
	}
	return n, nil
}
