package scripted

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// line is one request in short: the system prompt, the user's text and the results of tools.
type line struct {
	system, user, model, key string
	turns                    int
	result                   string
	tools                    []string
}

// body writes a request for one wire.
func (l line) body(p Provider) string {
	var messages []map[string]any
	say := func(role string, content any) {
		messages = append(messages, map[string]any{"role": role, "content": content})
	}
	if l.system != "" && p == OpenAI {
		say("system", l.system)
	}
	say("user", l.user)
	for i := range l.turns {
		id := fmt.Sprint("c", i)
		last := "more"
		if i == l.turns-1 {
			last = l.result
		}
		if p == Anthropic {
			say("assistant", []any{map[string]any{"type": "tool_use", "id": id, "name": "f", "input": map[string]any{}}})
			say("user", []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": last}})
			continue
		}
		messages = append(messages, map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"id": id, "type": "function", "function": map[string]any{"name": "f", "arguments": "{}"},
		}}}, map[string]any{"role": "tool", "tool_call_id": id, "content": last})
	}
	out := map[string]any{"model": "m", "max_tokens": 100, "messages": messages}
	if l.model != "" {
		out["model"] = l.model
	}
	if l.system != "" && p == Anthropic {
		out["system"] = l.system
	}
	var tools []any
	for _, name := range l.tools {
		object := map[string]any{"type": "object"}
		if p == Anthropic {
			tools = append(tools, map[string]any{"name": name, "input_schema": object})
		} else {
			tools = append(tools, map[string]any{
				"type": "function", "function": map[string]any{"name": name, "parameters": object},
			})
		}
	}
	if tools != nil {
		out["tools"] = tools
	}
	return string(must(out))
}

// textOf is the text of a body that is no stream.
func textOf(t *testing.T, p Provider, r got) string {
	t.Helper()
	var a anthropicMessage
	var o openaiCompletion
	if p == Anthropic {
		if err := json.Unmarshal([]byte(r.body), &a); err != nil || len(a.Content) == 0 || a.Content[0].Text == nil {
			t.Fatalf("no text in %d %s: %v", r.status, r.body, err)
		}
		return *a.Content[0].Text
	}
	if err := json.Unmarshal([]byte(r.body), &o); err != nil || len(o.Choices) == 0 || o.Choices[0].Message.Content == nil {
		t.Fatalf("no text in %d %s: %v", r.status, r.body, err)
	}
	return *o.Choices[0].Message.Content
}

func TestTheFirstRuleThatMatchesAnswers(t *testing.T) {
	says := func(text string, when Match) Rule { return Rule{When: when, Reply: Reply{Text: text}} }
	script := &Script{
		Rules: []Rule{
			says("key", Match{Key: "key-2"}),
			says("role ${role}", Match{Role: "coder"}),
			says("system ${who}", Match{System: `You are (?P<who>\w+)`}),
			says("result ${found} of ${1}", Match{Text: `find (\w+)`, Result: `found (?P<found>\w+)`}),
			says("no result of ${1}", Match{Text: `find (\w+)`, Results: to(true)}),
			says("looking for ${1}, $${1}", Match{Text: `find (\w+)`, Results: to(false)}),
			says("tools", Match{Tools: []string{"a", "b"}, NoTools: []string{"c"}}),
			says("turn ${turn}", Match{Turn: to(2)}),
			says("model ${model}", Match{Model: "^claude"}),
		},
		Default: &Reply{Text: "default"},
	}
	s := serve(t, script, Options{})
	for _, c := range []struct {
		line
		want string
	}{
		{line{user: "x", key: "key-2", system: "role: coder"}, "key"},
		{line{user: "x", system: "Hello.\nRole: coder \nBye."}, "role coder"},
		{line{user: "x", system: "the role: coder is taken"}, "default"},
		{line{user: "x", system: "You are Ann"}, "system Ann"},
		{line{user: "find it", turns: 1, result: "found that"}, "result that of it"},
		{line{user: "find it", turns: 1, result: "nothing"}, "no result of it"},
		{line{user: "find it"}, "looking for it, ${1}"},
		{line{user: "x", tools: []string{"b", "a"}}, "tools"},
		{line{user: "x", tools: []string{"a"}}, "default"},
		{line{user: "x", tools: []string{"a", "b", "c"}}, "default"},
		{line{user: "x", turns: 2, result: "y"}, "turn 2"},
		{line{user: "x", model: "claude-9"}, "model claude-9"},
	} {
		for _, p := range providers {
			r := post(t, s, p, c.body(p), asKey(c.key))
			if text := textOf(t, p, r); text != c.want {
				t.Errorf("%s %+v: got %q, want %q", p, c.line, text, c.want)
			}
		}
	}
}

func TestARuleIsUsedUp(t *testing.T) {
	s := serve(t, &Script{Rules: []Rule{
		{Once: true, Reply: Reply{Text: "once"}},
		{Times: 2, Reply: Reply{Text: "twice"}},
		{When: Match{Attempt: to(3)}, Reply: Reply{Text: "fourth attempt"}},
	}, Default: &Reply{Text: "rest"}}, Options{})
	var said []string
	for range 5 {
		said = append(said, textOf(t, OpenAI, post(t, s, OpenAI, openaiHello)))
	}
	want := []string{"once", "twice", "twice", "fourth attempt", "rest"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

func TestARequestWithoutARuleIsRefused(t *testing.T) {
	s := serve(t, &Script{Name: "narrow", Rules: []Rule{{When: Match{Turn: to(9)}}}}, Options{})
	for _, p := range providers {
		refused(t, s, p, line{user: "x", system: "role: coder"}.body(p), 400,
			`script narrow has no rule for this request: provider `+string(p)+`, model "m", role "coder", turn 0`)
	}
}

// TestTheOrderOfRequestsDoesNotMatter sends the same requests in many orders, all at once, to fresh
// servers: each gets the same bytes every time.
func TestTheOrderOfRequestsDoesNotMatter(t *testing.T) {
	script := example(t, "demo")
	script.Pace = 0
	var bodies []string
	for _, what := range []string{"compare a, b and c", "Research a: x", "Research b: y", "hello"} {
		for turns := range 3 {
			l := line{user: what, turns: turns, result: "a fact", tools: []string{"read_file", "submit_result"}}
			if strings.HasPrefix(what, "compare") {
				l.tools = []string{"spawn_agents"}
			}
			bodies = append(bodies, l.body(Anthropic), strings.Replace(l.body(Anthropic), "{", `{"stream":true,`, 1))
		}
	}
	var want map[string]string
	for seed := range uint64(8) {
		s := serve(t, script, Options{})
		order := rand.New(rand.NewPCG(seed, 0)).Perm(len(bodies))
		answers := make([]string, len(bodies))
		var all sync.WaitGroup
		for _, i := range order {
			all.Go(func() { answers[i] = post(t, s, Anthropic, bodies[i]).body })
		}
		all.Wait()
		told := map[string]string{}
		for i, a := range answers {
			told[bodies[i]] = a
		}
		if want == nil {
			want = told
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
}
