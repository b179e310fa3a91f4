//go:build services

package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/people"
)

// deaf is people of whom no change is heard.
type deaf struct{ people.Store }

// Changes implements people.Credentials.
func (deaf) Changes(context.Context) (int64, error) { return 0, errors.New("nobody tells") }

// ending is when a stream ended, and all that it said.
type ending struct {
	at   time.Time
	said string
}

// reading is a stream that is open.
type reading struct {
	what  string
	ended chan ending
}

// follow opens a stream, or one of a bridge if there is a body.
func follow(t *testing.T, what, address, body, cookie, key string) reading {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Retinue-Request", "1")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if cookie != "" {
		r.Header.Set("Cookie", "rt="+cookie)
	} else {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(what, response, err)
	}
	out := reading{what: what, ended: make(chan ending, 1)}
	go func() {
		defer response.Body.Close() //nolint:errcheck // it was read
		said, _ := io.ReadAll(response.Body)
		out.ended <- ending{time.Now(), string(said)}
	}()
	return out
}

// ends waits for a stream to end.
func (r reading) ends(t *testing.T, since time.Time, most time.Duration) {
	t.Helper()
	select {
	case e := <-r.ended:
		measure.Most(t, "tenancy: end of a stream, "+r.what, e.at.Sub(since), most)
		if strings.Contains(r.what, "/v1/") && !strings.Contains(e.said, `"reason":"refused"`) {
			t.Errorf("%s was not told why it ended", r.what)
		}
	case <-time.After(max(0, time.Until(since)) + patience):
		t.Errorf("%s goes on", r.what)
	}
}

// stays complains about a stream that ended.
func (r reading) stays(t *testing.T) {
	t.Helper()
	select {
	case e := <-r.ended:
		t.Errorf("%s ended, and should not: %s", r.what, e.said)
	default:
	}
}

// TestRevokedOnEveryNode takes away what let streams in, on two nodes, of which first both and then
// none hear of it: each ends within its bound, those of others go on.
func TestRevokedOnEveryNode(t *testing.T) {
	t.Parallel()
	// Without notice it is Recheck and a look; the rest is for a busy machine.
	const recheck, most = 500 * time.Millisecond, 2 * time.Second
	t.Run("told", func(t *testing.T) {
		t.Parallel()
		revokeOnNodes(t, most, nil)
	})
	t.Run("deaf", func(t *testing.T) {
		t.Parallel()
		revokeOnNodes(t, most, func(o *api.Options) { o.People, o.Recheck = deaf{o.People}, recheck })
	})
}

func revokeOnNodes(t *testing.T, most time.Duration, change func(*api.Options)) {
	t.Helper()
	w := newWorld(t, func(o *api.Options) {
		o.Guesses = admission.LoginLimits{Burst: 3, Every: time.Hour}
		if change != nil {
			change(o)
		}
	})
	_, second := w.node(w.options)
	owner := w.person("owner", "", "")
	tenant := owner.Home()
	leaver, lowered, visitor := w.person("leaver", tenant, people.RoleMember), w.person("lowered", tenant, people.RoleMember),
		w.person("visitor", tenant, people.RoleViewer)
	w.fill(tenant, "c1", "ours", "1.0")
	id, revoked := w.key(owner, tenant, time.Hour, people.AllScopes()...)
	_, good := w.key(owner, tenant, time.Hour, people.AllScopes()...)
	left, low := w.session(leaver, tenant), w.session(lowered, tenant)
	var keyed, removed, demoted, expired, kept []reading
	for name, node := range map[string]string{"first": w.server.URL, "second": second.URL} {
		for _, path := range []string{"/v1/conversations/c1/events", "/v1/events"} {
			at := name + " node, " + path + ": "
			keyed = append(keyed, follow(t, at+"revoked key", node+path, "", "", revoked))
			removed = append(removed, follow(t, at+"removed member", node+path, "", left, ""))
			kept = append(kept, follow(t, at+"good key", node+path, "", "", good),
				follow(t, at+"member who may still read", node+path, "", low, ""))
		}
		const body = `{"model":"retinue","stream":true,"messages":[{"role":"user","content":"` + unanswered + `"}]}`
		at, path := name+" node, bridge: ", "/v1/chat/completions"
		keyed = append(keyed, follow(t, at+"revoked key", node+path, body, "", revoked))
		removed = append(removed, follow(t, at+"removed member", node+path, body, left, ""))
		demoted = append(demoted, follow(t, at+"lowered role", node+path, body, low, ""))
		kept = append(kept, follow(t, at+"good key", node+path, body, "", good))
	}
	const life = 15 * time.Second // its streams come last: it has to live until they are open
	expires := time.Now().Add(life)
	short := w.sessionFor(visitor, tenant, life)
	for name, node := range map[string]string{"first": w.server.URL, "second": second.URL} {
		for _, path := range []string{"/v1/conversations/c1/events", "/v1/events"} {
			expired = append(expired, follow(t, name+" node, "+path+": expired session", node+path, "", short, ""))
		}
	}
	w.guesses()
	w.takeAway(tenant, id)
	began := time.Now()
	for _, list := range [][]reading{keyed, removed, demoted} {
		for _, r := range list {
			r.ends(t, began, most)
		}
	}
	for _, r := range expired {
		r.ends(t, expires, most)
	}
	time.Sleep(time.Second) // those that are good are looked at twice more
	for _, r := range kept {
		r.stays(t)
	}
}

// guesses shows credentials that are none, more often than an address may.
func (w *world) guesses() {
	w.t.Helper()
	for range 6 {
		r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.server.URL+"/v1/me", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+people.NewCredential(people.KindKey, "t").Text)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			w.t.Fatal(err)
		}
		_ = response.Body.Close()
	}
}

// takeAway revokes a key, removes the leaver and makes a viewer of the lowered.
func (w *world) takeAway(tenant, key string) {
	w.t.Helper()
	ctx := w.t.Context()
	if err := w.people.RevokeKey(ctx, tenant, "", key, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	members, err := w.people.Members(ctx, tenant)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range members {
		switch m.Name {
		case "leaver":
			err = w.people.RemoveMember(ctx, tenant, m.ID)
		case "lowered":
			_, err = w.people.ChangeRole(ctx, tenant, m.ID, people.RoleViewer)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}
