//go:build services

package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/people"
)

// TestForgedRequests sends what a browser sends when another page makes it.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	owner := w.person("owner", "", "")
	session := "rt=" + w.session(owner, owner.Home())
	_, key := w.key(owner, owner.Home(), time.Hour, people.AllScopes()...)
	own := w.server.URL
	const evil = "https://evil.example"
	cases := []struct {
		name   string
		method string
		path   string
		header map[string]string
		want   int
	}{
		{"our own page", "POST", "/v1/keys", map[string]string{"Cookie": session, "Retinue-Request": "1", "Origin": own, "Sec-Fetch-Site": "same-origin"}, 201},
		{"a program with a cookie and the header", "POST", "/v1/keys", map[string]string{"Cookie": session, "Retinue-Request": "1"}, 201},
		{"a program with a key", "POST", "/v1/keys", map[string]string{"Authorization": "Bearer " + key}, 201},
		{"a form of our own page, without the header", "POST", "/v1/keys", map[string]string{"Cookie": session, "Origin": own, "Sec-Fetch-Site": "same-origin"}, 403},
		{"a browser that says nothing, without the header", "POST", "/v1/keys", map[string]string{"Cookie": session}, 403},
		{"an empty header", "POST", "/v1/keys", map[string]string{"Cookie": session, "Retinue-Request": ""}, 403},
		{"another page, which knows the header", "POST", "/v1/keys", map[string]string{"Cookie": session, "Retinue-Request": "1", "Origin": evil, "Sec-Fetch-Site": "cross-site"}, 403},
		{"another page in an old browser", "POST", "/v1/keys", map[string]string{"Cookie": session, "Retinue-Request": "1", "Origin": evil}, 403},
		{"a page of a sibling host", "POST", "/v1/keys", map[string]string{"Cookie": session, "Retinue-Request": "1", "Sec-Fetch-Site": "same-site"}, 403},
		{"a page without an origin", "POST", "/v1/keys", map[string]string{"Cookie": session, "Retinue-Request": "1", "Origin": "null"}, 403},
		{"another page with a key", "POST", "/v1/keys", map[string]string{"Authorization": "Bearer " + key, "Origin": evil, "Sec-Fetch-Site": "cross-site"}, 403},
		{"a put", "PUT", "/v1/members/m1/role", map[string]string{"Cookie": session}, 403},
		{"a delete", "DELETE", "/v1/keys/k1", map[string]string{"Cookie": session}, 403},
		{"a command", "POST", "/v1/conversations", map[string]string{"Cookie": session}, 403},
		{"a logout", "POST", "/logout", map[string]string{"Cookie": session}, 403},
		{"a switch", "POST", "/v1/tenants/" + owner.Home() + "/session", map[string]string{"Cookie": session}, 403},
		{"two sessions", "GET", "/v1/me", map[string]string{"Cookie": session + "; rt=rts_x"}, 401},
		{"a read by another page", "GET", "/v1/me", map[string]string{"Cookie": session, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		{"a stream by a sibling host", "GET", "/v1/conversations/c1/events", map[string]string{"Cookie": session, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403},
		{"a link from elsewhere", "GET", "/v1/me", map[string]string{"Cookie": session, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200},
		{"a read", "GET", "/v1/me", map[string]string{"Cookie": session}, 200},
	}
	for _, c := range cases {
		r, err := http.NewRequestWithContext(t.Context(), c.method, own+c.path, strings.NewReader(`{"name":"a","scopes":["read"]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for name, value := range c.header {
			r.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.name, response.StatusCode, c.want)
		}
		if response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: another origin may read the answer", c.name)
		}
	}
}
