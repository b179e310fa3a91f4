package engine

import (
	"strings"
	"testing"
)

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{}, "name a SQLite file or a Postgres URL"},
		{Options{SQLite: "a", Postgres: "b"}, "name a SQLite file or a Postgres URL"},
		{Options{SQLite: "a", Listen: "0.0.0.0:0"}, "only a loopback address"},
		{Options{SQLite: "a", Listen: "192.0.2.1:7233"}, "only a loopback address"},
		{Options{SQLite: "a", Listen: "[::1]:0"}, "only a loopback address"},
		{Options{SQLite: "a", Listen: "localhost"}, "only a loopback address"},
		{Options{Postgres: "host=localhost dbname=secret"}, "no scheme or no host"},
		{Options{Postgres: "postgres:///engine"}, "no scheme or no host"},
		{Options{Postgres: "postgres://u:secret@h:port/engine"}, "is not one"},
		{Options{Postgres: "postgres://u@h/"}, `database ""`},
		{Options{Postgres: "postgres://u@h/a-b"}, `database "a-b"`},
	} {
		_, err := Start(t.Context(), knownTo(t, c.options))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: got %v, want %q and no secret", c.options, err, c.want)
		}
	}
	if _, err := Start(t.Context(), Options{SQLite: t.TempDir() + "/engine.db"}); err == nil || !strings.Contains(err.Error(), "certificates") {
		t.Errorf("an engine that lets everybody in: %v", err)
	}
}

func TestPostgresSettings(t *testing.T) {
	target, err := parsePostgres("postgresql://a%40b:c%2Fd@db.example/engine?sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	s := settings(target, "engine")
	got := []string{s.ConnectAddr, s.User, s.Password, s.ConnectAttributes["sslmode"]}
	if want := "db.example:5432 a%40b c/d require"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
