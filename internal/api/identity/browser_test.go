package identity_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/measure"
)

// machine is a local server, and what a browser does with it.
type machine struct {
	*httptest.Server
	browsers *identity.Browsers
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{browsers: &identity.Browsers{}}
	bus := live.NewLocal(0)
	local := identity.Local{Tenant: "local", User: "me", Token: "right", Browsers: m.browsers}
	server := api.New(api.Options{Options: admission.Options{Authenticator: local}, Log: journaltest.NewMemory(), Bus: bus, Local: &local})
	m.Server = httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		m.Close()
		bus.Close()
	})
	return m
}

// enter exchanges the code of a link.
func (m *machine) enter(t *testing.T, link string) (status int, cookie *http.Cookie, proof string) {
	t.Helper()
	_, code, _ := strings.Cut(link, "#code=")
	answer, err := http.Post(m.URL+"/login/link", "application/json", strings.NewReader(`{"code":"`+code+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct{ Proof string }
	if answer.StatusCode == http.StatusOK {
		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || len(answer.Cookies()) != 1 {
			t.Fatalf("%v %v", err, answer.Cookies())
		}
		cookie = answer.Cookies()[0]
	}
	return answer.StatusCode, cookie, got.Proof
}

// me asks who one is, with both halves of a session.
func (m *machine) me(t *testing.T, cookie *http.Cookie, proof string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.URL+"/v1/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	if cookie != nil {
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	if proof != "" {
		r.Header.Set("Retinue-Request", proof)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestALinkLetsOneBrowserIn(t *testing.T) {
	wall := measure.NewWall(t, "1.12")
	m := newMachine(t)
	link := m.browsers.Link()
	status, cookie, proof := m.enter(t, link)
	if status != http.StatusOK || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge != 0 {
		t.Fatalf("%d %+v", status, cookie)
	}
	if got := m.me(t, cookie, proof); got != http.StatusOK {
		t.Errorf("the browser that was let in: %d", got)
	}
	again, _, _ := m.enter(t, link)
	wall.Try(again != http.StatusForbidden, "the link worked twice: %d", again)
	_, other, otherProof := m.enter(t, m.browsers.Link())
	for name, got := range map[string]int{
		"the cookie alone":           m.me(t, cookie, ""),
		"the cookie and a header":    m.me(t, cookie, "1"),
		"the proof alone":            m.me(t, nil, proof),
		"halves of two sessions":     m.me(t, cookie, otherProof),
		"halves of two, other way":   m.me(t, other, proof),
		"the code as a cookie":       m.me(t, &http.Cookie{Name: cookie.Name, Value: strings.Split(link, "=")[1]}, proof),
		"the cookie of another port": m.me(t, &http.Cookie{Name: "retinue-1", Value: cookie.Value}, proof),
	} {
		wall.Try(got != http.StatusUnauthorized, "%s: %d", name, got)
	}
}

// A page that is reloaded while its code is exchanged never hears of the session. The code is good
// for another one, and the lost one is void.
func TestAnExchangeThatWasLostIsMadeAgain(t *testing.T) {
	m := newMachine(t)
	link := m.browsers.Link()
	_, lost, lostProof := m.enter(t, link)
	status, cookie, proof := m.enter(t, link)
	if status != http.StatusOK {
		t.Fatalf("the second exchange: %d", status)
	}
	if got := m.me(t, lost, lostProof); got != http.StatusUnauthorized {
		t.Errorf("the session that was lost: %d", got)
	}
	if got := m.me(t, cookie, proof); got != http.StatusOK {
		t.Errorf("the session that came: %d", got)
	}
	if again, _, _ := m.enter(t, link); again != http.StatusForbidden {
		t.Errorf("the link worked after its session was used: %d", again)
	}
}

func TestNothingOfABrowserOutlivesTheServer(t *testing.T) {
	wall, first, second := measure.NewWall(t, "1.12"), newMachine(t), newMachine(t)
	link := first.browsers.Link()
	_, cookie, proof := first.enter(t, first.browsers.Link())
	_, here, _ := second.enter(t, second.browsers.Link())
	got := second.me(t, &http.Cookie{Name: here.Name, Value: cookie.Value}, proof)
	wall.Try(got != http.StatusUnauthorized, "a session of the server before: %d", got)
	status, _, _ := second.enter(t, link)
	wall.Try(status != http.StatusForbidden, "a link of the server before: %d", status)
}

func TestCodesAreNotGuessed(t *testing.T) {
	m := newMachine(t)
	refused := 0
	for range 200 {
		if status, _, _ := m.enter(t, "#code=guess"+strings.Repeat("x", refused)); status == http.StatusTooManyRequests {
			return
		}
		refused++
	}
	t.Errorf("%d guesses, and nobody minds", refused)
}

// A browser that enters now and then must not cost the others more than the oldest of them.
func TestTheOldestBrowserGoesFirst(t *testing.T) {
	m := newMachine(t)
	_, cookie, proof := m.enter(t, m.browsers.Link())
	unused := m.browsers.Link()
	come := func() (cookie *http.Cookie, proof string) {
		_, cookie, proof = m.enter(t, m.browsers.Link())
		m.me(t, cookie, proof)
		return cookie, proof
	}
	m.me(t, cookie, proof)
	for range 63 {
		come()
	}
	if got := m.me(t, cookie, proof); got != http.StatusOK {
		t.Errorf("one of 64: %d", got)
	}
	last, lastProof := come()
	if got := m.me(t, cookie, proof); got != http.StatusUnauthorized {
		t.Errorf("the oldest of 65: %d", got)
	}
	if got := m.me(t, last, lastProof); got != http.StatusOK {
		t.Errorf("the newest of 65: %d", got)
	}
	for range 16 {
		m.browsers.Link()
	}
	if status, _, _ := m.enter(t, unused); status != http.StatusForbidden {
		t.Errorf("the oldest of 17 links: %d", status)
	}
}
