//go:build services && linux

package sandbox

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/egress"
)

// here resolves every name to this machine.
type here struct{}

// LookupNetIP implements egress.Resolver.
func (here) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// gated starts an egress proxy that lets programs to the two servers by the name open.example only.
func gated(t *testing.T, socket string, servers ...*httptest.Server) {
	t.Helper()
	rule := egress.Rule{Host: "open.example"}
	var local []netip.AddrPort
	for _, server := range servers {
		address := netip.MustParseAddrPort(server.Listener.Addr().String())
		rule.Ports, local = append(rule.Ports, address.Port()), append(local, address)
	}
	gate, err := egress.New(egress.Policy{Allow: []egress.Rule{rule}, Local: local, Resolver: here{}})
	must(t, err)
	listener, err := egress.Listen(socket)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- gate.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		gate.Close()
	})
}

func TestTheProxyIsTheOnlyWayOut(t *testing.T) {
	b, dir := openBox(t, TierBubblewrap), tempDir(t)
	work, socket := filepath.Join(dir, "work"), filepath.Join(dir, "egress.sock")
	must(t, os.Mkdir(work, 0o755))
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello "+r.Host) })
	plain, secure := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	gated(t, socket, plain, secure)
	number := func(s *httptest.Server) string {
		return strconv.Itoa(int(netip.MustParseAddrPort(s.Listener.Addr().String()).Port()))
	}
	run := func(script string) Outcome {
		t.Helper()
		outcome, err := b.Run(t.Context(), Command{
			Argv: shell(script), Workspace: work, Network: &Network{Socket: socket},
			Env: []string{"SELF=" + initPath, "PORT=" + number(plain), "TLS=" + number(secure), "SECRET=" + port(t, "tcp", "127.0.0.1:0")},
		})
		must(t, err)
		return outcome
	}
	for way, want := range map[string]string{
		`curl -sS http://open.example:$PORT/`:   "hello open.example:" + number(plain),
		`curl -sSk https://open.example:$TLS/`:  "hello open.example:" + number(secure),
		`curl -sS http://closed.example:$PORT/`: "egress: no rule allows GET to closed.example, port " + number(plain) + "\n",
		`curl -sS http://open.example:$SECRET/`: "egress: no rule allows GET to open.example",
		`curl -sS http://127.0.0.1:$PORT/`:      "egress: no rule allows GET to 127.0.0.1",
		`env | grep ^https_proxy`:               "https_proxy=http://127.0.0.1:",
		`for i in 1 2 3 4 5 6 7 8; do curl -sS http://open.example:$PORT/ >/dev/null & done; wait; echo all`: "all",
	} {
		if o := run(way); !strings.HasPrefix(o.Stdout.String(), want) {
			t.Errorf("%s: code %d, %q, %s; want %q", way, o.Code, o.Stdout, o.Stderr, want)
		}
	}
	for _, way := range []string{
		`curl -sSk https://closed.example:$TLS/`,
		`curl -sS --noproxy '*' http://127.0.0.1:$PORT/ | grep hello`, // the sandbox's own proxy may have the same port inside
		`$SELF attempt tcp 127.0.0.1:$SECRET`,
		`$SELF attempt unix ` + egressPath,
		`$SELF attempt unix ` + socket,
		`getent hosts open.example`,
		`echo x > ` + egressPath,
		`rm -f ` + egressPath,
	} {
		if o := run(way); o.Code == 0 {
			t.Errorf("%s worked: %s", way, o.Stdout)
		}
	}
}
