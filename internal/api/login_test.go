//go:build services

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/internal/people/oidc"
	"github.com/retinue-dev/retinue/wire"
)

// users are whom the provider knows.
type users map[string]*storage.User

func (u users) GetUserByID(id string) *storage.User         { return u[id] }
func (u users) GetUserByUsername(name string) *storage.User { return u[name] }
func (u users) ExampleClientID() string                     { return "retinue" }

// provider starts a provider of identities for a server. It knows its clients by a variable that
// all providers share, so these tests are not run at the same time.
func provider(t *testing.T, back string) *httptest.Server {
	t.Helper()
	known := users{}
	for _, name := range []string{"ann", "bob", "cyd"} {
		known[name] = &storage.User{
			ID: name, Username: name, Password: "open sesame", FirstName: strings.ToUpper(name), Email: name + "@example.org",
			EmailVerified: name != "cyd",
		}
	}
	known["eve"] = &storage.User{ID: "eve", Username: "eve", Password: "open sesame", Email: "eve@elsewhere.example", EmailVerified: true}
	storage.RegisterClients(storage.WebClient("retinue", "quiet", back+"/login/callback"))
	server := httptest.NewUnstartedServer(nil)
	issuer := "http://" + server.Listener.Addr().String()
	server.Config.Handler = exampleop.SetupServer(issuer, storage.NewStorage(known), slog.New(slog.DiscardHandler), false)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// house is a server with a provider.
type house struct {
	*world
	provider *httptest.Server
	contract *apitest.Contract
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{}
	front := httptest.NewUnstartedServer(nil)
	back := "http://" + front.Listener.Addr().String()
	h.provider = provider(t, back)
	h.world = newWorld(t, func(o *api.Options) {
		o.Login.Provider = oidc.New(oidc.Options{
			Issuer: h.provider.URL, ClientID: "retinue", ClientSecret: "quiet", Redirect: back + "/login/callback",
			Domains: []string{"example.org"},
		})
	})
	front.Config.Handler = h.api
	front.Start()
	t.Cleanup(front.Close)
	h.server = front
	var err error
	if h.contract, err = apitest.Fetch(t.Context(), front.URL); err != nil {
		t.Fatal(err)
	}
	return h
}

// browser keeps cookies and stops at every redirect. Each answer of the server is checked against
// its document.
type browser struct {
	*http.Client
	h *house
}

func (h *house) browser() *browser {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return &browser{h: h, Client: &http.Client{
		Transport: h.contract.Watch(http.DefaultTransport, apitest.Fail(h.t)),
		Jar:       jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// get returns the status, where it leads and what is there.
func (b *browser) get(where string) (int, string, string) {
	b.h.t.Helper()
	response, err := b.Get(where)
	if err != nil {
		b.h.t.Fatal(err)
	}
	return b.read(response)
}

func (b *browser) read(response *http.Response) (int, string, string) {
	b.h.t.Helper()
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.h.t.Fatal(err)
	}
	next, err := response.Request.URL.Parse(response.Header.Get("Location"))
	if err != nil {
		b.h.t.Fatal(err)
	}
	return response.StatusCode, next.String(), string(body)
}

var hiddenID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// prove gives the provider name and password, and returns where it sends the browser back to.
func (b *browser) prove(at, name string) string {
	b.h.t.Helper()
	_, form, _ := b.get(at)
	_, _, page := b.get(form)
	id := hiddenID.FindStringSubmatch(page)
	if id == nil {
		b.h.t.Fatalf("the provider shows no form at %s: %s", form, page)
	}
	response, err := b.PostForm(b.h.provider.URL+"/login/username", url.Values{"username": {name}, "password": {"open sesame"}, "id": {id[1]}})
	if err != nil {
		b.h.t.Fatal(err)
	}
	_, callback, _ := b.read(response)
	_, back, body := b.get(callback)
	if !strings.HasPrefix(back, b.h.server.URL+"/login/callback") {
		b.h.t.Fatalf("the provider sends %s to %s: %s", name, back, body)
	}
	return back
}

// login carries a whole login out and returns the browser.
func (h *house) login(name string) *browser {
	h.t.Helper()
	b := h.browser()
	status, at, body := b.get(h.server.URL + "/login")
	if status != http.StatusSeeOther {
		h.t.Fatalf("login: status %d: %s", status, body)
	}
	if status, at, body = b.get(b.prove(at, name)); status != http.StatusSeeOther || at != h.server.URL+"/" {
		h.t.Fatalf("login of %s: status %d, to %s: %s", name, status, at, body)
	}
	return b
}

// call sends a request with the header that browsers' own pages send, and reads the answer.
func (b *browser) call(method, path, body string, out any) int {
	return b.h.call(b.Client, method, path, body, http.Header{"Retinue-Request": {"1"}}, out)
}

func (h *house) call(c *http.Client, method, path, body string, header http.Header, out any) int {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.server.URL+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "login-"+h.unique())
	response, err := c.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if out != nil && response.StatusCode < 300 {
		if err := json.Unmarshal(data, out); err != nil {
			h.t.Fatalf("%s %s: %v: %s", method, path, err, data)
		}
	}
	return response.StatusCode
}

func (b *browser) want(method, path, body string, out any, status int) {
	b.h.t.Helper()
	if got := b.call(method, path, body, out); got != status {
		b.h.t.Errorf("%s %s: status %d, want %d", method, path, got, status)
	}
}

// TestLogin lets people in through a provider: who they are, where they belong, and out again.
func TestLogin(t *testing.T) {
	h := newHouse(t)
	ann := h.login("ann")
	var me wire.Me
	ann.want(http.MethodGet, "/v1/me", "", &me, http.StatusOK)
	want := wire.Me{
		Tenant: me.Tenant, User: me.User, Name: "ann@example.org", Role: string(people.RoleOwner), Scopes: []string{"read", "write", "admin"},
	}
	if diff := cmp.Diff(want, me); diff != "" || me.Tenant == "" {
		t.Errorf("who ann is (+) against the wanted (-):\n%s", diff)
	}
	// A second login is the same person and another session.
	again := h.login("ann")
	var same wire.Me
	again.want(http.MethodGet, "/v1/me", "", &same, http.StatusOK)
	if diff := cmp.Diff(me, same); diff != "" {
		t.Errorf("ann is somebody else the second time:\n%s", diff)
	}
	// A logout ends the session of this browser only.
	again.want(http.MethodPost, "/logout", "", nil, http.StatusNoContent)
	again.want(http.MethodGet, "/v1/me", "", nil, http.StatusUnauthorized)
	ann.want(http.MethodGet, "/v1/me", "", nil, http.StatusOK)
	// A session that was logged in over ends.
	u, err := url.Parse(h.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	before := ann.Jar.Cookies(u)
	_, at, _ := ann.get(h.server.URL + "/login?next=/c/1%3Fa%3Db")
	if _, at, _ = ann.get(ann.prove(at, "ann")); at != h.server.URL+"/c/1?a=b" {
		t.Errorf("a login leads to %s", at)
	}
	old := h.browser()
	old.Jar.SetCookies(u, before)
	old.want(http.MethodGet, "/v1/me", "", nil, http.StatusUnauthorized)
	ann.want(http.MethodGet, "/v1/me", "", nil, http.StatusOK)
	// A team: bob is a viewer in ann's tenant, and lands there.
	var added wire.Member
	ann.want(http.MethodPost, "/v1/members", `{"email":"Bob@example.org","role":"viewer"}`, &added, http.StatusCreated)
	bob := h.login("bob")
	var his wire.Me
	bob.want(http.MethodGet, "/v1/me", "", &his, http.StatusOK)
	if his.Tenant != me.Tenant || his.Role != string(people.RoleViewer) {
		t.Errorf("bob is %+v", his)
	}
	// A change by ann counts for bob's next request.
	bob.want(http.MethodPost, "/v1/conversations", `{}`, nil, http.StatusForbidden)
	ann.want(http.MethodPut, "/v1/members/"+added.ID+"/role", `{"role":"member"}`, nil, http.StatusOK)
	bob.want(http.MethodPost, "/v1/conversations", `{}`, nil, http.StatusCreated)
	ann.want(http.MethodPut, "/v1/members/"+added.ID+"/role", `{"role":"viewer"}`, nil, http.StatusOK)
	bob.want(http.MethodPost, "/v1/conversations", `{}`, nil, http.StatusForbidden)
	bob.want(http.MethodGet, "/v1/members", "", nil, http.StatusForbidden)
	// Bob goes home, where he owns everything and ann's things are not.
	var list struct {
		Items []wire.Tenant `json:"items"`
	}
	bob.want(http.MethodGet, "/v1/tenants", "", &list, http.StatusOK)
	if len(list.Items) != 2 || !list.Items[0].Current || !list.Items[1].Personal {
		t.Fatalf("bob's tenants are %+v", list.Items)
	}
	bob.want(http.MethodPost, "/v1/tenants/"+list.Items[1].ID+"/session", "", nil, http.StatusNoContent)
	bob.want(http.MethodGet, "/v1/me", "", &his, http.StatusOK)
	if his.Tenant != list.Items[1].ID || his.Role != string(people.RoleOwner) {
		t.Errorf("at home bob is %+v", his)
	}
	bob.want(http.MethodPost, "/v1/tenants/"+me.Tenant+"/session", "", nil, http.StatusNoContent)
	ann.want(http.MethodPost, "/v1/tenants/"+list.Items[1].ID+"/session", "", nil, http.StatusNotFound)
	// A removed member is out.
	ann.want(http.MethodDelete, "/v1/members/"+added.ID, "", nil, http.StatusNoContent)
	bob.want(http.MethodGet, "/v1/me", "", nil, http.StatusUnauthorized)
	var made wire.Tenant
	ann.want(http.MethodPost, "/v1/tenants", `{"name":"team"}`, &made, http.StatusCreated)
	ann.want(http.MethodPost, "/v1/tenants/"+made.ID+"/session", "", nil, http.StatusNoContent)
	ann.want(http.MethodGet, "/v1/me", "", &same, http.StatusOK)
	if same.Tenant != made.ID || same.Role != string(people.RoleOwner) {
		t.Errorf("in the new tenant ann is %+v", same)
	}
}

// TestLoginRefused replays, forges and diverts logins.
func TestLoginRefused(t *testing.T) {
	h := newHouse(t)
	refused := func(what string, b *browser, at string) {
		t.Helper()
		if status, _, body := b.get(at); status != http.StatusForbidden {
			t.Errorf("%s: status %d: %s", what, status, body)
		}
		b.want(http.MethodGet, "/v1/me", "", nil, http.StatusUnauthorized)
	}
	u, err := url.Parse(h.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	// The whole way back a second time, with the cookie that belongs to it.
	b := h.browser()
	_, at, _ := b.get(h.server.URL + "/login")
	begun := b.Jar.Cookies(u)
	back := b.prove(at, "ann")
	if status, _, body := b.get(back); status != http.StatusSeeOther {
		t.Fatalf("login: status %d: %s", status, body)
	}
	replay := h.browser()
	replay.Jar.SetCookies(u, begun)
	refused("a state that was used", replay, back)
	// A new login with the code of an old one, or with somebody else's: PKCE and nonce do not fit.
	other := h.browser()
	_, at, _ = other.get(h.server.URL + "/login")
	state := regexp.MustCompile(`state=[^&]+`).FindString(at)
	refused("a code that was used", other, regexp.MustCompile(`state=[^&]+`).ReplaceAllString(back, state))
	fresh := h.browser()
	_, at, _ = fresh.get(h.server.URL + "/login")
	stolen := fresh.prove(at, "ann")
	thief := h.browser()
	_, at, _ = thief.get(h.server.URL + "/login")
	state = regexp.MustCompile(`state=[^&]+`).FindString(at)
	refused("a code of another login", thief, regexp.MustCompile(`state=[^&]+`).ReplaceAllString(stolen, state))
	refused("a login that another browser began", h.browser(), stolen)
	refused("no state", h.browser(), h.server.URL+"/login/callback?code=1")
	// People whom the provider does not vouch for, and people from elsewhere.
	for _, name := range []string{"cyd", "eve"} {
		b := h.browser()
		_, at, _ := b.get(h.server.URL + "/login")
		refused(name, b, b.prove(at, name))
	}
	declined := h.browser()
	_, at, _ = declined.get(h.server.URL + "/login")
	state = regexp.MustCompile(`state=[^&]+`).FindString(at)
	refused("declined by the provider", declined, h.server.URL+"/login/callback?error=access_denied&"+state)
	// A login never leads to another server.
	for _, next := range []string{
		"//evil.example", "/\\evil.example", "https://evil.example", "/%5cevil.example", "\t//evil.example", "/\t/evil.example", "javascript:alert(1)",
		"///evil.example", "/..//evil.example", "evil.example", "/@evil.example", strings.Repeat("/a", 400),
	} {
		b := h.browser()
		_, at, _ := b.get(h.server.URL + "/login?next=" + url.QueryEscape(next))
		status, to, body := b.get(b.prove(at, "ann"))
		if to, err := url.Parse(to); status != http.StatusSeeOther || err != nil || to.Host != u.Host {
			t.Errorf("next %q: status %d, leads to %s: %s", next, status, to, body)
		}
	}
}

// TestLoginFitsItsBeginning gives the adapter a good code with the nonce or the verifier of another
// login.
func TestLoginFitsItsBeginning(t *testing.T) {
	h := newHouse(t)
	p := oidc.New(oidc.Options{
		Issuer: h.provider.URL, ClientID: "retinue", ClientSecret: "quiet", Redirect: h.server.URL + "/login/callback",
	})
	verifier, another := strings.Repeat("v", 43), strings.Repeat("w", 43)
	for _, c := range []struct {
		name, nonce, verifier string
		code                  chat.Code
	}{
		{"as it began", "once", verifier, ""},
		{"another nonce", "twice", verifier, chat.CodeDenied},
		{"no nonce", "", verifier, chat.CodeDenied},
		{"another verifier", "once", another, chat.CodeDenied},
		{"no verifier", "once", "", chat.CodeDenied},
	} {
		at, err := p.Address(t.Context(), "state", "once", verifier)
		if err != nil {
			t.Fatal(err)
		}
		back, err := url.Parse(h.browser().prove(at, "ann"))
		if err != nil {
			t.Fatal(err)
		}
		who, err := p.Exchange(t.Context(), back.Query().Get("code"), c.nonce, c.verifier)
		switch {
		case c.code == "" && (err != nil || who.Email != "ann@example.org"):
			t.Errorf("%s: %+v, %v", c.name, who, err)
		case c.code != "" && (err == nil || chat.CodeOf(err) != c.code):
			t.Errorf("%s: error is %v, want %s", c.name, err, c.code)
		}
	}
}

// TestLoginCookies looks at what a browser is given over an encrypted connection.
func TestLoginCookies(t *testing.T) {
	h := newHouse(t)
	secure := newWorld(t, func(o *api.Options) {
		o.Login = identity.Login{Provider: oidc.New(oidc.Options{
			Issuer: h.provider.URL, ClientID: "retinue", ClientSecret: "quiet", Redirect: h.server.URL + "/login/callback",
		})}
	})
	w := httptest.NewRecorder()
	secure.api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/login", nil))
	cookie := w.Header().Get("Set-Cookie")
	for _, part := range []string{"__Host-rt-login=", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie lacks %s: %s", part, cookie)
		}
	}
	if strings.Contains(cookie, "Domain") {
		t.Errorf("the cookie is for other hosts too: %s", cookie)
	}
	where, err := url.Parse(w.Header().Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	q := where.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "" || q.Get("state") == "" {
		t.Errorf("the provider is asked with %v", q)
	}
}

// TestKeyLifeOverHTTP makes, uses and revokes keys as their owners do.
func TestKeyLifeOverHTTP(t *testing.T) {
	h := newHouse(t)
	ann := h.login("ann")
	ann.want(http.MethodPost, "/v1/members", `{"email":"bob@example.org","role":"member"}`, nil, http.StatusCreated)
	bob := h.login("bob")
	bob.want(http.MethodPost, "/v1/keys", `{"name":"too much","scopes":["read","admin"]}`, nil, http.StatusForbidden)
	var key wire.MadeAPIKey
	bob.want(http.MethodPost, "/v1/keys", `{"name":"ci","scopes":["read","write"],"days":1}`, &key, http.StatusCreated)
	if !strings.HasPrefix(key.Secret, "rtk_") || key.ExpiresAt.Sub(key.CreatedAt) != 24*time.Hour {
		t.Errorf("the key is %+v", key.APIKey)
	}
	bare := &http.Client{}
	shown := http.Header{"Authorization": {"Bearer " + key.Secret}}
	want := func(method, path, body string, status int) {
		t.Helper()
		if got := h.call(bare, method, path, body, shown, nil); got != status {
			t.Errorf("%s %s with the key: status %d, want %d", method, path, got, status)
		}
	}
	want(http.MethodGet, "/v1/me", "", http.StatusOK)
	want(http.MethodPost, "/v1/conversations", "{}", http.StatusCreated)
	want(http.MethodPost, "/v1/keys", `{"name":"more","scopes":["read"]}`, http.StatusForbidden)
	want(http.MethodGet, "/v1/tenants", "", http.StatusForbidden)
	// The secret is nowhere to be read again; everybody sees their own keys, owners all.
	var lists [2]struct {
		Items []json.RawMessage `json:"items"`
	}
	ann.want(http.MethodPost, "/v1/keys", `{"name":"mine","scopes":["admin"]}`, nil, http.StatusCreated)
	bob.want(http.MethodGet, "/v1/keys", "", &lists[0], http.StatusOK)
	ann.want(http.MethodGet, "/v1/keys", "", &lists[1], http.StatusOK)
	if len(lists[0].Items) != 1 || len(lists[1].Items) != 2 || bytes.Contains(lists[1].Items[0], []byte("rtk_")) {
		t.Errorf("keys: bob sees %s, ann %s", lists[0].Items, lists[1].Items)
	}
	// A key can do no more than its owner can now.
	var members struct {
		Items []wire.Member `json:"items"`
	}
	ann.want(http.MethodGet, "/v1/members", "", &members, http.StatusOK)
	ann.want(http.MethodPut, "/v1/members/"+members.Items[1].ID+"/role", `{"role":"viewer"}`, nil, http.StatusOK)
	want(http.MethodPost, "/v1/conversations", "{}", http.StatusForbidden)
	want(http.MethodGet, "/v1/me", "", http.StatusOK)
	began := time.Now()
	ann.want(http.MethodDelete, "/v1/keys/"+key.ID, "", nil, http.StatusNoContent)
	want(http.MethodGet, "/v1/me", "", http.StatusUnauthorized)
	t.Logf("a revoked key was refused %s after the revocation began", time.Since(began).Round(time.Millisecond))
}

// TestRevokedStreams opens streams with a session and two keys, and takes what let them in away.
func TestRevokedStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	owner := w.person("owner", "", "")
	tenant := owner.Home()
	viewer := w.person("viewer", tenant, people.RoleViewer)
	w.fill(tenant, "c1", "ours", "1.0")
	id, first := w.key(owner, tenant, time.Hour, people.ScopeRead)
	_, second := w.key(owner, tenant, time.Hour, people.ScopeRead)
	session := w.session(viewer, tenant)
	open := func(set func(http.Header)) chan time.Time {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, w.server.URL+"/v1/conversations/c1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		set(r.Header)
		response, err := http.DefaultClient.Do(r)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response, err)
		}
		ended := make(chan time.Time, 1)
		go func() {
			defer response.Body.Close() //nolint:errcheck // it was read
			_, _ = io.Copy(io.Discard, response.Body)
			ended <- time.Now()
		}()
		return ended
	}
	bearer := func(secret string) func(http.Header) {
		return func(h http.Header) { h.Set("Authorization", "Bearer "+secret) }
	}
	revoked, kept, removed := open(bearer(first)), open(bearer(second)), open(func(h http.Header) { h.Set("Cookie", "rt="+session) })
	const life = 10 * time.Second
	expires := time.Now().Add(life)
	_, short := w.key(owner, tenant, life, people.ScopeRead) // it has to live until its stream is open
	expired := open(bearer(short))
	time.Sleep(700 * time.Millisecond) // the server has looked around once
	ends := func(what string, stream chan time.Time, since time.Time, most time.Duration) {
		t.Helper()
		select {
		case at := <-stream:
			measure.Most(t, "tenancy: end of "+what, at.Sub(since), most)
		case <-time.After(patience):
			t.Errorf("%s goes on", what)
		}
	}
	if err := w.people.RevokeKey(t.Context(), tenant, "", id, time.Now()); err != nil {
		t.Fatal(err)
	}
	ends("a stream whose key was revoked", revoked, time.Now(), time.Second)
	members, err := w.people.Members(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.people.RemoveMember(t.Context(), tenant, members[1].ID); err != nil {
		t.Fatal(err)
	}
	ends("a stream whose reader was removed", removed, time.Now(), time.Second)
	ends("a stream whose key expired", expired, expires, 2*time.Second)
	select {
	case <-kept:
		t.Error("a stream ended whose key is good")
	default:
	}
}
