//go:build services

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/people"
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
func (v visitor) may(a api.Access) bool {
	return a.Public || (v.known && v.role.Rank() >= a.Least.Rank() && slices.Contains(v.scopes, a.Scope))
}

// source says whose things a request names: a conversation's and what is in it.
type source struct {
	name  string
	outer string
	inner string
}

// sources, and which of them must get the same answer.
var sources = []source{
	{"own", "own", "own"}, {"foreign", "foreign", "foreign"}, {"unknown", "unknown", "unknown"},
	{"foreign in own", "own", "foreign"}, {"unknown in own", "own", "unknown"},
	{"own in foreign", "foreign", "own"}, {"own in unknown", "unknown", "own"},
}

var same = map[string]string{"foreign": "unknown", "foreign in own": "unknown in own", "own in foreign": "own in unknown"}

// bodies are what commands are sent where a body made from the document would not do. Names in
// braces are things of the source.
var bodies = map[string]string{
	"postMessage":    `{"text":"hello","in_reply_to":"{question}"}`,
	"cancel":         `{"task":"{plain-task}"}`,
	"decideApproval": `{"allow":true,"hash":"{decision}"}`,
	"addMember":      `{"email":"{unique}@example.org","role":"viewer"}`,
	"createKey":      `{"name":"another","scopes":["read"]}`,
}

// queries are what reads are asked with.
var queries = map[string]string{"search": "q={words}&conversation={conversation}&sub_agents=true"}

// reluctant are routes that do not answer their owner in the 200s here, and why.
var reluctant = map[string]string{}

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
	return answer{a.status, h, a.body}
}

// matrix is all requests and what came of them.
type matrix struct {
	*world
	tenant, other string
	things        map[string]ids
	document      map[string]map[string]any // by operation
	client        *http.Client

	mu       sync.Mutex
	requests int
	asked    map[string]bool // routes that were let through to their handler
}

// TestTenancy asks for everything, as everybody, by every id: nobody sees or changes anything of the
// other tenant, or can tell that it is there.
//
// Covers: P21, P22.
func TestTenancy(t *testing.T) {
	m := newMatrix(t)
	owner := m.person("owner", "", "")
	m.tenant = owner.Home()
	member := m.person("member", m.tenant, people.RoleMember)
	viewer := m.person("viewer", m.tenant, people.RoleViewer)
	stranger := m.person(canary, "", "")
	m.other = stranger.Home()
	m.things["own"] = m.fill(m.tenant, "c"+strings.Repeat("o", 20), "ours", "1.0").with(m.belongings(m.tenant, owner, "ours"))
	m.things["foreign"] = m.fill(m.other, "c"+canary+"1234567", canary, "7.0").with(m.belongings(m.other, stranger, canary))
	m.things["unknown"] = unknown(m.things["foreign"])
	before := m.state(m.other)
	stop := m.noise()

	_, read := m.key(owner, m.tenant, time.Hour, people.ScopeRead)
	_, write := m.key(owner, m.tenant, time.Hour, people.ScopeWrite)
	_, admin := m.key(owner, m.tenant, time.Hour, people.AllScopes()...)
	_, expired := m.key(owner, m.tenant, -time.Minute, people.AllScopes()...)
	gone, revoked := m.key(owner, m.tenant, time.Hour, people.AllScopes()...)
	if err := m.people.RevokeKey(t.Context(), m.tenant, "", gone, time.Now()); err != nil {
		t.Fatal(err)
	}
	all := people.AllScopes()
	visitors := []visitor{
		{name: "nobody", person: owner}, {name: "guess", person: owner, secret: people.NewCredential(people.KindKey, m.tenant).Text},
		{name: "expired key", person: owner, secret: expired}, {name: "revoked key", person: owner, secret: revoked},
		{name: "viewer", person: viewer, role: people.RoleViewer, scopes: all, known: true, session: true},
		{name: "read key", person: owner, role: people.RoleOwner, scopes: all[:1], known: true, secret: read},
		{name: "write key", person: owner, role: people.RoleOwner, scopes: all[1:2], known: true, secret: write},
		{name: "member", person: member, role: people.RoleMember, scopes: all, known: true, session: true},
		{name: "admin key", person: owner, role: people.RoleOwner, scopes: all, known: true, secret: admin},
		{name: "owner", person: owner, role: people.RoleOwner, scopes: all, known: true, session: true},
	}
	began := time.Now()
	for _, v := range visitors {
		quiet := m.state(m.tenant)
		m.visit(v)
		if !v.may(api.Access{Scope: people.ScopeWrite, Least: people.RoleMember}) {
			if diff := cmp.Diff(quiet, m.state(m.tenant)); diff != "" {
				t.Errorf("%s wrote to the journal:\n%s", v.name, diff)
			}
		}
	}
	stop()
	if diff := cmp.Diff(before, m.state(m.other)); diff != "" {
		t.Errorf("the other tenant is not what it was:\n%s", diff)
	}
	var missed []string
	for _, r := range m.api.Routes() {
		if !m.asked[r.Method+" "+r.Path] {
			missed = append(missed, r.Method+" "+r.Path)
		}
	}
	if len(missed) > 0 {
		t.Errorf("routes that nobody got through to:\n%s\ntell the test what to send them (bodies, queries), or why they refuse (reluctant)",
			strings.Join(missed, "\n"))
	}
	if m.requests < 10_000 {
		t.Errorf("%d requests, want 10,000", m.requests)
	}
	t.Logf("%d requests, %d of %d routes, %d visitors, in %s", m.requests, len(m.api.Routes())-len(missed), len(m.api.Routes()),
		len(visitors), time.Since(began).Round(time.Second))
}

