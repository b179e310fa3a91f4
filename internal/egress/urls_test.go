package egress

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
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/measure"
)

// names plays DNS: each lookup of a name takes the next of its answers, and stays with the last.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[string]int
}

// LookupNetIP implements Resolver.
func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host = strings.TrimSuffix(host, ".")
	answers := n.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	at := min(n.asked[host], len(answers)-1)
	n.asked[host]++
	var found []netip.Addr
	for _, text := range answers[at] {
		found = append(found, netip.MustParseAddr(text))
	}
	return found, nil
}

// secretServer is a server on this machine, which must not be reached.
func secretServer(t *testing.T) (server *httptest.Server, address netip.AddrPort, hits func() int) {
	t.Helper()
	var mu sync.Mutex
	count := 0
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		count++
		mu.Unlock()
		_, _ = io.WriteString(w, "secret")
	}))
	t.Cleanup(server.Close)
	return server, netip.MustParseAddrPort(server.Listener.Addr().String()), func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

// hostile are addresses that lead, or could be read to lead, to the server on 127.0.0.1 or to
// another place that is not public. PORT is the server's.
var hostile = []struct{ name, url string }{
	{"loopback", "http://127.0.0.1:PORT/"},
	{"loopback by name", "http://localhost:PORT/"},
	{"loopback elsewhere in its range", "http://127.8.8.8:PORT/"},
	{"loopback in IPv6", "http://[::1]:PORT/"},
	{"unspecified", "http://0.0.0.0:PORT/"},
	{"unspecified in IPv6", "http://[::]:PORT/"},
	{"short", "http://127.1:PORT/"},
	{"decimal", "http://2130706433:PORT/"},
	{"hexadecimal", "http://0x7f000001:PORT/"},
	{"octal", "http://0177.0.0.1:PORT/"},
	{"mixed", "http://0x7f.0.0.1:PORT/"},
	{"mapped", "http://[::ffff:127.0.0.1]:PORT/"},
	{"mapped in hexadecimal", "http://[::ffff:7f00:1]:PORT/"},
	{"compatible", "http://[::127.0.0.1]:PORT/"},
	{"NAT64", "http://[64:ff9b::7f00:1]:PORT/"},
	{"local NAT64", "http://[64:ff9b:1::7f00:1]:PORT/"},
	{"6to4", "http://[2002:7f00:1::]:PORT/"},
	{"Teredo", "http://[2001:0:7f00:1::]:PORT/"},
	{"zone", "http://[fe80::1%25lo]:PORT/"},
	{"metadata service", "http://169.254.169.254/latest/meta-data/"},
	{"metadata service of another cloud", "http://168.63.129.16/"},
	{"private", "http://10.0.0.1/"},
	{"carrier's network", "http://100.100.100.200/"},
	{"full-width digits", "http://１２７.０.０.１:PORT/"},
	{"user name that looks like a host", "http://allowed.example@127.0.0.1:PORT/"},
	{"NUL in the host", "http://127.0.0.1%00.allowed.example:PORT/"},
	{"another scheme", "file:///etc/passwd"},
	{"a name that leads here", "http://inside.example:PORT/"},
	{"a name with one address that leads here", "http://half.example:PORT/"},
	{"a name that answers a mapped address", "http://mapped.example:PORT/"},
	{"a name that leads here the second time", "http://rebind.example:PORT/"},
	{"gopher", "gopher://127.0.0.1:PORT/_GET"},
	{"trailing dot", "http://localhost.:PORT/"},
	{"backslash", `http://allowed.example\@127.0.0.1:PORT/`},
	{"ISATAP", "http://[2606:4700::5efe:7f00:1]:PORT/"},
	{"mixed octal and short", "http://0177.1:PORT/"},
	{"octal with many zeros", "http://0000000177.0.0.1:PORT/"},
	{"hexadecimal in capitals", "http://0X7F.0.0.0X1:PORT/"},
	{"private in IPv6", "http://[fd00:ec2::254]/latest/meta-data/"},
	{"broadcast", "http://255.255.255.255/"},
	{"NUL after the host", "http://allowed.example%00@127.0.0.1:PORT/"},
	{"no such port", "http://127.0.0.1:0/"},
	{"a redirect inside", "http://REDIRECT/inside"},
	{"a redirect to the metadata service", "http://REDIRECT/metadata"},
	{"a redirect to a name that leads inside", "http://REDIRECT/name"},
	{"a redirect to another scheme", "http://REDIRECT/file"},
}

