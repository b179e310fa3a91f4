//go:build services

package api_test

import (
	stdcmp "cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

// traces are the entries that the routes leave which change something, by operation, or by method
// and path where there is none. Reads leave none, but for those that are named here.
var traces = map[string]audit.Action{
	"createConversation":                   audit.ActionOpen,
	"postMessage":                          audit.ActionPost,
	"cancel":                               audit.ActionCancel,
	"decideApproval":                       audit.ActionDecide,
	"shareConversation":                    audit.ActionShare,
	"archiveConversation":                  audit.ActionArchive,
	"deleteConversation":                   audit.ActionErase,
	"exportConversation":                   audit.ActionExport,
	"importConversation":                   audit.ActionImport,
	"createKey":                            audit.ActionKeyCreate,
	"revokeKey":                            audit.ActionKeyRevoke,
	"addMember":                            audit.ActionMemberAdd,
	"changeRole":                           audit.ActionMemberRole,
	"removeMember":                         audit.ActionMemberRemove,
	"deleteMember":                         audit.ActionMemberDelete,
	"createTenant":                         audit.ActionTenantCreate,
	"setPolicy":                            audit.ActionPolicy,
	"createWebhook":                        audit.ActionWebhookCreate,
	"deleteWebhook":                        audit.ActionWebhookRemove,
	"replayDelivery":                       audit.ActionWebhookReplay,
	"logout":                               audit.ActionSessionEnd,
	"switchTenant":                         audit.ActionSessionBegin,
	"POST /v1/chat/completions":            audit.ActionPost,
	"POST /v1/responses":                   audit.ActionPost,
	"POST /v1/responses/{response}/cancel": audit.ActionCancel,
	"POST /a2a":                            audit.ActionPost,
	"POST /a2a/v0.3":                       audit.ActionPost,
}

// journaled are the actions that the journal's way in writes; they say nothing of addresses.
var journaled = []audit.Action{
	audit.ActionOpen, audit.ActionShare, audit.ActionPost, audit.ActionCancel, audit.ActionDecide, audit.ActionArchive, audit.ActionErase,
}

// writing are the requests that change something, or take everything along: each route, with the
// first thing that it is sent.
func (m *matrix) writing() map[string]probe {
	m.t.Helper()
	out := map[string]probe{}
	for _, r := range m.api.Table().Ways() {
		name := stdcmp.Or(r.Operation, r.Method+" "+r.Path)
		// There is nothing at other addresses, and reports of browsers are only counted.
		reads := r.Method == http.MethodGet || r.Path == "/" || r.Path == "/csp-report"
		// Links are for machines where nobody logs in: TestLinksLeaveTraces.
		// TestTenantIsDeleted deletes one: there would be nothing left for the others.
		links := name == "createLink" || name == "enter" || name == "deleteTenant"
		if _, traced := traces[name]; (reads || links) && !traced {
			continue
		}
		out[name] = probe{path: r.Path, verb: r.Method, body: m.bodiesOf(&r, r.Method)[0], route: &r}
	}
	e := out["importConversation"]
	e.body = m.exported()
	out["importConversation"] = e
	return out
}

// exported is an export of a conversation in which nothing waits.
func (m *matrix) exported() string {
	m.t.Helper()
	id := "c" + m.unique()
	rows := []journal.Row{journal.Opened{By: "ours"}, journal.TaskAssigned{In: mainTask, Role: "main"}}
	if _, err := m.log.Append(m.t.Context(), journal.Ref{Tenant: m.tenant, Conversation: id}, time.Now(), rows...); err != nil {
		m.t.Fatal(err)
	}
	routes := m.api.Table().Ways()
	i := slices.IndexFunc(routes, func(r route.Way) bool { return r.Operation == "exportConversation" })
	e := probe{path: routes[i].Path, verb: http.MethodGet, route: &routes[i]}
	a, err := m.askFor(m.master(), e, sources[0], m.things["own"].with(ids{"conversation": id}))
	if err != nil || a.status != http.StatusOK {
		m.t.Fatalf("export: status %d, %v: %s", a.status, err, a.body)
	}
	return a.body
}

// master is the owner with a session.
func (m *matrix) master() visitor {
	return visitor{name: "owner", person: m.owner, role: people.RoleOwner, scopes: people.AllScopes(), known: true, session: true}
}

func (m *matrix) entries(after int64) []audit.Entry {
	m.t.Helper()
	list, err := m.trails.Read(m.t.Context(), m.tenant, after, 1000)
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

// TestTenancyTraces asks every route that changes something, and looks for the entry that says who
// did what from where, and nothing that is a secret.
func TestTenancyTraces(t *testing.T) {
	m := newMatrix(t, nil, nil)
	for name, e := range m.writing() {
		want, known := traces[name]
		if !known {
			t.Errorf("%s changes something: put it on the audit trail, and say here as what", name)
			continue
		}
		own := m.ownFor(m.master(), e)
		m.inUse.Delete(own["webhook"]) // nobody else makes any meanwhile
		head, err := m.trails.Last(t.Context(), m.tenant)
		if err != nil {
			t.Fatal(err)
		}
		a, err := m.askFor(m.master(), e, sources[0], own)
		if err != nil || a.status >= 300 {
			t.Errorf("%s: status %d, %v: %s", name, a.status, err, a.body)
			continue
		}
		entries := m.entries(head.Seq)
		found := slices.ContainsFunc(entries, func(n audit.Entry) bool {
			from := slices.Contains(journaled, n.Action) || strings.Contains(n.Detail, "from=127.0.0.1")
			return n.Action == want && n.Outcome == audit.Accepted && n.Actor == (audit.Actor{
				User: m.owner.ID(), Credential: "session:" + m.owner.ID(), Source: "api",
			}) && from
		})
		if !found {
			t.Errorf("%s left no entry %s of its caller, but %+v", name, want, entries)
		}
	}
	for _, n := range m.entries(0) {
		shown := fmt.Sprintf("%+v", n.Record) // a hash may show anything, and an id may be any letters, but no sign
		for _, secret := range []string{"rtk_", "rts_", "whsec_", "hello!"} {
			if strings.Contains(shown, secret) {
				t.Errorf("an entry shows %s: %+v", secret, n)
			}
		}
	}
	if _, err := audit.Verify(t.Context(), m.trails, m.tenant, nil, nil); err != nil {
		t.Error(err)
	}
}

// TestTenancyWithoutTrail asks every route that changes something while the trail cannot be
// written: all are refused, and nothing has changed.
func TestTenancyWithoutTrail(t *testing.T) {
	m := newMatrix(t, nil, nil)
	writing, own := m.writing(), map[string]ids{}
	for name, e := range writing {
		own[name] = m.ownFor(m.master(), e)
		m.inUse.Delete(own[name]["webhook"])
	}
	all := func() map[string]any {
		out := m.state(m.tenant)
		hooks, err := m.hooks.Hooks(t.Context(), m.tenant)
		if err != nil {
			t.Fatal(err)
		}
		members, err := m.people.Members(t.Context(), m.tenant)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := m.people.Keys(t.Context(), m.tenant, "")
		if err != nil {
			t.Fatal(err)
		}
		tenants, err := m.people.TenantsOf(t.Context(), m.owner.ID())
		if err != nil {
			t.Fatal(err)
		}
		out["hooks"], out["members"], out["keys"], out["tenants"] = hooks, members, keys, tenants
		return out
	}
	if err := m.trails.Close(); err != nil {
		t.Fatal(err)
	}
	for name, e := range writing {
		before := all()
		a, err := m.askFor(m.master(), e, sources[0], own[name])
		if refused := a.status >= 500 || a.status == http.StatusUnprocessableEntity; err != nil || !refused {
			t.Errorf("%s: status %d, %v: %s", name, a.status, err, a.body)
		}
		if a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s gave or took a cookie", name)
		}
		if diff := cmp.Diff(before, all()); diff != "" {
			t.Errorf("%s was carried out without an entry:\n%s", name, diff)
		}
	}
}

// TestLoginTraces follows logins, a switch of tenants, a refusal and a logout on the trail.
func TestLoginTraces(t *testing.T) {
	h := newHouse(t)
	ann := h.login("ann")
	var first struct {
		Items []wire.AuditEntry `json:"items"`
	}
	ann.want(http.MethodGet, "/v1/audit", "", &first, http.StatusOK)
	var got []string
	for _, n := range first.Items {
		got = append(got, n.Action+" "+n.Outcome)
		if n.User == "" || !strings.HasPrefix(n.Credential, "session:") || !strings.Contains(n.Detail, "from=127.0.0.1") {
			t.Errorf("the entry says too little: %+v", n)
		}
	}
	if diff := cmp.Diff([]string{"login accepted", "session.begin accepted"}, got); diff != "" {
		t.Errorf("a login leaves:\n%s", diff)
	}
	var me struct {
		Items []wire.Tenant `json:"items"`
	}
	ann.want(http.MethodGet, "/v1/tenants", "", &me, http.StatusOK)
	ann.want(http.MethodPost, "/logout", "", nil, http.StatusNoContent)
	entries, err := h.trails.Read(t.Context(), me.Items[0].ID, 2, 10)
	if err != nil || len(entries) != 1 || entries[0].Action != audit.ActionSessionEnd || !strings.Contains(entries[0].Detail, "by=logout") {
		t.Errorf("a logout leaves %+v, %v", entries, err)
	}
	if status, _, _ := h.browser().get(h.server.URL + "/login/callback?state=x&code=y"); status != http.StatusForbidden {
		t.Errorf("a login that nobody began: status %d", status)
	}
	deadline := time.Now().Add(time.Minute) // refusals are written behind
	for len(h.refusals()) == 0 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if list := h.refusals(); len(list) != 1 || !strings.Contains(list[0].Detail, "GET /login/callback") {
		t.Errorf("a refused login leaves %+v", list)
	}
	if err := h.trails.Close(); err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	_, at, _ := b.get(h.server.URL + "/login")
	if status, _, body := b.get(b.prove(at, "bob")); status < 500 {
		t.Errorf("a login without a trail: status %d: %s", status, body)
	}
}

// TestLoginTracesInvitations has somebody log in who was invited: the tenant's trail says that they
// came, once.
func TestLoginTracesInvitations(t *testing.T) {
	h := newHouse(t)
	ann := h.login("ann")
	var added wire.Member
	ann.want(http.MethodPost, "/v1/members", `{"email":"bob@example.org","role":"viewer"}`, &added, http.StatusCreated)
	var bob wire.Me
	for range 2 { // the second time there is nothing to take up
		h.login("bob").want(http.MethodGet, "/v1/me", "", &bob, http.StatusOK)
	}
	var trail struct {
		Items []wire.AuditEntry `json:"items"`
	}
	ann.want(http.MethodGet, "/v1/audit", "", &trail, http.StatusOK)
	var joined []wire.AuditEntry
	for _, n := range trail.Items {
		if n.Action == string(audit.ActionMemberJoin) {
			joined = append(joined, n)
		}
	}
	if len(joined) != 1 || joined[0].User != bob.User || joined[0].Object != added.ID || joined[0].Outcome != string(audit.Accepted) ||
		!strings.Contains(joined[0].Detail, "from=127.0.0.1") {
		t.Errorf("%s was invited as %s and has come, and the trail says %+v", bob.User, added.ID, joined)
	}
}

// TestTenancyTracesRefusalsInside shows the routes of the bridges a key that is accepted and then
// found to lack something.
func TestTenancyTracesRefusalsInside(t *testing.T) {
	w := newWorld(t, nil)
	p := w.person("ann", "", "")
	_, secret := w.key(p, p.Home(), time.Hour, people.ScopeWrite) // what is said there is also read
	want := []string{}
	const body = `{"model":"retinue","messages":[{"role":"user","content":"hello"}],"input":"hello"}`
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/a2a", "/a2a/v0.3"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", path, answer.StatusCode)
		}
		want = append(want, "access.deny denied forbidden at POST "+path+" from 127.0.0.1")
	}
	var got []string
	for deadline := time.Now().Add(time.Minute); len(got) < len(want) && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		entries, err := w.trails.Read(t.Context(), p.Home(), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, n := range entries {
			got = append(got, string(n.Action)+" "+string(n.Outcome)+" "+n.Detail)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the trail:\n%s", diff)
	}
}

// refusals are those of people whom nobody knows.
func (h *house) refusals() []audit.Entry {
	h.t.Helper()
	list, err := h.trails.Read(h.t.Context(), audit.Installation, 0, 10)
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}
