package listener

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/retinue-dev/retinue/internal/api/identity"
)

// TestTheSocketVouchesForItsUser comes in through the socket, and beside it.
func TestTheSocketVouchesForItsUser(t *testing.T) {
	dir, err := os.MkdirTemp("", "rt") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, err := OpenSocket(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close() //nolint:errcheck // nothing is left to lose
	caller, err := (&net.Dialer{}).DialContext(t.Context(), "unix", filepath.Join(dir, SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close() //nolint:errcheck // as above
	taken, err := socket.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // as above
	local := identity.Local{Tenant: "local", User: "me", Token: "secret"}
	known := func(conn net.Conn) error {
		_, err := local.Identify(httptest.NewRequestWithContext(MarkPeer(context.Background(), conn), "GET", "/", nil))
		return err
	}
	if err := known(taken); err != nil {
		t.Errorf("the same user is not known: %v", err)
	}
	if err := known(caller); err == nil {
		t.Error("a connection that came another way is known without a token")
	}
}
