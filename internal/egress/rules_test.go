package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/measure"
)

func TestRulesNameWhatTheyAllow(t *testing.T) {
	cases := []struct {
		rule    Rule
		method  string
		address string
		want    bool
	}{
		{Rule{Host: "a.example"}, "GET", "http://a.example/", true},
		{Rule{Host: "a.example"}, "GET", "https://a.example/", true},
		{Rule{Host: "A.Example."}, "GET", "https://a.example/", true},
		{Rule{Host: "a.example"}, "GET", "https://A.EXAMPLE./", true},
		{Rule{Host: "a.example"}, "GET", "https://a.example:8443/", false},
		{Rule{Host: "a.example", Ports: []uint16{8443}}, "GET", "https://a.example:8443/", true},
		{Rule{Host: "a.example", Ports: []uint16{8443}}, "GET", "https://a.example/", false},
		{Rule{Host: "a.example"}, "GET", "https://b.a.example/", false},
		{Rule{Host: "a.example"}, "GET", "https://a.example.evil.example/", false},
		{Rule{Host: "*.a.example"}, "GET", "https://b.a.example/", true},
		{Rule{Host: "*.a.example"}, "GET", "https://c.b.a.example/", true},
		{Rule{Host: "*.a.example"}, "GET", "https://a.example/", false},
		{Rule{Host: "*.a.example"}, "GET", "https://ba.example/", false},
		{Rule{Host: "*"}, "GET", "https://a.example/", true},
		{Rule{Host: "a.example", Methods: []string{"GET"}}, "POST", "https://a.example/", false},
		{Rule{Host: "a.example", Methods: []string{"GET"}}, "GET", "https://a.example/", true},
		{Rule{Host: "a.example", PathPrefix: "/x"}, "GET", "https://a.example/x/y", true},
		{Rule{Host: "a.example", PathPrefix: "/x"}, "GET", "https://a.example/xy", false},
		{Rule{Host: "a.example", PathPrefix: "/x/"}, "GET", "https://a.example/x/y", true},
		{Rule{Host: "a.example", PathPrefix: "/x"}, "GET", "https://a.example/x/../y", false},
		{Rule{Host: "a.example", PathPrefix: "/x"}, "GET", "https://a.example/x/%2e%2e/y", false},
		{Rule{Host: "a.example", PathPrefix: "/x"}, "GET", "https://a.example/x/..%2fy", false},
		{Rule{Host: "a.example", PathPrefix: "/x"}, "GET", "https://a.example/x//y", false},
		{Rule{Host: "a.example"}, "GET", "https://user@a.example/", false},
		{Rule{Host: "a.example"}, "GET", "https://user:secret@a.example/", false},
		{Rule{Host: "a.example", Ports: []uint16{443}}, "GET", "ftp://a.example:443/", false},
		{Rule{}, "GET", "https://a.example/", false},
	}
	for _, c := range cases {
		policy := Policy{}
		if c.rule.Host != "" {
			policy.Allow = []Rule{c.rule}
		}
		gate, err := New(policy)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), c.method, c.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := gate.admit(request); (err == nil) != c.want {
			t.Errorf("%+v, %s %s: %v", c.rule, c.method, c.address, err)
		}
	}
}

func TestRulesThatSayNothingSensibleAreRefused(t *testing.T) {
	for _, host := range []string{"", "*.", "a b", "0x7f.1", "a.example/", "http://a.example", "[::1]", "é.example", "*.*.example"} {
		if _, err := New(Policy{Allow: []Rule{{Host: host}}}); err == nil {
			t.Errorf("%q was accepted", host)
		}
	}
	if _, err := New(Policy{Allow: []Rule{{Host: "a.example", PathPrefix: "x"}}}); err == nil {
		t.Error("a relative path prefix was accepted")
	}
}

func TestAnotherHostHeaderIsRefused(t *testing.T) {
	gate, err := New(Policy{Allow: []Rule{{Host: "a.example"}}})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "b.example"
	if _, err := gate.Client().Do(request); codeOf(err) != chat.CodeDenied { //nolint:bodyclose // there is none
		t.Errorf("got %v, want it denied", err)
	}
}

func TestTheProxyKeepsToMethodsAndPaths(t *testing.T) {
	server, address, hits := secretServer(t)
	gate, err := New(Policy{
		Allow: []Rule{{Host: "127.0.0.1", Ports: []uint16{address.Port()}, Methods: []string{"GET"}, PathPrefix: "/open"}},
		Local: []netip.AddrPort{address},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := viaProxy(t, gate)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/open/x", http.StatusOK},
		{"POST", "/open/x", http.StatusForbidden},
		{"GET", "/closed", http.StatusForbidden},
		{"GET", "/open/../closed", http.StatusForbidden},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, response.StatusCode, c.want)
		}
	}
	if hits() != 1 {
		t.Errorf("the server was reached %d times", hits())
	}
}

func TestATunnelNeedsARuleWithoutMethodAndPath(t *testing.T) {
	_, address, _ := secretServer(t)
	port := []uint16{address.Port()}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Host: "127.0.0.1", Ports: port}, "200"},
		{Rule{Host: "127.0.0.1", Ports: port, Methods: []string{"GET", "CONNECT"}}, "403"},
		{Rule{Host: "127.0.0.1", Ports: port, PathPrefix: "/"}, "403"},
		{Rule{Host: "127.0.0.1"}, "403"},
		{Rule{Host: "a.example", Ports: port}, "403"},
	} {
		gate, err := New(Policy{Allow: []Rule{c.rule}, Local: []netip.AddrPort{address}})
		if err != nil {
			t.Fatal(err)
		}
		conn := dialUnix(t, serve(t, gate))
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, c.want) {
			t.Errorf("%+v: %q, %v; want %s", c.rule, line, err, c.want)
		}
	}
}

