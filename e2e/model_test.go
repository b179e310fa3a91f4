//go:build services

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// provider is the scripted model behind a wire that remembers its requests.
type provider struct {
	*scripted.Model
	url string

	// held are the rules that answer nobody until their channel is closed.
	held map[string]chan struct{}

	mu     sync.Mutex
	bodies [][]byte
}

// newProvider begins to serve a script; the rules of these names are held until they are released.
func newProvider(t *testing.T, script *scripted.Script, held ...string) *provider {
	t.Helper()
	p := &provider{held: map[string]chan struct{}{}}
	for _, name := range held {
		p.held[name] = make(chan struct{})
	}
	var err error
	if p.Model, err = scripted.New(script, scripted.Options{Hold: p.hold}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// ServeHTTP implements http.Handler.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.bodies = append(p.bodies, body)
	p.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.Model.ServeHTTP(w, r)
}

// hold waits until a rule is released or the client has left.
func (p *provider) hold(ctx context.Context, rule string) {
	released, held := p.held[rule]
	if !held {
		return
	}
	select {
	case <-released:
	case <-ctx.Done():
	}
}

// begun counts the requests that a rule has answered.
func (p *provider) begun(rule string) int {
	return asked(p.Meter())[rule]
}

// asked counts the requests of a meter by the rules that answered them.
func asked(m scripted.Meter) map[string]int {
	out := map[string]int{}
	for _, a := range m.Attempts {
		out[a.Rule]++
	}
	return out
}

// wireRequest is what matters here of a request to the provider.
type wireRequest struct {
	System []struct {
		Text string `json:"text"`
	} `json:"system"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
	Messages []struct {
		Content []wireBlock `json:"content"`
	} `json:"messages"`
}

type wireBlock struct {
	Type    string `json:"type"`
	ID      string `json:"tool_use_id"`
	Failed  bool   `json:"is_error"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}

var (
	roleLine  = regexp.MustCompile(`operating as a \*\*(\S+)\*\* sub-agent`)
	wireDot   = regexp.MustCompile(`^call_(\d+)_2e(\d+)$`)
	variables = regexp.MustCompile(`"(duration_ms|input_tokens|output_tokens)":\d+`)
)

// results are the results of calls that models of delegating agents were sent, as text.
func (p *provider) results(normal func(string) string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string]string{}
	for _, body := range p.bodies {
		var q wireRequest
		if err := json.Unmarshal(body, &q); err != nil {
			return "", fmt.Errorf("read a request: %w", err)
		}
		if !q.delegates() {
			continue
		}
		role := []string{"", mainRole}
		if named := roleLine.FindStringSubmatch(q.system()); named != nil {
			role = named
		}
		for _, m := range q.Messages {
			for _, b := range m.Content {
				if b.Type != "tool_result" {
					continue
				}
				name, text := role[1]+" "+wireDot.ReplaceAllString(b.ID, "$1.$2"), b.show(normal)
				if before, ok := found[name]; ok && before != text {
					return "", fmt.Errorf("the result of %s changed between two requests:\n%s\n%s", name, before, text)
				}
				found[name] = text
			}
		}
	}
	return inOrder(found), nil
}

func inOrder(found map[string]string) string {
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		roleA, callA, _ := strings.Cut(a, " ")
		roleB, callB, _ := strings.Cut(b, " ")
		turnA, itemA, _ := chat.CallID(callA).Parse()
		turnB, itemB, _ := chat.CallID(callB).Parse()
		return cmp.Or(cmp.Compare(roleA, roleB), cmp.Compare(turnA, turnB), cmp.Compare(itemA, itemB))
	})
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintf(&out, "== %s %s\n", name, found[name])
	}
	return out.String()
}

func (q wireRequest) system() string {
	var out []string
	for _, s := range q.System {
		out = append(out, s.Text)
	}
	return strings.Join(out, "\n")
}

func (q wireRequest) delegates() bool {
	for _, t := range q.Tools {
		if t.Name == "spawn_agents" {
			return true
		}
	}
	return false
}

// show is a result in words. A result that was cut to a size is long, and shown by its ends.
func (b wireBlock) show(normal func(string) string) string {
	var text strings.Builder
	for _, c := range b.Content {
		text.WriteString(c.Text)
	}
	status := "ok"
	if b.Failed {
		status = "failed"
	}
	return status + "\n" + normal(variables.ReplaceAllString(text.String(), `"$1":0`))
}
