package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql" // also registers the driver
	pgschema "go.temporal.io/server/schema/postgresql/v12"
	"go.temporal.io/server/tools/common/schema"
	sqltool "go.temporal.io/server/tools/sql"
)

const (
	visibilitySuffix = "_visibility"
	// postgresConns is the number of connections in the measurements, in each of the engine's two
	// databases.
	postgresConns = 20
	connLifetime  = time.Hour
	// engineLock is an arbitrary number that all engines agree on.
	engineLock = 0x52_45_54_49_4e_55_45
)

// Codes of Postgres.
const (
	invalidCatalogName = "3D000"
	duplicateDatabase  = "42P04"
	uniqueViolation    = "23505"
)

// databaseName matches names that need no quotes in the server's own statements.
var databaseName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func openPostgres(ctx context.Context, dsn string, log serverLog) (store, error) {
	target, err := parsePostgres(dsn)
	if err != nil {
		return store{}, err
	}
	name := strings.TrimPrefix(target.Path, "/")
	s := store{
		name:       "postgres " + target.Host + "/" + name,
		executions: settings(target, name),
		visibility: settings(target, name+visibilitySuffix),
		shared:     true,
	}
	conn, err := connect(ctx, target, name)
	if err != nil {
		return store{}, fmt.Errorf("open %s: %w", s.name, err)
	}
	s.release = func() error { return conn.Close(context.WithoutCancel(ctx)) }
	if err := preparePostgres(ctx, conn, target, s, log); err != nil {
		return store{}, errors.Join(fmt.Errorf("prepare %s: %w", s.name, err), s.release())
	}
	return s, nil
}

func preparePostgres(ctx context.Context, conn *pgx.Conn, target *url.URL, s store, log serverLog) error {
	// The lock lasts as long as this connection. It guards the start, when a second engine is easily
	// begun by mistake; it does not fence one whose connection was cut.
	err := insist(ctx, errTaken, func() error {
		var taken bool
		err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(engineLock)).Scan(&taken)
		if err == nil && !taken {
			return errTaken
		}
		return err
	})
	if err != nil {
		return err
	}
	second, err := connect(ctx, target, s.visibility.DatabaseName)
	if err != nil {
		return err
	}
	if err := second.Close(ctx); err != nil {
		return err
	}
	err = migratePostgres(s.executions, "postgresql/v12/temporal", pgschema.Version, log)
	if err != nil {
		return err
	}
	return migratePostgres(s.visibility, "postgresql/v12/visibility", pgschema.VisibilityVersion, log)
}

func parsePostgres(dsn string) (*url.URL, error) {
	const form = "give it as postgres://user:password@host:5432/database"
	target, err := url.Parse(dsn)
	if err != nil { // the error of url.Parse repeats the password
		return nil, errors.New("the Postgres URL is not one: " + form)
	}
	if target.Scheme != "postgres" && target.Scheme != "postgresql" || target.Hostname() == "" {
		return nil, errors.New("the Postgres URL has no scheme or no host: " + form)
	}
	if name := strings.TrimPrefix(target.Path, "/"); !databaseName.MatchString(name) {
		return nil, fmt.Errorf("database %q: use small letters, digits and underscores: %s", name, form)
	}
	if target.Port() == "" {
		target.Host = net.JoinHostPort(target.Hostname(), "5432")
	}
	return target, nil
}

// settings are the server's words for a database of the same host and user.
func settings(target *url.URL, name string) *config.SQL {
	password, _ := target.User.Password()
	attributes := map[string]string{"sslmode": "prefer"} // the server would say disable
	for key, values := range target.Query() {
		attributes[key] = values[0]
	}
	return &config.SQL{
		PluginName:        postgresql.PluginNamePGX, // the other one, pq, takes three times as long
		ConnectAddr:       target.Host,
		ConnectProtocol:   "tcp",
		User:              url.QueryEscape(target.User.Username()),
		Password:          password,
		DatabaseName:      name,
		ConnectAttributes: attributes,
		MaxConns:          postgresConns,
		MaxIdleConns:      postgresConns,
		MaxConnLifetime:   connLifetime,
	}
}

// connect opens a database and makes it if it is missing. It checks first, since Postgres refuses a
// user without that right even when the database exists.
func connect(ctx context.Context, target *url.URL, name string) (*pgx.Conn, error) {
	at := *target
	at.Path = "/" + name
	conn, err := pgx.Connect(ctx, at.String())
	if !failedWith(err, invalidCatalogName) {
		return conn, err
	}
	at.Path = "/postgres"
	admin, err := pgx.Connect(ctx, at.String())
	if err != nil {
		return nil, err
	}
	_, err = admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if failedWith(err, duplicateDatabase, uniqueViolation) {
		err = nil // somebody else was quicker
	}
	if err := errors.Join(err, admin.Close(ctx)); err != nil {
		return nil, fmt.Errorf("make database %s: %w", name, err)
	}
	at.Path = "/" + name
	return pgx.Connect(ctx, at.String())
}

func failedWith(err error, codes ...string) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(codes, failure.Code)
}

// migratePostgres sets a schema up or brings it to a version, by the server's own tasks, which can
// be cut off anywhere and run again.
func migratePostgres(target *config.SQL, name, version string, log serverLog) error {
	conn, err := sqltool.NewConnection(target, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ReadSchemaVersion(); err != nil {
		empty := &schema.SetupConfig{InitialVersion: "0.0"}
		if err := schema.NewSetupSchemaTask(conn, empty, log).Run(); err != nil {
			return fmt.Errorf("set up the schema of %s: %w", target.DatabaseName, err)
		}
	}
	update := &schema.UpdateConfig{SchemaName: name, TargetVersion: version}
	if err := schema.NewUpdateSchemaTask(conn, update, log).Run(); err != nil {
		return fmt.Errorf("upgrade the schema of %s: %w", target.DatabaseName, err)
	}
	return nil
}
