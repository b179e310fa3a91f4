package mtls

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const day = 24 * time.Hour

func ensure(t *testing.T, dir string, at time.Time) {
	t.Helper()
	if err := Ensure(dir, at); err != nil {
		t.Fatal(err)
	}
}

// serve accepts the callers that the server of a folder accepts, and says a word to each.
func serve(t *testing.T, f Files) string {
	t.Helper()
	config, err := f.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = conn.Write([]byte("welcome"))
			}()
		}
	}()
	return listener.Addr().String()
}

// enter reports whether somebody with that configuration hears the word.
func enter(address string, config *tls.Config) bool {
	var conn net.Conn
	var err error
	if config == nil {
		conn, err = net.Dial("tcp", address)
	} else {
		conn, err = tls.Dial("tcp", address, config)
	}
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if config == nil {
		_, _ = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	}
	said, _ := io.ReadAll(conn)
	return bytes.Contains(said, []byte("welcome"))
}

func client(t *testing.T, f Files) *tls.Config {
	t.Helper()
	c, err := f.ClientConfig("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOnlyHoldersComeIn(t *testing.T) {
	ours, theirs := t.TempDir(), t.TempDir()
	ensure(t, ours, time.Now())
	ensure(t, theirs, time.Now())
	address := serve(t, Server(ours))
	if !enter(address, client(t, Client(ours))) {
		t.Fatal("the client of the folder is not let in")
	}
	stranger := Client(theirs)
	stranger.CA = Client(ours).CA
	misused := Client(ours)
	misused.Cert = Server(ours).Cert
	for name, config := range map[string]*tls.Config{
		"without TLS":                nil,
		"without a certificate":      client(t, Files{CA: Client(ours).CA}),
		"of another folder":          client(t, stranger),
		"with the server's own":      client(t, misused),
		"trusting everything":        {InsecureSkipVerify: true},
		"with an authority's":        client(t, Files{CA: Client(ours).CA, Cert: filepath.Join(theirs, authorityFile)}),
		"that takes nobody on trust": client(t, Client(theirs)),
	} {
		if enter(address, config) {
			t.Errorf("a caller %s is let in", name)
		}
	}
	other := client(t, Client(ours))
	if enter(serve(t, Server(theirs)), other) {
		t.Error("a server of another folder is believed")
	}
	named, err := Client(ours).ClientConfig("engine.example")
	if err != nil {
		t.Fatal(err)
	}
	if enter(address, named) {
		t.Error("a certificate for another name is believed")
	}
}

// A running server and client stay connected while all their certificates are replaced.
func TestRotation(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	ensure(t, dir, now.Add(-250*day))
	ensure(t, dir, now.Add(-20*day))
	address, config := serve(t, Server(dir)), client(t, Client(dir))
	check := func(when string) {
		t.Helper()
		if !enter(address, config) {
			t.Fatalf("%s: the client is not let in", when)
		}
	}
	check("at first")
	before := contents(t, dir)
	ensure(t, dir, now.Add(-15*day))
	if got := contents(t, dir); got != before {
		t.Fatal("certificates that are young were replaced")
	}
	ensure(t, dir, now)
	after := contents(t, dir)
	if after.authority == before.authority || after.server == before.server || after.client == before.client {
		t.Fatal("an old authority was kept, or what it signed")
	}
	check("after the rotation")
	// A process that dies in the middle of a rotation leaves certificates of the authority before.
	put(t, dir, serverFile, before.server)
	check("with a server from before")
	put(t, dir, clientFile, before.client)
	check("with both from before")
	ensure(t, dir, now)
	if got := contents(t, dir); got.server == before.server || got.client == before.client || got.authority != after.authority {
		t.Error("leaves of the authority before were kept")
	}
	check("after the rotation was gone on with")
	if err := os.Remove(Client(dir).Cert); err != nil {
		t.Fatal(err)
	}
	check("while a file is missing")
}

type files struct{ authority, server, client string }

func contents(t *testing.T, dir string) (f files) {
	t.Helper()
	for name, into := range map[string]*string{authorityFile: &f.authority, serverFile: &f.server, clientFile: &f.client} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		*into = string(text)
	}
	return f
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := write(dir, name, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyElseReadsThem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ensure(t, dir, time.Now())
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 {
		t.Fatalf("%v %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), info.Mode(), err)
		}
	}
}
