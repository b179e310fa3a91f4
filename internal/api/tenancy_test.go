//go:build services

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/internal/webhook"
)

// canary is in every text and every id of the other tenant that can hold one.
const canary = "kanarienvogel"

// visitor is somebody who asks, in the first tenant.
type visitor struct {
	name   string
	person people.Person
	role   people.Role
	scopes []people.Scope
	// known is false for credentials that are none any more.
	known   bool
	session bool
	secret  string
}

// may reports whether a route should be open to a visitor; it is written here once more.
func (v visitor) may(a admission.Access) bool {
	return a.Public || (v.known && v.role.Rank() >= a.Least.Rank() && slices.Contains(v.scopes, a.Scope))
}

// mayUse reports whether a route should be open to a visitor. A bridge says something and shows
// what comes of it, so who may only write may not use it.
func (v visitor) mayUse(r route.Way) bool {
	bridge := r.Operation == "" && r.Access.Scope == people.ScopeWrite
	return v.may(r.Access) && (!bridge || slices.Contains(v.scopes, people.ScopeRead))
}

// source says whose things a request names: a conversation's and what is in it.
type source struct {
	name  string
	outer string
	inner string
}

// sources, and which of them must get the same answer.
var sources = []source{
	{"own", "own", "own"},
	{"foreign", "foreign", "foreign"},
	{"unknown", "unknown", "unknown"},
	{"foreign in own", "own", "foreign"},
	{"unknown in own", "own", "unknown"},
	{"own in foreign", "foreign", "own"},
	{"own in unknown", "unknown", "own"},
	{"private", "private", "private"},
	{"private in own", "own", "private"},
	{"own in private", "private", "own"},
	{"foreign in private", "private", "foreign"},
}

var same = map[string]string{
	"foreign": "unknown", "foreign in own": "unknown in own", "own in foreign": "own in unknown",
	"private": "unknown", "private in own": "unknown in own", "own in private": "own in unknown", "foreign in private": "unknown",
}

// bodies are what commands are sent where a body made from the document would not do, by operation,
// or by method and path where there is none. Names in braces are things of the source.
var bodies = map[string][]string{
	"postMessage":    {`{"text":"hello!","in_reply_to":"{question}"}`, `{"text":"hello!"}`},
	"cancel":         {`{"task":"{plain-task}"}`},
	"decideApproval": {`{"allow":true,"hash":"{decision}"}`},
	"addMember":      {`{"email":"{unique}@example.org","role":"viewer"}`},
	"setPolicy":      {`{"second_pair":false,"retention_days":0}`},
	"deleteTenant":   {`{"name":"not its name"}`},
	"createKey":      {`{"name":"another","scopes":["read"]}`},
	"createWebhook":  {`{"url":"https://hooks.example/{unique}"}`},
	"POST /v1/chat/completions": {
		`{"model":"retinue","messages":[{"role":"user","content":"hello!"}]}`,
		`{"model":"retinue","messages":[{"role":"user","content":"hello!"}],"metadata":{"conversation":"{conversation}"}}`,
		`{"model":"retinue","messages":[{"role":"user","content":"hello!"}],"metadata":{"conversation":"{conversation}"},"stream":true}`,
	},
	"POST /v1/responses": {
		`{"model":"retinue","input":"hello!"}`,
		`{"model":"retinue","input":"hello!","conversation":"{conversation}"}`,
		`{"model":"retinue","input":"hello!","previous_response_id":"{response}"}`,
		`{"model":"retinue","input":"hello!","previous_response_id":"{response}","stream":true}`,
		`{"model":"retinue","input":"hello!","conversation":{"id":"{conversation}"},"background":true}`,
	},
	"POST /a2a": {
		rpc("SendMessage", `{"message":{"messageId":"{unique}","role":"ROLE_USER","parts":[{"text":"hello!"}]}}`),
		rpc("SendMessage", `{"message":{"messageId":"{unique}","role":"ROLE_USER","contextId":"{conversation}","parts":[{"text":"hello!"}]}}`),
		rpc("SendMessage", `{"message":{"messageId":"{unique}","role":"ROLE_USER","taskId":"{turn}","parts":[{"text":"hello!"}]}}`),
		rpc("SendStreamingMessage", `{"message":{"messageId":"{unique}","role":"ROLE_USER","taskId":"{turn}","parts":[{"text":"hello!"}]}}`),
		rpc("GetTask", `{"id":"{turn}"}`),
		rpc("CancelTask", `{"id":"{turn}"}`),
		rpc("SubscribeToTask", `{"id":"{turn}"}`),
		rpc("ListTasks", `{"contextId":"{conversation}"}`),
	},
	"POST /a2a/v0.3": {
		rpc("message/send", `{"message":{"kind":"message","messageId":"{unique}","role":"user","contextId":"{conversation}",`+
			`"parts":[{"kind":"text","text":"hello!"}]}}`),
		rpc("message/stream", `{"message":{"kind":"message","messageId":"{unique}","role":"user","taskId":"{turn}",`+
			`"parts":[{"kind":"text","text":"hello!"}]}}`),
		rpc("tasks/get", `{"id":"{turn}"}`),
		rpc("tasks/cancel", `{"id":"{turn}"}`),
		rpc("tasks/resubscribe", `{"id":"{turn}"}`),
	},
}