// leastCases is how many ways in are tried at least.
const leastCases = 28

func hostileNames() *names {
	return &names{answers: map[string][][]string{
		"localhost":       {{"127.0.0.1"}},
		"inside.example":  {{"127.0.0.1"}},
		"half.example":    {{"93.184.216.34", "127.0.0.1"}},
		"mapped.example":  {{"::ffff:127.0.0.1"}},
		"allowed.example": {{"127.0.0.1"}},
		// The first answer is checked and refused for its documentation range; only code that
		// resolves the name again would use the second.
		"rebind.example": {{"203.0.113.7"}, {"127.0.0.1"}},
	}}
}

func TestNoAddressLeadsInside(t *testing.T) {
	_, address, hits := secretServer(t)
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		t.Fatal(err)
	}
	leads := httptest.NewServer(redirects(port))
	t.Cleanup(leads.Close)
	outside := netip.MustParseAddrPort(leads.Listener.Addr().String())
	ports := []uint16{80, 443, address.Port(), outside.Port()}
	gate, err := New(Policy{
		Allow: []Rule{{Host: "*", Ports: ports}}, Local: []netip.AddrPort{outside}, Resolver: hostileNames(),
	})
	if err != nil {
		t.Fatal(err)
	}
	proxied := viaProxy(t, gate)
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			target := strings.NewReplacer("PORT", port, "REDIRECT", outside.String()).Replace(c.url)
			for who, client := range map[string]*http.Client{"client": gate.Client(), "proxy": proxied} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
				if err != nil {
					continue // refused by the parser is refused
				}
				response, err := client.Do(request)
				if err != nil {
					continue
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || response.StatusCode == http.StatusOK || strings.Contains(string(body), "secret") {
					t.Errorf("%s: %s answered %d %q", who, target, response.StatusCode, body)
				}
			}
		})
	}
	if hits() != 0 {
		t.Errorf("the server inside was reached %d times", hits())
	}
	measure.Figure(t, "escape: %d addresses, each through the client and through the proxy: %d reached the server inside", len(hostile), hits())
	if len(hostile) < leastCases {
		t.Errorf("%d addresses were tried, and there should be %d", len(hostile), leastCases)
	}
}

// redirects is a server that may be reached and sends its caller to where nobody may go.
func redirects(port string) http.Handler {
	mux := http.NewServeMux()
	for path, to := range map[string]string{
		"/inside": "http://127.0.0.1:" + port + "/", "/metadata": "http://169.254.169.254/latest/meta-data/",
		"/name": "http://inside.example:" + port + "/", "/file": "file:///etc/passwd",
	} {
		mux.Handle(path, http.RedirectHandler(to, http.StatusFound))
	}
	return mux
}

