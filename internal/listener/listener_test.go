package listener

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestServersStayWhereTheyAreSought takes the usual port: a server that others look for there must
// not move away in silence. It is not the one of this machine, which others take and leave
// meanwhile.
func TestServersStayWhereTheyAreSought(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed below
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close() //nolint:errcheck // nothing is left to lose
	usual := busy.Addr().String()
	if l, err := Open(t.Context(), "", usual, false); err == nil || !strings.Contains(err.Error(), "is taken: end what listens there") {
		t.Errorf("a port that is taken: %v, %v", l, err)
	}
	l, err := Open(t.Context(), "", usual, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), usual, usual, true); err == nil {
		t.Error("it moved away from an address that the settings name")
	}
}

func TestServersAreBounded(t *testing.T) {
	s := NewServer(http.NotFoundHandler())
	got := []any{s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout, s.MaxHeaderBytes, s.HTTP2.MaxConcurrentStreams}
	want := []any{5 * time.Second, 30 * time.Second, 30 * time.Second, 2 * time.Minute, 32 << 10, 100}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoSocketIsLeftAlone(t *testing.T) {
	dir, err := os.MkdirTemp("", "rt") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, SocketName)
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSocket(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a link was taken: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	first, err := OpenSocket(t.Context(), dir)
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if second, err := OpenSocket(t.Context(), dir); second != nil || err != nil {
		t.Errorf("two have it: %v %v", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLocalModeStaysOnTheMachine(t *testing.T) {
	for _, address := range []string{"0.0.0.0:7433", ":7433", "[::]:7433", "192.168.1.7:7433", "example.org:7433"} {
		if LoopbackOnly(address) == nil {
			t.Errorf("%s was taken", address)
		}
	}
	for _, address := range []string{"", "127.0.0.1:0", "127.8.8.8:1", "[::1]:7433", "localhost:7433"} {
		if err := LoopbackOnly(address); err != nil {
			t.Error(err)
		}
	}
}