func newMatrix(t *testing.T) *matrix {
	m := &matrix{
		world: newWorld(t, nil), things: map[string]ids{}, asked: map[string]bool{}, document: map[string]map[string]any{},
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{MaxIdleConnsPerHost: 16},
		},
	}
	t.Cleanup(m.client.CloseIdleConnections)
	m.readDocument()
	return m
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
	return ids{"member": invited.ID, "key": key, "tenant": tenant}
}

// unknown are ids of the same shape that nothing has.
func unknown(of ids) ids {
	out := of.with(ids{
		"conversation": "c" + strings.Repeat("z", len(of["conversation"])-1), "agent": "main~8.0", "task": "main~8.0",
		"plain-task": "main/8.0", "call": "8.0", "approval": "main~8.0:8.0", "question": "main/8.0?8.0",
		"hash": strings.Repeat("0123", 16), "decision": strings.Repeat("4567", 16), "words": strings.Repeat("z", len(canary)),
	})
	for _, name := range []string{"member", "key", "tenant"} {
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

// noise keeps the other tenant busy until it is stopped.
func (m *matrix) noise() func() {
	ctx, cancel := context.WithCancel(m.t.Context())
	place := journal.Place{Tenant: m.other, Conversation: "noise"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			rows := []journal.Row{journal.Opened{By: canary, Title: canary}, journal.Said{ID: fmt.Sprint(n), By: canary, Parts: text(canary)}}
			if _, err := m.log.Append(ctx, place, time.Now(), rows...); err != nil && ctx.Err() == nil {
				m.t.Error(err)
			}
			m.bus.Poke(live.Poke{Topic: live.Topic(place), Seq: int64(n + 2)})
			m.bus.Publish(live.Delta{Topic: live.Topic(place), Agent: "main", Message: "r", Began: 1, Kind: chat.PartText, Text: canary})
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

// verbs are those that every address is asked with, whatever it takes.
var verbs = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// visit sends all requests of one visitor.
func (m *matrix) visit(v visitor) {
	type job struct {
		path, verb string
		route      *api.Route
	}
	paths := map[string]bool{}
	taken := map[string]*api.Route{}
	for _, r := range m.api.Routes() {
		paths[r.Path] = true
		taken[r.Method+" "+r.Path] = &r
	}
	jobs := make(chan job)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for j := range jobs {
				m.compare(v, j.path, j.verb, j.route)
			}
		})
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, verb := range verbs {
			route := taken[verb+" "+path]
			if route == nil && verb == http.MethodHead {
				route = taken[http.MethodGet+" "+path]
			}
			if route == nil {
				route = taken[" "+path]
			}
			jobs <- job{path, verb, route}
		}
	}
	close(jobs)
	wg.Wait()
}

// compare asks a route by all ids and holds the answers against each other.
func (m *matrix) compare(v visitor, path, verb string, route *api.Route) {
	answers := map[string]answer{}
	for _, s := range sources {
		who := fmt.Sprintf("%s: %s %s by ids %s", v.name, verb, path, s.name)
		a, err := m.ask(v, path, verb, route, s)
		if err != nil {
			m.t.Errorf("%s: %v", who, err)
			continue
		}
		answers[s.name] = a
		m.judge(v, path, verb, route, s, a, who)
	}
	for a, b := range same {
		x, y := answers[a].plain(), answers[b].plain()
		if x.status < 300 && y.status < 300 {
			continue // what is theirs, or nothing in particular
		}
		if diff := cmp.Diff(x, y, cmp.AllowUnexported(answer{})); diff != "" {
			m.t.Errorf("%s: %s %s: ids %s and %s can be told apart:\n%s", v.name, verb, path, a, b, diff)
		}
	}
}

// judge looks at one answer.
func (m *matrix) judge(v visitor, path, verb string, route *api.Route, s source, a answer, who string) {
	if strings.Contains(a.body, canary) || strings.Contains(fmt.Sprint(a.header), canary) || strings.Contains(a.body, m.other) {
		m.t.Errorf("%s: it shows something of the other tenant: %s", who, a.body)
	}
	if a.status >= 500 && path != "/login" {
		m.t.Errorf("%s: status %d: %s", who, a.status, a.body)
	}
	if route == nil {
		if a.status < 400 {
			m.t.Errorf("%s: status %d for what is no route", who, a.status)
		}
		return
	}
	open := v.may(route.Access)
	if !v.known && !route.Access.Public && a.status != http.StatusUnauthorized {
		m.t.Errorf("%s: status %d without a credential", who, a.status)
	}
	if v.known && !open && a.status != http.StatusForbidden {
		m.t.Errorf("%s: status %d, want a refusal", who, a.status)
	}
	if !open {
		return
	}
	if named.MatchString(path) && s.outer != "own" && a.status < 300 {
		m.t.Errorf("%s: status %d", who, a.status)
	}
	if s.name != "own" {
		return
	}
	_, excused := reluctant[route.Operation]
	alone := strings.HasPrefix(path, "/v1/tenants") && !v.session // a key belongs to one tenant
	if !route.Access.Public && !excused && !alone && !(path == "/logout" && !v.session) && a.status >= 300 {
		m.t.Errorf("%s: status %d: %s", who, a.status, a.body)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[route.Method+" "+route.Path] = true
}

// named is an address with an id in it.
var named = regexp.MustCompile(`\{([a-z-]+)\}`)

// ask sends one request. Who may change things gets things of their own to change.
func (m *matrix) ask(v visitor, path, verb string, route *api.Route, s source) (answer, error) {
	reads := verb == http.MethodGet || verb == http.MethodHead
	own := m.things["own"]
	if route != nil && !reads && !route.Access.Public && v.may(route.Access) {
		if route.Access.Scope == people.ScopeWrite {
			own = m.fill(m.tenant, "c"+m.unique(), "ours", "1.0")
		}
		own = own.with(m.belongings(m.tenant, v.person, "ours"))
	}
	of := map[string]ids{"own": own, "foreign": m.things["foreign"], "unknown": m.things["unknown"]}
	inner, outer := of[s.inner].with(ids{"unique": m.unique()}), of[s.outer]
	things := inner.with(ids{"conversation": outer["conversation"]})
	if !strings.Contains(path, "{conversation}") { // its one id is the outer one
		things = outer.with(ids{"unique": inner["unique"], "words": inner["words"]})
	}
	fill := func(text string) string {
		return named.ReplaceAllStringFunc(text, func(name string) string { return things[strings.Trim(name, "{}")] })
	}
	where := m.server.URL + fill(path)
	var body io.Reader
	if route != nil {
		if q := queries[route.Operation]; q != "" {
			where += "?" + fill(q)
		}
		if text := m.bodyOf(route.Operation); text != "" && !reads {
			body = strings.NewReader(fill(text))
		}
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, verb, where, body)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Idempotency-Key", "tenancy-"+things["unique"])
	r.Header.Set("Retinue-Request", "1")
	switch {
	case v.session:
		r.AddCookie(&http.Cookie{Name: "rt", Value: m.session(v.person, m.tenant)})
	case v.secret != "":
		r.Header.Set("Authorization", "Bearer "+v.secret)
	}
	m.mu.Lock()
	m.requests++
	m.mu.Unlock()
	return m.send(r, cancel)
}

// streamTime is how long a stream is read.
const streamTime = 60 * time.Millisecond

func (m *matrix) send(r *http.Request, cancel context.CancelFunc) (answer, error) {
	response, err := m.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	a := answer{status: response.StatusCode, header: response.Header}
	stream := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	if stream {
		defer time.AfterFunc(streamTime, cancel).Stop()
	}
	var read bytes.Buffer
	if _, err := io.Copy(&read, response.Body); err != nil && !stream {
		return a, err
	}
	a.body = read.String()
	if stream && r.Method == http.MethodGet && !strings.Contains(a.body, "ours") && strings.Contains(r.URL.Path, "/conversations/") {
		return a, fmt.Errorf("a stream of one's own shows nothing: %q", a.body)
	}
	return a, nil
}

// readDocument reads what the server says of itself.
func (m *matrix) readDocument() {
	response, err := m.client.Get(m.server.URL + "/openapi.json")
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	var document struct {
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		m.t.Fatal(err)
	}
	for _, path := range document.Paths {
		for _, raw := range path {
			var op struct {
				ID   string `json:"operationId"`
				Body struct {
					Content map[string]struct {
						Schema map[string]any `json:"schema"`
					} `json:"content"`
				} `json:"requestBody"`
			}
			if json.Unmarshal(raw, &op) == nil && op.ID != "" {
				m.document[op.ID] = resolve(op.Body.Content["application/json"].Schema, document.Components.Schemas)
			}
		}
	}
}

// resolve follows a reference to a schema.
func resolve(schema map[string]any, all map[string]map[string]any) map[string]any {
	ref, _ := schema["$ref"].(string)
	if ref == "" {
		return schema
	}
	return all[ref[strings.LastIndex(ref, "/")+1:]]
}

// bodyOf is what an operation is sent: what is written down, or else the least that its schema takes.
func (m *matrix) bodyOf(operation string) string {
	if text := bodies[operation]; text != "" {
		return text
	}
	schema := m.document[operation]
	if schema == nil {
		return ""
	}
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	out := map[string]any{}
	for _, name := range required {
		p, _ := properties[fmt.Sprint(name)].(map[string]any)
		choices, _ := p["enum"].([]any)
		switch {
		case len(choices) > 0:
			out[fmt.Sprint(name)] = choices[0]
		case p["type"] == "string":
			out[fmt.Sprint(name)] = "text"
		case p["type"] == "boolean":
			out[fmt.Sprint(name)] = true
		case p["type"] == "integer" || p["type"] == "number":
			out[fmt.Sprint(name)] = 1
		case p["type"] == "object":
			out[fmt.Sprint(name)] = map[string]any{}
		default:
			out[fmt.Sprint(name)] = []any{}
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}
