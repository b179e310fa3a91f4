package admission

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

// crowd lets everybody in as whom they say they are: "Bearer tenant/user".
func crowd(r *http.Request) (Caller, error) {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	tenant, user, ok := strings.Cut(text, "/")
	if !ok {
		return Caller{}, Unauthorised()
	}
	return Caller{
		Tenant: tenant, User: user, Role: people.RoleOwner, Scopes: []people.Scope{people.ScopeRead, people.ScopeWrite}, Credential: user,
	}, nil
}

// moody is an authenticator that can be out of order, and counts how often it is asked.
type moody struct {
	err   atomic.Pointer[error]
	asked atomic.Int64
	under atomic.Bool
}

func (d *moody) Identify(r *http.Request) (Caller, error) {
	d.asked.Add(1)
	if _, bounded := r.Context().Deadline(); !bounded {
		d.under.Store(true)
	}
	if err := d.err.Load(); err != nil {
		return Caller{}, *err
	}
	return crowd(r)
}

func (d *moody) set(err error) { d.err.Store(&err) }

// tied is a request that is under way.
func tied(t *testing.T, s *Guard, who string, access Access) *http.Request {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/v1/events", nil)
	r.Header.Set("Authorization", "Bearer "+who)
	r, end := s.revocations.tie(r)
	t.Cleanup(end)
	if _, err := s.recognise(access, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestARevocationIsFoundThoughALookupFails lets the lookup fail once that a revocation calls for.
func TestARevocationIsFoundThoughALookupFails(t *testing.T) {
	t.Parallel()
	authenticator := &moody{}
	s := New(Options{Authenticator: authenticator})
	r := tied(t, s, "a/ann", AccessRead)
	authenticator.set(&chat.Error{Code: chat.CodeUnavailable, Message: "down"})
	s.recheck(1, time.Now())
	if r.Context().Err() != nil {
		t.Fatal("what could not be found out ended a request")
	}
	authenticator.set(Unauthorised())
	s.recheck(1, time.Now())
	if r.Context().Err() == nil {
		t.Error("the revocation is lost")
	}
	if authenticator.under.Load() {
		t.Error("the authenticator was given no deadline")
	}
}

// TestEverybodyIsLookedUpAnyway finds a revocation of which no change is known, in any kind of
// request.
func TestEverybodyIsLookedUpAnyway(t *testing.T) {
	t.Parallel()
	authenticator := &moody{}
	s := New(Options{Authenticator: authenticator})
	r := tied(t, s, "a/ann", AccessCommand)
	authenticator.set(Unauthorised())
	s.recheck(0, time.Now().Add(recheckEvery/2))
	if r.Context().Err() != nil {
		t.Fatal("it was looked up before its time")
	}
	s.recheck(0, time.Now().Add(recheckEvery+time.Second))
	if r.Context().Err() == nil {
		t.Error("it goes on")
	}
}

// TestACredentialIsLookedUpOnce has many requests of few, with different accesses.
func TestACredentialIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	authenticator := &moody{}
	s := New(Options{Authenticator: authenticator})
	for range 50 {
		for _, access := range []Access{AccessRead, AccessCommand} {
			tied(t, s, "a/ann", access)
			tied(t, s, "b/bob", access)
		}
	}
	before := authenticator.asked.Load()
	s.recheck(1, time.Now())
	if n := authenticator.asked.Load() - before; n != 2 {
		t.Errorf("%d lookups for two credentials", n)
	}
}

// TestGuessesOfOthersEndNoStream looks everyone up again while somebody behind the same address
// guesses.
func TestGuessesOfOthersEndNoStream(t *testing.T) {
	t.Parallel()
	s := New(Options{Authenticator: &moody{}, Guesses: LoginLimits{Burst: 3, Every: time.Minute}})
	r := tied(t, s, "a/ann", AccessRead)
	for _, guess := range []string{"1", "2", "3", "4", "5"} {
		bad := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
		bad.Header.Set("Authorization", "Bearer "+guess)
		if _, _, err := s.Enter(AccessRead, KindRead, bad); err == nil {
			t.Fatal("a guess is let in")
		}
	}
	if s.limiter.Check(s.Address(r), time.Now()) == nil {
		t.Fatal("the guesses are not counted")
	}
	for i := range 200 {
		s.recheck(int64(i), time.Now())
	}
	if r.Context().Err() != nil {
		t.Error("the guesses of others end a stream")
	}
}

// TestALookupInDoubtWaitsItsTurn holds what an address that guesses can have looked up to a few at
// a time.
func TestALookupInDoubtWaitsItsTurn(t *testing.T) {
	t.Parallel()
	g := NewLoginLimiter(LoginLimits{})
	var leaves []func()
	for range mostDoubted {
		leave, ok := g.line(t.Context())
		if !ok {
			t.Fatal("there is room, and none is given")
		}
		leaves = append(leaves, leave)
	}
	if _, ok := g.line(t.Context()); ok {
		t.Error("there is no room, and some is given")
	}
	leaves[0]()
	if _, ok := g.line(t.Context()); !ok {
		t.Error("there is room again, and none is given")
	}
}
