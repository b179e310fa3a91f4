package mcp

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/egress"
)

// TestAServerSendsOnlyItsOwnSecrets goes the way out of a server's sandbox with its own secret and
// with another's.
func TestAServerSendsOnlyItsOwnSecrets(t *testing.T) {
	var arrived []string
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived = append(arrived, r.Header.Get("Authorization"))
	}))
	defer site.Close()
	e := Entry{Name: "forge", Env: map[string]Text{"TOKEN": {Reference: "{env:FORGE}", Reveal: func() (string, []string, error) {
		return "own-token", []string{"own-token"}, nil
	}}}}
	r, err := e.reveal()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Leaks: func(given []string) (egress.Leaks, error) {
		return func(text string) string {
			for _, known := range []string{"own-token", "other-token"} {
				if strings.Contains(text, known) && !strings.Contains(strings.Join(given, " "), known) {
					return "the secret " + known[:5]
				}
			}
			return ""
		}, nil
	}}
	at := strings.TrimPrefix(site.URL, "http://")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, network, shut, err := o.openGate(ctx, []string{at}, nil, r.secrets)
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	for token, want := range map[string]int{"own-token": http.StatusOK, "other-token": http.StatusForbidden} {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", network.Socket)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET http://%[1]s/ HTTP/1.1\r\nHost: %[1]s\r\nAuthorization: Bearer %[2]s\r\nConnection: close\r\n\r\n", at, token)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		_ = conn.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %s", token, response.Status)
		}
	}
	if len(arrived) != 1 || arrived[0] != "Bearer own-token" {
		t.Errorf("the server was sent %v", arrived)
	}
}
