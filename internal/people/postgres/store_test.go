//go:build services

package postgres_test

import (
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/internal/people/postgres"
)

func code(t *testing.T, what string, err error, want chat.Code) {
	t.Helper()
	if chat.CodeOf(err) != want || err == nil {
		t.Errorf("%s: error is %v, want %s", what, err, want)
	}
}

func ok(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestTenantOfOnesOwn logs the same person in several times at once.
func TestTenantOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	ann := person("ann")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := s.Arrive(t.Context(), ann, moment, take); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want := []people.Tenant{{ID: ann.Home(), Name: "ANN", Personal: true, Role: people.RoleOwner}}
	if diff := cmp.Diff(want, arrive(t, s, ann)); diff != "" {
		t.Errorf("tenants (+) against the wanted (-):\n%s", diff)
	}
}

// TestMemberByAddress adds somebody before they have ever logged in.
func TestMemberByAddress(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	ann, bob := person("ann"), person("bob")
	home := arrive(t, s, ann)[0].ID
	invite := people.Member{ID: "m1", Email: bob.Email, Role: people.RoleViewer, AddedBy: ann.Email, AddedAt: moment.Add(time.Second)}
	ok(t, "add", s.AddMember(t.Context(), home, invite))
	code(t, "add twice", s.AddMember(t.Context(), home, invite), chat.CodeConflict)
	// Somebody else with another address gets nothing of it.
	if got := arrive(t, s, person("eve")); len(got) != 1 {
		t.Errorf("eve belongs to %v", got)
	}
	want := []people.Tenant{
		{ID: home, Name: "ANN", Role: people.RoleViewer}, {ID: bob.Home(), Name: "BOB", Personal: true, Role: people.RoleOwner},
	}
	if diff := cmp.Diff(want, arrive(t, s, bob)); diff != "" {
		t.Errorf("tenants (+) against the wanted (-):\n%s", diff)
	}
	// An address that the provider gives to somebody new does not bring the old one's place along.
	heir := people.Person{Issuer: bob.Issuer, Subject: "another", Email: bob.Email}
	if got := arrive(t, s, heir); len(got) != 1 || got[0].ID != heir.Home() {
		t.Errorf("who got an address later belongs to %v", got)
	}
	members, err := s.Members(t.Context(), home)
	ok(t, "members", err)
	if len(members) != 2 || members[1].Person != bob.ID() {
		t.Errorf("members are %+v", members)
	}
}

// TestMemberLastOwnerStays has two owners remove each other at the same time.
func TestMemberLastOwnerStays(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	ann, bob := person("ann"), person("bob")
	home := arrive(t, s, ann)[0].ID
	members, err := s.Members(t.Context(), home)
	ok(t, "members", err)
	_, err = s.ChangeRole(t.Context(), home, members[0].ID, people.RoleMember)
	code(t, "demote the last", err, chat.CodeConflict)
	code(t, "remove the last", s.RemoveMember(t.Context(), home, members[0].ID), chat.CodeConflict)
	code(t, "remove nobody", s.RemoveMember(t.Context(), home, "m0"), chat.CodeNotFound)
	code(t, "remove from elsewhere", s.RemoveMember(t.Context(), bob.Home(), members[0].ID), chat.CodeNotFound)
	ok(t, "add", s.AddMember(t.Context(), home, people.Member{ID: "m1", Email: bob.Email, Role: people.RoleOwner, AddedAt: moment}))
	code(t, "an owner who never came does not count", s.RemoveMember(t.Context(), home, members[0].ID), chat.CodeConflict)
	arrive(t, s, bob)
	var gone atomic.Int64
	var wg sync.WaitGroup
	for _, id := range []string{members[0].ID, "m1"} {
		wg.Go(func() {
			if s.RemoveMember(t.Context(), home, id) == nil {
				gone.Add(1)
			}
		})
	}
	wg.Wait()
	if gone.Load() != 1 {
		t.Errorf("%d owners of two were removed, want one", gone.Load())
	}
}

// session starts one.
func session(t *testing.T, s *postgres.Store, p people.Person, tenant string) people.Credential {
	t.Helper()
	c := people.NewCredential(people.KindSession, tenant)
	ok(t, "start", s.StartSession(t.Context(), people.Session{
		Credential: c, Person: p.ID(), At: moment, Until: moment.Add(people.SessionLife),
	}))
	return c
}

