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
	shapeMend       = "mend"
	shapeLabour     = "labour"
	shapeLate       = "late"
	shapeLinger     = "linger"
	shapePlead      = "plead"
	shapeBeg        = "beg"
	shapeHurry      = "hurry"
	shapeInquire    = "inquire"
	shapeStamps     = "stamps"
	shapeMends      = "mends"
	shapeAttend     = "attend"
	shapeEndless    = "endless"
	shapeBrief      = "brief"
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
	add("leave a question to the person", scripted.Match{
		Tools: []string{"relay_to_user", "reply_to_agent"}, Text: `<question id="(?P<question>[^"]+)">\s*Whose is`,
	}, call("relay_to_user", map[string]any{"question_id": "${question}"}))
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
		under(shapePlead, "pleader", []string{"plead"}, false)
		under(shapeBeg, "pleader", []string{"beg"}, false)
		under(shapeHurry, "hasty", []string{"plead"}, false)
		under(shapeInquire, "hand", []string{"inquire"}, false)
		under(shapeStamps, "hand", []string{"stamp"}, false)
		under(shapeEndless, "hand", []string{"endless"}, false)
		under(shapeBrief, "hand", []string{"brief"}, false)
		under(shapeMends, "hand", []string{"mend"}, false)
		under(shapeAttend, "hand", []string{"quick"}, true)
	}
	add(shapeTree, scripted.Match{NoTools: sub, Tools: top, Results: &no, Text: `^tree (?P<id>\S+)`}, assign(
		assignment("lead", "branch ${id}.0", false), assignment("hand", "stamp ${id}.1", false)))
	add(shapeMend, scripted.Match{NoTools: sub, Tools: top, Results: &no, Text: `^mend (?P<id>\S+)`},
		assign(assignment("hand", "mend ${id}.0", false)))
	add("branch", scripted.Match{Tools: sub, Results: &no, Text: `^branch (?P<id>\S+)`}, assign(
		assignment("hand", "ask ${id}.0", false), assignment("hand", "note ${id}.1", false)))
	hand := func(kind string, reply scripted.Reply) {
		add(kind, scripted.Match{Tools: sub, Results: &no, Text: `^` + kind + ` (?P<id>\S+)`}, reply)
	}
	hand("stamp", call("shell", map[string]any{"command": stamping}))
	hand("labour", call("shell", map[string]any{"command": labour + " ${id}"}))
	hand("endless", call("shell", map[string]any{"command": command + "while :; do n=$((n+1)); echo $n > alive-${id}; sleep 0.5; done"}))
	hand("brief", call("shell", map[string]any{"command": command + "echo ${id} >> briefs; sleep 2"}))
	hand("mend", call("edit_file", map[string]any{"path": "${id}"}))
	hand("note", call("write_file", map[string]any{"path": "${id}", "content": "${id}"}))
	hand("ask", call("ask_user", map[string]any{"question": "Which colour has ${id}?"}))
	hand("inquire", call("ask_user", map[string]any{"question": "Whose is ${id}?"}))
	hand("plead", plea())
	hand("beg", call("shell", map[string]any{"command": stamping}))
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
	add("attend", scripted.Match{NoTools: sub, Results: &yes, Text: `^` + shapeAttend}, scripted.Reply{
		Text: "All of it goes on.", Delay: 3 * time.Second,
	})
	add("bring together", scripted.Match{NoTools: sub, Results: &yes}, scripted.Reply{
		Text: "All of it is done.", Delay: 150 * time.Millisecond,
	})
	return s
}

// stamping leaves a line in the ledger, where commands are run.
const stamping = "echo once ${id} >> effects; sleep 0.3"

// pleas is how many calls a pleader makes at once.
const pleas = 12

// plea is a reply of calls that a person must approve, of every class.
func plea() scripted.Reply {
	var reply scripted.Reply
	for i := range pleas {
		c := []scripted.Call{
			{Tool: "shell", Args: map[string]any{"command": fmt.Sprintf("%s ${id}.%d", swift, i)}},
			{Tool: "write_file", Args: map[string]any{"path": fmt.Sprintf("%s/${id}.%d", swift, i)}},
			{Tool: "edit_file", Args: map[string]any{"path": fmt.Sprintf("%s/${id}.%d", swift, i)}},
		}[i%3]
		reply.Calls = append(reply.Calls, c)
	}
	return reply
}

// kinds are the tasks of a fan's hands, in turn.
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

// allowed is the text of a role whose calls need no approval.
const allowed = "permission: {shell: allow, write_file: allow, edit_file: allow}\n"

// writeRoles gives the world the roles of its sub-agents.
func writeRoles(t *testing.T, dir string) {
	t.Helper()
	agents := filepath.Join(dir, "config", "retinue", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string]string{
		"hand": allowed + "can_ask: true\n", "lead": allowed + "can_delegate_to: [hand]\n",
		"pleader": "", "hasty": "approval_time: 10s\n",
	} {
		text := "---\ndescription: Does as it is told.\nmode: subagent\nmodel: fast\ntools: [shell, write_file, edit_file]\n" +
			more + "---\nDo as you are told.\n"
		if err := os.WriteFile(filepath.Join(agents, name+".md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