// TestTheServerInsideCanBeReached is the control of the test above: with the address allowed by
// name, the same requests arrive.
func TestTheServerInsideCanBeReached(t *testing.T) {
	server, address, _ := secretServer(t)
	gate, err := New(Policy{
		Allow: []Rule{{Host: "*", Ports: []uint16{address.Port()}}}, Local: []netip.AddrPort{address}, Resolver: hostileNames(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []*http.Client{gate.Client(), viaProxy(t, gate)} {
		for _, target := range []string{server.URL, "http://inside.example:" + server.URL[strings.LastIndex(server.URL, ":")+1:]} {
			if body := fetch(t, client, target); body != "secret" {
				t.Errorf("%s answered %q", target, body)
			}
		}
	}
}

func TestARedirectIsCheckedLikeAFirstRequest(t *testing.T) {
	_, inside, hits := secretServer(t)
	redirect := httptest.NewServer(http.RedirectHandler("http://"+inside.String()+"/", http.StatusFound))
	defer redirect.Close()
	outside := netip.MustParseAddrPort(redirect.Listener.Addr().String())
	gate, err := New(Policy{
		Allow: []Rule{{Host: "*", Ports: []uint16{inside.Port(), outside.Port()}}}, Local: []netip.AddrPort{outside},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []*http.Client{gate.Client(), viaProxy(t, gate)} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, redirect.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				t.Error("the redirect was followed inside")
			}
		}
	}
	if hits() != 0 {
		t.Errorf("the server inside was reached %d times", hits())
	}
}

// TestANameIsResolvedOnce plays the name that is public when it is checked and inside when it is
// dialled.
func TestANameIsResolvedOnce(t *testing.T) {
	_, inside, hits := secretServer(t)
	decoy := httptest.NewServer(http.NotFoundHandler())
	defer decoy.Close()
	resolver := &names{answers: map[string][][]string{"rebind.example": {{"127.0.0.2"}, {"127.0.0.1"}}}}
	// 127.0.0.2 stands for the public address: it is allowed, and nobody listens there.
	allowed := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), inside.Port())
	gate, err := New(Policy{
		Allow: []Rule{{Host: "*", Ports: []uint16{inside.Port()}}}, Local: []netip.AddrPort{allowed}, Resolver: resolver,
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := gate.connect(t.Context(), "rebind.example", inside.Port())
	if err == nil {
		_ = conn.Close()
	}
	if hits() != 0 || resolver.asked["rebind.example"] != 1 {
		t.Errorf("reached %d times, resolved %d times", hits(), resolver.asked["rebind.example"])
	}
	if conn, err = gate.connect(t.Context(), "rebind.example", inside.Port()); err == nil {
		_ = conn.Close()
		t.Error("the second answer, which is inside, was dialled")
	}
	if err := gate.control("tcp4", inside.String(), nil); err == nil {
		t.Error("the socket's own check lets loopback pass")
	}
}

// TestOneAddressInsideSpoilsAName has a name of which one address is allowed and would answer.
func TestOneAddressInsideSpoilsAName(t *testing.T) {
	_, address, hits := secretServer(t)
	resolver := &names{answers: map[string][][]string{"half.example": {{"127.0.0.1", "127.0.0.2"}}}}
	gate, err := New(Policy{
		Allow: []Rule{{Host: "*", Ports: []uint16{address.Port()}}}, Local: []netip.AddrPort{address}, Resolver: resolver,
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := gate.connect(t.Context(), "half.example", address.Port())
	if err == nil {
		_ = conn.Close()
	}
	if chat.CodeOf(err) != chat.CodeDenied || hits() != 0 {
		t.Errorf("got %v and %d hits, want it denied", err, hits())
	}
}

func TestHeadersAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("a", 2*maxHeaderBytes))
	}))
	t.Cleanup(server.Close)
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	gate, err := New(Policy{Allow: []Rule{{Host: "*", Ports: []uint16{at.Port()}}}, Local: []netip.AddrPort{at}})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := gate.Client().Do(request)
	if err == nil {
		_ = response.Body.Close()
		t.Errorf("headers of %d bytes were taken", 2*maxHeaderBytes)
	}
}

func TestTheEnvironmentNamesNoProxy(t *testing.T) {
	_, address, _ := secretServer(t)
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	t.Setenv("http_proxy", "http://192.0.2.1:1")
	gate, err := New(Policy{
		Allow: []Rule{{Host: "inside.example", Ports: []uint16{address.Port()}}}, Local: []netip.AddrPort{address}, Resolver: hostileNames(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if gate.transport.Proxy != nil { // the standard library reads the environment once, so the request alone may miss it
		t.Error("the transport asks for a proxy")
	}
	if body := fetch(t, gate.Client(), "http://"+joinPort("inside.example", address.Port())); body != "secret" {
		t.Errorf("answered %q", body)
	}
}

func fetch(t *testing.T, client *http.Client, target string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// viaProxy is a program's client: it sends everything to the gate's socket.
func viaProxy(t *testing.T, gate *Gate) *http.Client {
	t.Helper()
	listener := serve(t, gate)
	transport := &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.invalid:1"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", listener)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func serve(t *testing.T, gate *Gate) string {
	t.Helper()
	path := t.TempDir() + "/egress.sock"
	listener, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
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
	return path
}

func codeOf(err error) chat.Code {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return chat.CodeOf(err)
}
