//go:build services

package api_test

import (
	"bytes"
	stdcmp "cmp"
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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/people"
)

// verbs are those that every address is asked with, whatever it takes.
var verbs = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// visit sends all requests of one visitor, with verbs that an address does not take only if odd
// says so.
func (m *matrix) visit(v visitor, odd bool) {
	type job struct {
		path, verb string
		route      *route.Way
	}
	paths := map[string]bool{}
	taken := map[string]*route.Way{}
	for _, r := range m.api.Table().Ways() {
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
			if route == nil && !odd {
				continue
			}
			jobs <- job{path, verb, route}
			for _, kind := range []string{"{patch}", "{picture}"} { // texts that agents' trees and models leave
				if strings.Contains(path, "{hash}") {
					jobs <- job{strings.ReplaceAll(path, "{hash}", kind), verb, route}
				}
			}
		}
	}
	close(jobs)
	wg.Wait()
}

// compare asks a route by all ids, with all that it can be sent.
func (m *matrix) compare(v visitor, path, verb string, route *route.Way) {
	for _, body := range m.bodiesOf(route, verb) {
		m.compareWith(v, probe{path: path, verb: verb, body: body, route: route})
	}
}

// probe is one request before ids are put into it.
type probe struct {
	path, verb, body string
	// route is nil for what is none.
	route *route.Way
}

// compareWith sends one request by all ids and compares the answers with each other.
func (m *matrix) compareWith(v visitor, e probe) {
	answers := map[string]answer{}
	for _, s := range sources {
		who := fmt.Sprintf("%s: %s %s %s by ids %s", v.name, e.verb, e.path, e.body, s.name)
		a, err := m.ask(v, e, s)
		if err != nil {
			m.complain("%s: %v", who, err)
			continue
		}
		answers[s.name] = a
		m.judge(v, e, s, a, who)
	}
	for a, b := range same {
		x, y := answers[a].plain(), answers[b].plain()
		if x.status < 300 && y.status < 300 {
			continue // what is theirs, or nothing in particular
		}
		if diff := cmp.Diff(x, y, cmp.AllowUnexported(answer{})); diff != "" {
			m.complain("%s: %s %s %s: ids %s and %s can be told apart:\n%s", v.name, e.verb, e.path, e.body, a, b, diff)
		}
	}
}

