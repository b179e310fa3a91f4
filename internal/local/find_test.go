package local

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/config"
)

// TestAServerIsFoundWhereItWorks looks for the server of a folder before and after it runs, and for
// one that works in a workspace.
func TestAServerIsFoundWhereItWorks(t *testing.T) {
	dir, err := os.MkdirTemp("", "rt") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := config.Settings{DataDir: dir}
	if FindServer(t.Context(), s, "") != nil {
		t.Error("a server was found where none runs")
	}
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", SocketPath(s))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	})}
	go func() { _ = server.Serve(socket) }()
	t.Cleanup(func() { _ = server.Close() })
	owner := Owner{PID: os.Getpid(), Address: "127.0.0.1:1", Workspaces: []string{"shop"}}
	if err := writeOwner(filepath.Join(dir, ownerFile), owner); err != nil {
		t.Fatal(err)
	}
	for workspace, want := range map[string]bool{"": true, "shop": true, "elsewhere": false} {
		if got := FindServer(t.Context(), s, workspace) != nil; got != want {
			t.Errorf("a server for the workspace %q was found: %t", workspace, got)
		}
	}
}