// TestSessionEnds ends sessions in every possible way.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	ann := person("ann")
	home := arrive(t, s, ann)[0].ID
	c := session(t, s, ann, home)
	got, err := s.Session(t.Context(), c, moment)
	ok(t, "look up", err)
	want := people.Holder{
		Tenant: home, Person: ann.ID(), Email: ann.Email, Role: people.RoleOwner, Scopes: people.AllScopes(), Until: got.Until,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holder (+) against the wanted (-):\n%s", diff)
	}
	_, err = s.Session(t.Context(), c, moment.Add(people.SessionIdle))
	code(t, "idle", err, chat.CodeNotFound)
	at := moment
	for range 14 * 2 { // used twice a day
		if _, err = s.Session(t.Context(), c, at); err != nil {
			break
		}
		at = at.Add(people.SessionIdle - time.Hour)
	}
	if at.Before(moment.Add(people.SessionLife)) || at.After(moment.Add(people.SessionLife+people.SessionIdle)) {
		t.Errorf("a session in use ended after %s, want %s", at.Sub(moment), people.SessionLife)
	}
	c = session(t, s, ann, home)
	ok(t, "end", s.EndSession(t.Context(), c))
	_, err = s.Session(t.Context(), c, moment)
	code(t, "ended", err, chat.CodeNotFound)
	// The tenant is written in the credential; another one does not help.
	c = session(t, s, ann, home)
	bob := person("bob")
	c.Tenant = arrive(t, s, bob)[0].ID
	_, err = s.Session(t.Context(), c, moment)
	code(t, "in another tenant", err, chat.CodeNotFound)
	code(t, "start where one does not belong", s.StartSession(t.Context(), people.Session{
		Credential: people.NewCredential(people.KindSession, bob.Home()), Person: ann.ID(), At: moment, Until: moment.Add(time.Hour),
	}), chat.CodeNotFound)
}

// TestKeyEnds ends keys in every possible way, and prints the cost of a lookup.
func TestKeyEnds(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	ann, bob := person("ann"), person("bob")
	home := arrive(t, s, ann)[0].ID
	arrive(t, s, bob)
	c := people.NewCredential(people.KindKey, home)
	k := people.Key{
		ID: "k1", Person: ann.ID(), Name: "ci", Scopes: []people.Scope{people.ScopeRead}, CreatedAt: moment,
		ExpiresAt: moment.Add(time.Hour),
	}
	ok(t, "make", s.MakeKey(t.Context(), c, k))
	_, err := s.Key(t.Context(), c, moment)
	ok(t, "look up", err)
	_, err = s.Key(t.Context(), c, moment.Add(time.Hour))
	code(t, "expired", err, chat.CodeNotFound)
	code(t, "revoke that of another", s.RevokeKey(t.Context(), home, bob.ID(), "k1", moment), chat.CodeNotFound)
	code(t, "revoke from another tenant", s.RevokeKey(t.Context(), bob.Home(), "", "k1", moment), chat.CodeNotFound)
	before, err := s.Changes(t.Context())
	ok(t, "changes", err)
	var times []time.Duration
	for range 500 {
		began := time.Now()
		_, err = s.Key(t.Context(), c, moment)
		times = append(times, time.Since(began))
		ok(t, "look up", err)
	}
	slices.Sort(times)
	t.Logf("looking a key up: p50 %s, p99 %s", times[len(times)/2], times[len(times)*99/100])
	ok(t, "revoke", s.RevokeKey(t.Context(), home, ann.ID(), "k1", moment))
	_, err = s.Key(t.Context(), c, moment)
	code(t, "revoked", err, chat.CodeNotFound)
	if after, err := s.Changes(t.Context()); err != nil || after <= before {
		t.Errorf("changes went from %d to %d, %v", before, after, err)
	}
	keys, err := s.Keys(t.Context(), home, "")
	ok(t, "list", err)
	if len(keys) != 1 || keys[0].UsedAt != moment || keys[0].RevokedAt != moment {
		t.Errorf("keys are %+v", keys)
	}
}

// TestLoginIsTakenOnce has many come back with the same state.
func TestLoginIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	now := time.Now()
	sum := sha256.Sum256([]byte("state"))
	ok(t, "begin", s.BeginLogin(t.Context(), people.Login{State: sum[:], Nonce: "n", Verifier: "v", Next: "/", Until: now.Add(time.Minute)}))
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if l, err := s.TakeLogin(t.Context(), sum[:], now); err == nil && l.Nonce == "n" && l.Verifier == "v" {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 1 {
		t.Errorf("a login was taken %d times, want once", taken.Load())
	}
	ok(t, "begin", s.BeginLogin(t.Context(), people.Login{State: sum[:], Until: now.Add(-time.Second)}))
	_, err := s.TakeLogin(t.Context(), sum[:], now)
	code(t, "too late", err, chat.CodeNotFound)
	ok(t, "what is over makes room", s.BeginLogin(t.Context(), people.Login{State: sum[:], Until: now.Add(time.Minute)}))
}
