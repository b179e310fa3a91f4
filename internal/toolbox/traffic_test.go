package toolbox

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/egress"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/tool"
)

// dialler is a tool that asks for a page as a program in the sandbox does: through the proxy that
// was opened for it.
type dialler struct {
	gate *egress.Gate
	page string
}

func (dialler) Definition() tool.Definition {
	return tool.Definition{Name: "dial", Description: "Asks for a page.", Class: chat.ClassPure, Schema: []byte(`{"type": "object"}`)}
}

func (d dialler) Run(ctx context.Context, _ tool.Call) (tool.Result, error) {
	network, closeNetwork, err := openProxy(ctx, d.gate)
	if err != nil {
		return tool.Result{}, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", network.Socket)
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.page, nil)
	if err != nil {
		return tool.Result{}, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return tool.Result{}, errors.Join(err, closeNetwork())
	}
	text, err := io.ReadAll(response.Body)
	return tool.Result{Text: string(text)}, errors.Join(err, response.Body.Close(), closeNetwork())
}

// TestWhatACommandReachesIsOnItsRecord runs two calls through one gate: each has a record and a
// budget of its own, and a host that cannot be recorded is not reached.
func TestWhatACommandReachesIsOnItsRecord(t *testing.T) {
	wall := measure.NewWall(t, "1.12")
	hits := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits++
		_, _ = io.WriteString(w, strings.Repeat("x", 600))
	}))
	defer site.Close()
	at := netip.MustParseAddrPort(site.Listener.Addr().String())
	gate, err := egress.New(egress.Policy{
		Allow: []egress.Rule{{Host: at.Addr().String(), Ports: []uint16{at.Port()}}}, Local: []netip.AddrPort{at}, Budget: 1500,
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(tool.Options{}, dialler{gate, site.URL})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	run := func(refuse error) tool.Result {
		r, err := set.Run(t.Context(), tool.Call{ID: "1", Tool: "dial", Args: []byte(`{}`), Reach: func(_ context.Context, host string, port uint16) error {
			told = append(told, netip.AddrPortFrom(netip.MustParseAddr(host), port).String())
			return refuse
		}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for range 3 {
		r := run(nil)
		if h := r.Facts.Reached; !strings.HasPrefix(r.Text, "xxx") || len(h) != 1 || h[0].Name != at.Addr().String() || h[0].Port != at.Port() ||
			h[0].Sent == 0 || h[0].Received < 600 {
			t.Errorf("%s %q %+v", r.End, r.Text, r.Facts)
		}
	}
	if len(told) != 3 || told[0] != at.String() || hits != 3 {
		t.Errorf("told of %v, reached %d times", told, hits)
	}
	r := run(errors.New("the journal is away"))
	wall.Try(!strings.Contains(r.Text, "the journal is away") || len(r.Facts.Reached) != 0 || hits != 3, "%q %+v, reached %d times", r.Text, r.Facts, hits)
}