// rpc is a call of a method.
func rpc(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// queries are what reads are asked with.
var queries = map[string]string{
	"search": "q={words}&conversation={conversation}&sub_agents=true", "listAllTasks": "conversation={conversation}",
}

// reluctant are routes that do not answer their owner in the 200s here, and why.
var reluctant = map[string]string{
	"importConversation": "it takes a whole export, which the tests of imports send",
	"deleteTenant":       "it would delete the tenant that everybody asks about; TestTenantIsDeleted deletes another",
	"getTenantDeletion":  "the tenant is not being deleted; TestTenantIsDeleted has one that is",
	"createLink":         "there are links only where nobody logs in; TestALinkLetsOneBrowserIn has one",
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// plain is an answer without what differs every time.
func (a answer) plain() answer {
	h := a.header.Clone()
	for _, name := range []string{"Request-Id", "Date", "Set-Cookie"} {
		h.Del(name)
	}
	return answer{a.status, h, fleeting.ReplaceAllString(a.body, "")}
}

// fleeting is what A2A's library adds to each answer anew: the id of an event, and the time of an
// error.
var fleeting = regexp.MustCompile(`(?m)^id: [0-9a-f-]{36}$|"timestamp":"[^"]+"`)

// matrix is all requests and what came of them.
type matrix struct {
	*world
	owner people.Person
	// hermit has a private conversation in the first tenant.
	hermit        people.Person
	tenant, other string
	things        map[string]ids
	document      map[string]map[string]any // by operation
	client        *http.Client
	inUse         sync.Map // webhooks that a request is about

	mu       sync.Mutex
	requests int
	asked    map[string]bool // routes that were let through to their handler
	found    []string        // what is wrong
}

// complain notes what is wrong.
func (m *matrix) complain(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found = append(m.found, fmt.Sprintf(format, args...))
}

// TestTenancy asks for everything, as everybody, by every id: nobody sees or changes anything of
// the other tenant, or can tell that it is there.
//
// Covers: P21, P22.
func TestTenancy(t *testing.T) {
	m := newMatrix(t, nil, nil)
	before, secret := m.state(m.other), m.hidden()
	stop := m.noise()
	began := time.Now()
	visitors := m.visitors()
	for i, v := range visitors {
		quiet := m.state(m.tenant)
		m.visit(v, !testing.Short() || i == 0 || i == len(visitors)-1)
		if !v.may(admission.Access{Scope: people.ScopeWrite, Least: people.RoleMember}) {
			if diff := cmp.Diff(quiet, m.state(m.tenant)); diff != "" {
				t.Errorf("%s wrote to the journal:\n%s", v.name, diff)
			}
		}
	}
	stop()
	if diff := cmp.Diff(before, m.state(m.other)); diff != "" {
		t.Errorf("the other tenant is not what it was:\n%s", diff)
	}
	if diff := cmp.Diff(secret, m.hidden()); diff != "" {
		t.Errorf("the private conversation is not what it was:\n%s", diff)
	}
	for _, text := range m.found[:min(len(m.found), 50)] {
		t.Error(text)
	}
	var missed []string
	for _, r := range m.api.Table().Ways() {
		if !m.asked[r.Method+" "+r.Path] {
			missed = append(missed, r.Method+" "+r.Path)
		}
	}
	if len(missed) > 0 {
		t.Errorf("routes that nobody got through to:\n%s\ntell the test what to send them (bodies, queries), or why they refuse (reluctant)",
			strings.Join(missed, "\n"))
	}
	if !testing.Short() && m.requests < 50_000 {
		t.Errorf("%d requests, want 50,000", m.requests)
	}
	measure.Figure(t, "tenancy: %d requests, %d of %d routes, %d visitors, %d leaks, in %s", m.requests, len(m.api.Table().Ways())-len(missed),
		len(m.api.Table().Ways()), len(visitors), len(m.found), time.Since(began).Round(time.Second))
}

// TestTenancyNotices breaks the server on purpose; the matrix must see each break.
func TestTenancyNotices(t *testing.T) {
	cases := []struct {
		name    string
		visitor string
		broken  func(*matrix, *api.Options)
		// bridged breaks the bridges alone.
		bridged func(*matrix, *api.Options)
		want    string
	}{
		{"a journal that looks into the other tenant", "read key", func(m *matrix, o *api.Options) {
			o.Log = leaky{o.Log, m}
		}, nil, "it shows something of the other tenant"},
		{"a foreign id that is answered otherwise", "read key", func(m *matrix, o *api.Options) {
			o.Log = chatty{o.Log, m}
		}, nil, "can be told apart"},
		{"a door that makes everybody an owner", "viewer", func(_ *matrix, o *api.Options) {
			o.Authenticator = generous{o.Authenticator}
		}, nil, "want a refusal"},
		{"a door that forgets to look at the time", "expired key", func(_ *matrix, o *api.Options) {
			authenticator, _ := o.Authenticator.(identity.Hosted)
			authenticator.Now = func() time.Time { return time.Now().Add(-30 * time.Minute) }
			o.Authenticator = authenticator
		}, nil, "without a credential"},
		{"a journal that shows everybody's private conversations", "member", func(_ *matrix, o *api.Options) {
			o.Log = indiscreet{o.Log}
		}, nil, "it shows something of the other tenant"},
		{"a cache of patches that is keyed by the hash alone", "read key", func(m *matrix, o *api.Options) {
			o.Log = hashed{o.Log, m, "patch"}
		}, nil, "/texts/{patch}"},
		{"a cache of pictures that is keyed by the hash alone", "read key", func(m *matrix, o *api.Options) {
			o.Log = hashed{o.Log, m, "picture"}
		}, nil, "/texts/{picture}"},
		{"the budget of another tenant", "read key", func(m *matrix, o *api.Options) {
			o.Budget = func(string) int64 { return m.budget(m.other) }
		}, nil, "GET /v1/quotas"},
		{"the sum of another tenant", "read key", func(m *matrix, o *api.Options) {
			o.Log = spender{o.Log, m}
		}, nil, "GET /v1/quotas"},
		{"the workspaces of another tenant", "read key", func(m *matrix, o *api.Options) {
			o.Installation = elsewhere{places{}, m}
		}, nil, "GET /v1/workspaces"},
		{"bridges that look into the other tenant", "admin key", nil, func(m *matrix, o *api.Options) {
			o.Log = leakyEntries{leaky{o.Log, m}}
		}, "it shows something of the other tenant"},
		{"a bridge that shows a foreign task to be there", "admin key", nil, func(m *matrix, o *api.Options) {
			o.Log = chatty{o.Log, m}
		}, "can be told apart"},
	}
	for _, c := range cases {
		m := newMatrix(t, c.broken, c.bridged)
		visitors := m.visitors()
		m.visit(visitors[slices.IndexFunc(visitors, func(v visitor) bool { return v.name == c.visitor })], true)
		n := 0
		for _, text := range m.found {
			if strings.Contains(text, c.want) {
				n++
			}
		}
		if n == 0 {
			t.Errorf("%s: nobody noticed; %d other complaints", c.name, len(m.found))
		}
		t.Logf("%s: %d complaints", c.name, n)
	}
}

// visitors are everybody who asks, those who may do least first.
func (m *matrix) visitors() []visitor {
	m.t.Helper()
	owner := m.owner
	_, read := m.key(owner, m.tenant, time.Hour, people.ScopeRead)
	_, write := m.key(owner, m.tenant, time.Hour, people.ScopeWrite)
	_, admin := m.key(owner, m.tenant, time.Hour, people.AllScopes()...)
	_, expired := m.key(owner, m.tenant, -time.Minute, people.AllScopes()...)
	gone, revoked := m.key(owner, m.tenant, time.Hour, people.AllScopes()...)
	if err := m.people.RevokeKey(m.t.Context(), m.tenant, "", gone, time.Now()); err != nil {
		m.t.Fatal(err)
	}
	member := m.person("member", m.tenant, people.RoleMember)
	viewer := m.person("viewer", m.tenant, people.RoleViewer)
	all := people.AllScopes()
	return []visitor{
		{name: "nobody", person: owner},
		{name: "guess", person: owner, secret: people.NewCredential(people.KindKey, m.tenant).Text},
		{name: "expired key", person: owner, secret: expired},
		{name: "revoked key", person: owner, secret: revoked},
		{name: "viewer", person: viewer, role: people.RoleViewer, scopes: all, known: true, session: true},
		{name: "read key", person: owner, role: people.RoleOwner, scopes: all[:1], known: true, secret: read},
		{name: "write key", person: owner, role: people.RoleOwner, scopes: all[1:2], known: true, secret: write},
		{name: "member", person: member, role: people.RoleMember, scopes: all, known: true, session: true},
		{name: "admin key", person: owner, role: people.RoleOwner, scopes: all, known: true, secret: admin},
		{name: "owner", person: owner, role: people.RoleOwner, scopes: all, known: true, session: true},
	}
}

// newMatrix fills two tenants. The server can be broken before it starts, and its bridges alone.
func newMatrix(t *testing.T, broken, bridged func(*matrix, *api.Options)) *matrix {
	t.Helper()
	m := &matrix{
		things: map[string]ids{}, asked: map[string]bool{}, document: map[string]map[string]any{},
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{MaxIdleConnsPerHost: 16},
		},
	}
	breaks := func(how func(*matrix, *api.Options)) func(*api.Options) {
		return func(o *api.Options) {
			if how != nil {
				how(m, o)
			}
		}
	}
	m.world = newWorld(t, breaks(broken), breaks(bridged))
	t.Cleanup(m.client.CloseIdleConnections)
	m.owner = m.person("owner", "", "")
	stranger := m.person(canary, "", "")
	m.tenant, m.other = m.owner.Home(), stranger.Home()
	m.things["own"] = m.fill(m.tenant, "c"+strings.Repeat("o", 20), "ours", "1.0").with(m.belongings(m.tenant, m.owner, "ours"))
	m.things["foreign"] = m.fill(m.other, "c"+canary+"1234567", canary, "7.0").with(m.belongings(m.other, stranger, canary))
	m.things["unknown"] = unknown(m.things["foreign"])
	m.allot(m.tenant, "ours", 5_000_000, 1_000_000)
	m.allot(m.other, canary, canaryBudget, canarySpent)
	m.hermit = m.person("hermit", m.tenant, people.RoleMember)
	hidden := m.fillFor(m.hermit.ID(), m.tenant, "c"+canary+"7654321", canary+"sing", "6.0")
	m.things["private"] = m.things["unknown"].with(hidden)
	m.readDocument()
	return m
}

// The budget and the spending of the other tenant: amounts that nobody else has.
const canaryBudget, canarySpent = 7_654_321_987, 6_543_219_871

// allot gives a tenant a workspace, a budget for the month, and something spent of it.
func (m *matrix) allot(tenant, word string, budget, spent int64) {
	m.t.Helper()
	m.budgets.Store(tenant, budget)
	if err := m.people.ServeWorkspace(m.t.Context(), tenant, word+"-shop", time.Now()); err != nil {
		m.t.Fatal(err)
	}
	if ok, err := m.log.Reserve(m.t.Context(), tenant, journal.MonthOf(time.Now()), spent, budget); err != nil || !ok {
		m.t.Fatalf("%d of %d cannot be reserved: %v", spent, budget, err)
	}
}

// belongings are a person's things that are not in a conversation.
func (m *matrix) belongings(tenant string, p people.Person, word string) ids {
	m.t.Helper()
	invited := people.Member{
		ID: people.NewID("m"), Email: m.unique() + "@" + word + ".example", Role: people.RoleViewer, AddedBy: word, AddedAt: time.Now(),
	}
	if err := m.people.AddMember(m.t.Context(), tenant, invited); err != nil {
		m.t.Fatal(err)
	}
	key, _ := m.key(p, tenant, time.Hour, people.ScopeRead)
	hook := m.hook(tenant, word)
	return ids{"member": invited.ID, "key": key, "tenant": tenant, "webhook": hook.Hook, "delivery": hook.ID}
}

// hook is a webhook with one thing that waits to be sent.
func (m *matrix) hook(tenant, word string) webhook.Delivery {
	m.t.Helper()
	const most = 10 // a tenant may have 20, and requests make some too
	old, err := m.hooks.Hooks(m.t.Context(), tenant)
	if err != nil {
		m.t.Error(err)
	}
	for i := 1; i < len(old)-most; i++ { // the first is the one that is read
		if _, used := m.inUse.Load(old[i].ID); used {
			continue // a request that takes long is still about it
		}
		_ = m.hooks.Remove(m.t.Context(), tenant, old[i].ID) // another may be quicker
	}
	id := people.NewID("h")
	m.inUse.Store(id, true)
	if _, err := m.hooks.Add(m.t.Context(), webhook.Hook{
		Tenant: tenant, ID: id, URL: "https://" + word + ".example/" + id, Secret: "whsec_" + word, By: word, At: time.Now(),
	}); err != nil {
		m.t.Error(err)
	}
	place := "c" + m.unique()
	d := webhook.Delivery{
		Tenant: tenant, Hook: id, ID: people.NewID("d"), Conversation: place, Seq: 1, Type: "turn.completed", Status: webhook.Pending,
		At: time.Now(), Next: time.Now().Add(time.Hour), End: time.Now().Add(2 * time.Hour), Problem: word,
	}
	if err := m.hooks.Enqueue(m.t.Context(), tenant, place, 0, 1, []webhook.Delivery{d}); err != nil {
		m.t.Error(err)
	}
	return d
}

// unknown are ids of the same shape that nothing has.
func unknown(of ids) ids {
	out := of.with(ids{
		"conversation": "c" + strings.Repeat("z", len(of["conversation"])-1), "agent": "main~8.0", "task": "main~8.0",
		"plain-task": "main/8.0", "call": "8.0", "approval": "main~8.0:8.0", "question": "main/8.0?8.0",
		"hash": strings.Repeat("0123", 16), "patch": strings.Repeat("89ab", 16), "picture": strings.Repeat("cdef", 16), "decision": strings.Repeat("4567", 16), "words": strings.Repeat("z", len(canary)),
		"role": strings.Repeat("y", len(canary)),
	})
	out["turn"], out["response"] = out["conversation"]+".m1", "resp_"+out["conversation"]+".m1"
	for _, name := range []string{"member", "key", "tenant", "webhook", "delivery"} {
		out[name] = people.NewID(of[name][:1])
	}
	return out
}

// state is what a journal has and who may be there, apart from the noise.
func (m *matrix) state(tenant string) map[string]any {
	m.t.Helper()
	list, err := m.log.Conversations(m.t.Context(), tenant, journal.Page{Limit: journal.PageMaxLimit})
	if err != nil {
		m.t.Fatal(err)
	}
	out := map[string]any{}
	for _, c := range list {
		if c.ID != "noise" {
			out[c.ID] = []any{c.Title, c.Seq, c.Archived, c.UpdatedAt.UnixMilli()}
		}
	}
	if tenant == m.other {
		members, err := m.people.Members(m.t.Context(), tenant)
		if err != nil {
			m.t.Fatal(err)
		}
		keys, err := m.people.Keys(m.t.Context(), tenant, "")
		if err != nil {
			m.t.Fatal(err)
		}
		out["members"], out["keys"] = members, keys
	}
	return out
}

// hidden is the private conversation.
func (m *matrix) hidden() journal.Line {
	m.t.Helper()
	id := m.things["private"]["conversation"]
	lines, err := m.log.Lines(m.t.Context(), m.tenant, id)
	if err != nil {
		m.t.Fatal(err)
	}
	return lines[id]
}

// noise keeps the other tenant, and another private conversation of the first, busy until it is
// stopped.
func (m *matrix) noise() func() {
	ctx, cancel := context.WithCancel(m.t.Context())
	places := []journal.Ref{{Tenant: m.other, Conversation: "noise"}, {Tenant: m.tenant, Conversation: "noise"}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			ref := places[n%2]
			rows := []journal.Row{
				journal.Opened{By: canary, Title: canary, PrivateTo: m.hermit.ID()},
				journal.MessageReceived{ID: fmt.Sprint(n), By: canary, Parts: text(canary)},
				journal.TaskAssigned{In: mainTask, Role: "main"},
				journal.ApprovalRequested{In: mainTask, Call: fmt.Sprint(n), Tool: canary, Hash: "h", Pattern: canary},
				journal.ApprovalClosed{In: mainTask, Call: fmt.Sprint(n - 20), Status: "denied"},
			}
			if _, err := m.log.Append(ctx, ref, time.Now(), rows...); err != nil && ctx.Err() == nil {
				m.t.Error(err)
			}
			m.bus.Announce(live.Appended{Topic: live.Topic(ref), Seq: int64(3*n + 2)})
			m.bus.Publish(live.Delta{Topic: live.Topic(ref), Agent: "main", Message: "r", Began: 1, Kind: chat.PartText, Text: canary})
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}
