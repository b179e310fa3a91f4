package app

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAServerThatNobodyReachesSaysSo ends a listener under a server.
func TestAServerThatNobodyReachesSaysSo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed below
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan struct{})
	f := &Front{server: &http.Server{ReadHeaderTimeout: time.Second}, fail: sync.OnceFunc(func() { close(failed) })}
	f.serve(func() error { return f.server.Serve(l) })
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-failed:
	case <-time.After(time.Minute):
		t.Fatal("it goes on as if it could be reached")
	}
	f.serves.Wait()
	if !errors.Is(f.failed, net.ErrClosed) {
		t.Errorf("why: %v", f.failed)
	}
}

// TestANodeIsClosedOnce closes one twice, as those do who open it in vain.
func TestANodeIsClosedOnce(t *testing.T) {
	closed := 0
	n := &Node{closers: []func() error{func() error { closed++; return nil }}}
	if err := errors.Join(n.Close(), n.Close()); err != nil || closed != 1 {
		t.Errorf("closed %d times, %v", closed, err)
	}
}

// TestAServerThatCannotBeginLetsGo takes the port for health: the server says so, and has left its
// own port and its parts.
func TestAServerThatCannotBeginLetsGo(t *testing.T) {
	f, n := localFront(t)
	settings := &n.options.Loaded.Settings.Serve
	settings.Address, settings.Health = "127.0.0.1:0", strings.TrimPrefix(f.Health, "http://")
	if second, err := n.Serve(t.Context(), FrontOptions{Version: "test"}); err == nil || !strings.Contains(err.Error(), "serve.health") ||
		!strings.Contains(err.Error(), "is taken") {
		t.Errorf("a second server: %v, %v", second, err)
	}
}
