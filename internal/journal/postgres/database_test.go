//go:build services

package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// server is the Postgres that tests make their databases in.
func server() string {
	if dsn := os.Getenv("TEST_RETINUE_POSTGRES"); dsn != "" {
		return dsn
	}
	return "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"
}

// database makes a database of the test's own, migrated, and returns its address.
func database(t testing.TB) string {
	t.Helper()
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, server())
	if err != nil {
		t.Fatalf("no Postgres to test with: %v\nstart one, or name one in TEST_RETINUE_POSTGRES", err)
	}
	name := "retinue_test_" + strings.ToLower(rand.Text())
	if _, err := admin.Exec(ctx, "create database "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec(ctx, "drop database "+name+" with (force)"); err != nil {
			t.Errorf("a database is left behind: %v", err)
		}
		if err := admin.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	dsn := withDatabase(t, server(), name)
	if err := postgres.Migrate(ctx, dsn); err != nil {
		t.Fatal(err)
	}
	return dsn
}

func withDatabase(t testing.TB, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// open connects as the program does.
func open(t testing.TB, dsn string) *postgres.Log {
	t.Helper()
	log, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Role: postgres.Role})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	return log
}

// proxy stands between a journal and its database and can swallow the answer to a commit.
type proxy struct {
	lose     atomic.Bool
	listener net.Listener
	target   string
}

// through starts a proxy for a database and returns it with the address to use instead.
func through(t testing.TB, dsn string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: u.Host}
	go p.serve()
	t.Cleanup(func() { _ = listener.Close() })
	u.Host = listener.Addr().String()
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.relay(client)
	}
}

func (p *proxy) relay(client net.Conn) {
	defer client.Close() //nolint:errcheck // it is cut off on purpose
	upstream, err := (&net.Dialer{Timeout: time.Minute}).Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer upstream.Close() //nolint:errcheck // it is cut off on purpose
	go func() {
		_, _ = io.Copy(upstream, client)
		_ = upstream.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := upstream.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte("COMMIT\x00")) && p.lose.Swap(false) {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// query runs a statement as the owner and returns its rows as text.
func query(t testing.TB, conn *pgx.Conn, sql string) (out []string) {
	t.Helper()
	rows, err := conn.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