// judge looks at one answer.
func (m *matrix) judge(v visitor, e probe, s source, a answer, who string) {
	path, route := e.path, e.route
	if strings.Contains(a.body, canary) || strings.Contains(fmt.Sprint(a.header), canary) || strings.Contains(a.body, m.other) ||
		strings.Contains(a.body, fmt.Sprint(canaryBudget)) || strings.Contains(a.body, fmt.Sprint(canarySpent)) {
		m.complain("%s: it shows something of the other tenant, or of a private conversation: %s", who, a.body)
	}
	if a.status >= 500 && path != "/login" {
		m.complain("%s: status %d: %s", who, a.status, a.body)
	}
	if route == nil {
		if a.status < 400 {
			m.complain("%s: status %d for what is no route", who, a.status)
		}
		return
	}
	open := v.mayUse(*route)
	if !v.known && !route.Access.Public && a.status != http.StatusUnauthorized {
		m.complain("%s: status %d without a credential", who, a.status)
	}
	if v.known && !open && a.status != http.StatusForbidden {
		m.complain("%s: status %d, want a refusal", who, a.status)
	}
	if !open {
		return
	}
	if (named.MatchString(path) || whose.MatchString(e.body)) && s.outer != "own" && a.status < 300 {
		m.complain("%s: status %d", who, a.status)
	}
	if s.name != "own" {
		return
	}
	_, excused := reluctant[route.Operation]
	alone := strings.HasPrefix(path, "/v1/tenants") && !v.session // a key belongs to one tenant
	if !route.Access.Public && !excused && !alone && (path != "/logout" || v.session) && a.status >= 300 {
		m.complain("%s: status %d: %s", who, a.status, a.body)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[route.Method+" "+route.Path] = true
}

// named is an address with an id in it.
var named = regexp.MustCompile(`\{([a-z-]+)(\.\.\.)?\}`)

// whose is a body that names what somebody has.
var whose = regexp.MustCompile(`\{(conversation|turn|response)\}`)

// ownFor are a visitor's things. A visitor who may change things gets some of their own to change.
func (m *matrix) ownFor(v visitor, e probe) ids {
	own := m.things["own"]
	if e.route == nil || e.verb == http.MethodGet || e.verb == http.MethodHead || e.route.Access.Public || !v.mayUse(*e.route) {
		return own
	}
	if e.route.Access.Scope == people.ScopeWrite {
		own = m.fill(m.tenant, "c"+m.unique(), "ours", "1.0")
	}
	return own.with(m.belongings(m.tenant, v.person, "ours"))
}

// ask sends one request.
func (m *matrix) ask(v visitor, e probe, s source) (answer, error) {
	own := m.ownFor(v, e)
	defer m.inUse.Delete(own["webhook"])
	return m.askFor(v, e, s, own)
}

// askFor sends one request about things that are there.
func (m *matrix) askFor(v visitor, e probe, s source, own ids) (answer, error) {
	path, verb, route := e.path, e.verb, e.route
	of := map[string]ids{"own": own, "foreign": m.things["foreign"], "unknown": m.things["unknown"], "private": m.things["private"]}
	inner, outer := of[s.inner].with(ids{"unique": m.unique()}), of[s.outer]
	things := inner.with(ids{"conversation": outer["conversation"]})
	if !strings.Contains(path, "{conversation}") { // its one id is the outer one
		things = outer.with(ids{"unique": inner["unique"], "words": inner["words"]})
	}
	fill := func(text string) string {
		return named.ReplaceAllStringFunc(text, func(name string) string { return things[strings.Trim(name, "{.}")] })
	}
	where := m.server.URL + fill(path)
	var body io.Reader
	if route != nil {
		if q := queries[route.Operation]; q != "" {
			where += "?" + fill(q)
		}
		if e.body != "" {
			body = strings.NewReader(fill(e.body))
		}
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
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

// streamTime is how long a stream is read, one's own from where it shows something.
const streamTime = 60 * time.Millisecond

func (m *matrix) send(r *http.Request, cancel context.CancelFunc) (answer, error) {
	response, err := m.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	a := answer{status: response.StatusCode, header: response.Header}
	stream := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	own := stream && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/conversations/")
	var read bytes.Buffer
	if own { // what is in the journal comes some time after the head of the answer
		piece := make([]byte, 4<<10)
		for err := error(nil); err == nil && !bytes.Contains(read.Bytes(), []byte("ours")); {
			var n int
			n, err = response.Body.Read(piece)
			read.Write(piece[:n])
		}
	}
	if stream {
		defer time.AfterFunc(streamTime, cancel).Stop()
	}
	if _, err := io.Copy(&read, response.Body); err != nil && !stream {
		return a, err
	}
	a.body = read.String()
	if strings.HasPrefix(r.URL.Path, "/a2a") && a.status == http.StatusOK && strings.Contains(a.body, `"error":{`) {
		a.status = http.StatusUnprocessableEntity // this wire says so in the body only
	}
	if own && !strings.Contains(a.body, "ours") {
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

// bodiesOf is all that a route is sent with a verb: what is written down, or else the least that
// its schema takes.
func (m *matrix) bodiesOf(route *route.Way, verb string) []string {
	if route == nil || verb == http.MethodGet || verb == http.MethodHead {
		return []string{""}
	}
	if texts := bodies[stdcmp.Or(route.Operation, route.Method+" "+route.Path)]; len(texts) > 0 {
		return texts
	}
	return []string{m.leastBody(route.Operation)}
}

// leastBody is the least that the schema of an operation takes.
func (m *matrix) leastBody(operation string) string {
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
