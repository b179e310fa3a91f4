//go:build services

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// The shapes of work. A message names one, how many sub-agents, and an id: "fan 5 c1m2".
const (
	shapeFan        = "fan"
	shapeDeep       = "deep"
	shapeAsk        = "ask"
	shapeBackground = "background"
	shapeCancel     = "dawdle"
	shapePlain      = "plain"
	shapeTree       = "tree"
	shapeLabour     = "labour"
	shapeLate       = "late"
	shapeLinger     = "linger"
)

// widest is the most sub-agents that a message asks for.
const widest = 8

// answered is how the orchestrator answers every question.
const answered = "It is blue."

// script plays all shapes.
func script() *scripted.Script {
	s := &scripted.Script{Name: "crash", Default: &scripted.Reply{Text: "Very well."}}
	yes, no := true, false
	sub, top := []string{"submit_result"}, []string{"spawn_agents"}
	add := func(name string, when scripted.Match, reply scripted.Reply) {
		s.Rules = append(s.Rules, scripted.Rule{Name: name, When: when, Reply: reply})
	}
	call := func(tool string, args map[string]any) scripted.Reply {
		return scripted.Reply{Calls: []scripted.Call{{Tool: tool, Args: args}}}
	}
	add("answer a question", scripted.Match{
		Tools: []string{"relay_to_user", "reply_to_agent"}, Text: `<question id="(?P<question>[^"]+)">`,
	}, call("reply_to_agent", map[string]any{
		"question_id": "${question}", "answer": answered, "confidence": 0.9, "source": "the person said so",
	}))
	for n := 1; n <= widest; n++ {
		lead := func(kind string) string { return fmt.Sprintf(`^%s %d (?P<id>\S+)`, kind, n) }
		add("lead", scripted.Match{Tools: sub, Results: &no, Text: lead("lead")}, spawn(n, "hand", kinds, false))
		under := func(shape, role string, kinds []string, background bool) {
			add(shape, scripted.Match{NoTools: sub, Tools: top, Results: &no, Text: lead(shape)}, spawn(n, role, kinds, background))
		}
		under(shapeFan, "hand", kinds, false)
		under(shapeDeep, "lead", []string{"lead 2", "lead 3"}, false)
		under(shapeAsk, "hand", []string{"ask", "note"}, false)
		under(shapeBackground, "hand", []string{"note", "pause"}, true)
		late := spawn(n, "hand", []string{"quick"}, false)
		late.Delay = 3 * time.Second
		add(shapeLate, scripted.Match{NoTools: sub, Tools: top, Results: &no, Text: lead(shapeLate)}, late)
		under(shapeLabour, "hand", []string{"labour"}, false)
		under(shapeCancel, "hand", []string{"dawdle", "stamp"}, false)
		under(shapeLinger, "hand", []string{"linger"}, false)
	}
	add(shapeTree, scripted.Match{NoTools: sub, Tools: top, Results: &no, Text: `^tree (?P<id>\S+)`}, assign(
		assignment("lead", "branch ${id}.0", false), assignment("hand", "stamp ${id}.1", false)))
	add("branch", scripted.Match{Tools: sub, Results: &no, Text: `^branch (?P<id>\S+)`}, assign(
		assignment("hand", "ask ${id}.0", false), assignment("hand", "note ${id}.1", false)))
	hand := func(kind string, reply scripted.Reply) {
		add(kind, scripted.Match{Tools: sub, Results: &no, Text: `^` + kind + ` (?P<id>\S+)`}, reply)
	}
	hand("stamp", call("shell", map[string]any{"command": "stamp ${id}"}))
	hand("labour", call("shell", map[string]any{"command": labour + " ${id}"}))
	hand("note", call("write_file", map[string]any{"path": "${id}"}))
	hand("ask", call("ask_user", map[string]any{"question": "Which colour has ${id}?"}))
	done := call("submit_result", map[string]any{"result": "${id} is done."})
	hand("quick", done)
	slow := done
	slow.Delay = 400 * time.Millisecond
	hand("pause", slow)
	slow.Delay = 1500 * time.Millisecond
	hand("dawdle", slow)
	slow.Delay = 4 * time.Second
	hand("linger", slow)
	last := done
	last.Delay = 350 * time.Millisecond
	add("submit", scripted.Match{Tools: sub, Results: &yes, Text: `^\w+( \d)? (?P<id>\S+)`}, last)
	add("bring together", scripted.Match{NoTools: sub, Results: &yes}, scripted.Reply{
		Text: "All of it is done.", Delay: 150 * time.Millisecond,
	})
	return s
}

// kinds are what hands of a fan do, in turn.
var kinds = []string{"stamp", "note", "quick"}

// spawn hands out n tasks.
func spawn(n int, role string, kinds []string, background bool) scripted.Reply {
	tasks := make([]any, n)
	for i := range tasks {
		tasks[i] = assignment(role, fmt.Sprintf("%s ${id}.%d", kinds[i%len(kinds)], i), background)
	}
	return assign(tasks...)
}

func assignment(role, task string, background bool) any {
	return map[string]any{"role": role, "task": task, "background": background}
}

func assign(tasks ...any) scripted.Reply {
	return scripted.Reply{Calls: []scripted.Call{{Tool: "spawn_agents", Args: map[string]any{"tasks": tasks}}}}
}

// writeRoles gives the world the two roles of its sub-agents.
func writeRoles(t *testing.T, dir string) {
	t.Helper()
	agents := filepath.Join(dir, "config", "retinue", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string]string{"hand": "can_ask: true\n", "lead": "can_delegate_to: [hand]\n"} {
		text := "---\ndescription: Does as it is told.\nmode: subagent\nmodel: fast\ntools: [shell, write_file]\n" +
			"permission: {shell: allow, write_file: allow}\n" + more + "---\nDo as you are told.\n"
		if err := os.WriteFile(filepath.Join(agents, name+".md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