func TestAGateTellsWhereItLeadsBeforeItDoes(t *testing.T) {
	_, address, _ := secretServer(t)
	whole, err := New(Policy{Allow: []Rule{{Host: "127.0.0.1", Ports: []uint16{address.Port()}}}, Local: []netip.AddrPort{address}})
	if err != nil {
		t.Fatal(err)
	}
	var told []Target
	gate := whole.For(func(_ context.Context, to Target) error {
		told = append(told, to)
		return nil
	}, nil)
	want := Target{Host: "127.0.0.1", Port: address.Port()}
	for range 2 {
		conn := dialUnix(t, serve(t, gate))
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\nGET / HTTP/1.0\r\n\r\n", address, address)
		all, err := io.ReadAll(conn)
		if err != nil || !strings.HasSuffix(string(all), "secret") {
			t.Errorf("%q, %v", all, err)
		}
		_ = conn.Close()
	}
	if len(told) != 1 || told[0] != want {
		t.Errorf("told of %+v", told)
	}
	if all := gate.Traffic(); len(all) != 1 || all[0].Target != want || all[0].Sent != 2*18 || all[0].Received == 0 {
		t.Errorf("traffic: %+v", all)
	}
	if all := whole.Traffic(); len(all) != 0 {
		t.Errorf("the gate that it was made from has %+v", all)
	}
}

func TestNothingIsReachedThatCannotBeRecorded(t *testing.T) {
	wall := measure.NewWall(t, "1.12")
	_, address, hits := secretServer(t)
	whole, err := New(Policy{Allow: []Rule{{Host: "127.0.0.1", Ports: []uint16{address.Port()}}}, Local: []netip.AddrPort{address}})
	if err != nil {
		t.Fatal(err)
	}
	gate := whole.For(func(context.Context, Target) error { return errors.New("the journal is away") }, nil)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead} {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address.String()+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := gate.Client().Do(request)
		wall.Try(codeOf(err) != chat.CodeUnavailable || hits() != 0, "%s: %v, %v; it was reached %d times", method, response, err, hits())
	}
	for _, asked := range []string{"CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", "GET http://%[1]s/ HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n"} {
		conn := dialUnix(t, serve(t, gate))
		fmt.Fprintf(conn, asked, address)
		line, err := bufio.NewReader(conn).ReadString('\n')
		wall.Try(err != nil || strings.Contains(line, " 200 ") || hits() != 0, "through the proxy, %q: %q, %v; it was reached %d times", asked, line, err, hits())
		_ = conn.Close()
	}
}

func TestABudgetEndsWhatComesAndWhatGoes(t *testing.T) {
	wall := measure.NewWall(t, "1.12")
	_, address, _ := secretServer(t)
	gate, err := New(Policy{
		Allow: []Rule{{Host: "127.0.0.1", Ports: []uint16{address.Port()}}}, Local: []netip.AddrPort{address}, Budget: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := gate.Client()
	post := func(size int) error {
		body := strings.NewReader(strings.Repeat("x", size))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address.String()+"/", body)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	if err := post(100); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{5000, 1, 100_000} { // over the budget, and when it is used up
		err := post(size)
		wall.Try(codeOf(err) != chat.CodeLimit, "%d bytes: %v, want the limit", size, err)
	}
	client = gate.For(nil, nil).Client()
	if err := post(100); err != nil {
		t.Errorf("another gate of the same policy has a budget of its own: %v", err)
	}
}

func TestPublicAddresses(t *testing.T) {
	for _, text := range []string{"93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450::1"} {
		if !Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is public", text)
		}
	}
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.192", "192.168.1.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::ffff:1.1.1.1", "::1.1.1.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1", "ff02::1",
		"64:ff9b::1.1.1.1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "2606:4700::200:5efe:7f00:1",
		"2606:4700::5efe:10.0.0.1", "100::1", "5f00::1",
	} {
		if Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is not public")
	}
}

// FuzzTarget looks for an address that is let pass and read differently by two parsers.
func FuzzTarget(f *testing.F) {
	for _, c := range hostile {
		f.Add(c.url)
	}
	f.Add("https://a.example:443/x?y#z")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		gate, err := New(Policy{})
		if err != nil {
			t.Fatal(err)
		}
		host, port, err := gate.target(u)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || port == 0 || u.User != nil {
			t.Errorf("%q was let pass", text)
		}
		again, err := url.Parse("http://" + joinPort(host, port))
		if err != nil {
			t.Fatalf("%q gives host %q, which is no host: %v", text, host, err)
		}
		if same, samePort, err := gate.target(again); err != nil || same != host || samePort != port {
			t.Errorf("%q gives %q, then %q, %v", text, host, same, err)
		}
		if strings.ToLower(host) != host || strings.ContainsAny(host, "\x00\r\n\t /\\@%?#") {
			t.Errorf("%q gives host %q", text, host)
		}
	})
}

// FuzzPublic looks for an address that carries one inside and is called public.
func FuzzPublic(f *testing.F) {
	for _, text := range []string{"127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2001:0:a00:1::"} {
		b := netip.MustParseAddr(text).As16()
		f.Add(b[:])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok || !Public(a) {
			return
		}
		if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() ||
			!a.IsGlobalUnicast() || a.Is4In6() {
			t.Errorf("%s is called public", a)
		}
		if mapped := netip.AddrFrom16(a.As16()); a.Is4() && Public(mapped) {
			t.Errorf("%s is called public", mapped)
		}
	})
}

func dialUnix(t *testing.T, path string) net.Conn {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(context.Background(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
