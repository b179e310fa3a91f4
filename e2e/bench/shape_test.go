//go:build services

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Shape is a tree of agents: so many conversations, whose orchestrator has so many sub-agents at
// once, of which each makes so many model calls. All but the last ask for one tool.
type Shape struct {
	Talks, Agents, Calls int
	// Slow means that each model call of a sub-agent takes as long as slowCall.
	Slow bool
}

// slowCall is how long a model takes that thinks.
const slowCall = 2 * time.Second

func (s Shape) String() string {
	return fmt.Sprintf("%dx%dx%d", s.Talks, s.Agents, s.Calls) + map[bool]string{true: ", 2 s a call"}[s.Slow]
}

// agents is how many sub-agents there are, and modelCalls how often a model is called.
func (s Shape) agents() int     { return s.Talks * s.Agents }
func (s Shape) modelCalls() int { return s.agents()*s.Calls + 2*s.Talks }

// request is the person's message that makes the shape.
func (s Shape) request() string {
	return fmt.Sprintf("fan out %d of %d%s", s.Agents, s.Calls, s.pace())
}

func (s Shape) pace() string { return map[bool]string{true: " slow ones"}[s.Slow] }

// The requests that make no tree.
const (
	plainTurn = "go on"
)

// slowTree makes a tree of agents that wait for their models.
func slowTree(agents int) string { return fmt.Sprintf("fan out slowly to %d", agents) }

// slowAgents is how many agents work until they are stopped.
const slowAgents = 64

// script is the model's script: the orchestrator delegates, a worker reads and submits.
func script(shapes []Shape) string {
	var b strings.Builder
	b.WriteString("name: bench\nchunk: 64\nrules:\n")
	seen := map[string]bool{}
	spawn := func(text, task string, n int) {
		if seen[text] {
			return
		}
		seen[text] = true
		fmt.Fprintf(&b, "  - when: {role: main, text: '^%s$', results: false}\n    reply:\n"+
			"      calls:\n        - tool: spawn_agents\n          args:\n            tasks:\n", text)
		for i := range n {
			fmt.Fprintf(&b, "              - {role: worker, task: '%s, number %d'}\n", task, i+1)
		}
		fmt.Fprintf(&b, "  - when: {role: main, text: '^%s$', results: true}\n    reply: {text: All is done.}\n", text)
	}
	for _, s := range shapes {
		spawn(s.request(), fmt.Sprintf("make %d calls%s", s.Calls, s.pace()), s.Agents)
		text, delay := fmt.Sprintf("^make %d calls%s,", s.Calls, s.pace()), time.Duration(0)
		if s.Slow {
			delay = slowCall
		}
		if !seen[text] {
			seen[text] = true
			fmt.Fprintf(&b, "  - when: {role: worker, text: '%s', turn: %d}\n    reply:\n      delay: %s\n      calls:\n"+
				"        - tool: submit_result\n          args: {summary: It is done., details: Nothing was found.}\n", text, s.Calls-1, delay)
			fmt.Fprintf(&b, "  - when: {role: worker, text: '%s'}\n    reply:\n      delay: %s\n      calls:\n"+
				"        - tool: read_file\n          args: {path: note.md}\n", text, delay)
		}
	}
	for _, n := range []int{1, slowAgents, manyWaiting} {
		spawn(slowTree(n), "take your time", n)
	}
	b.WriteString("  - when: {role: worker, text: '^take your time'}\n    reply: {delay: 300s, text: Nobody waits for this.}\n" +
		"  - when: {role: main, text: '^" + plainTurn + "', results: false, tools: [read_file]}\n    reply:\n      calls:\n" +
		"        - tool: read_file\n          args: {path: note.md}\n" +
		"default:\n  text: That is how it stands at this point of the talk.\n")
	return b.String()
}

// The roles of the benchmark: limits that let every shape through.
const (
	mainRole = `---
name: main
description: Hands the work out.
mode: primary
model: strong
tools: [read_file]
can_delegate_to: [worker]
max_agents: 2000
max_parallel: 2000
max_tasks_per_call: 2000
max_duration: 1h
max_iterations: 100
---
role: main

Hand the work out.
`
	workerRole = `---
name: worker
description: Reads a file and reports.
mode: subagent
model: balanced
tools: [read_file]
max_duration: 1h
max_iterations: 100
---
role: worker

Read the file and report.
`
)

// furnish fills a workspace.
func furnish(folder string) error {
	for name, text := range map[string]string{
		".retinue/agents/main.md": mainRole, ".retinue/agents/worker.md": workerRole,
		"note.md": "A note of a few words, to be read again and again.\n",
	} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
