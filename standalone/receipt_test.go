package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// claims has one sub-agent that lies and one that is honest.
const claims = `
name: claims
rules:
  - name: hand out
    when: {system: '(?m)^You are the main agent', turn: 0}
    reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: "Lie."}, {role: coder, task: "Write."}]}}]}
  - {name: lie, when: {text: 'Lie', turn: 0}, reply: {calls: [{tool: submit_result, args: {summary: 'All done.', files_modified: [note.md], tests_run: 5, tests_passed: 5}}]}}
  - {name: read, when: {text: 'Write', turn: 0}, reply: {calls: [{tool: read_file, args: {path: note.md}}]}}
  - {name: write, when: {text: 'Write', turn: 1}, reply: {calls: [{tool: write_file, args: {path: note.md, content: "Two.\n"}}]}}
  - {name: say so, when: {text: 'Write', turn: 2}, reply: {calls: [{tool: submit_result, args: {summary: 'Written.', files_modified: [note.md]}}]}}
default: {text: "One of them lied."}`

// TestRunShowsReceipts shows the output for people and programs about true and false claims.
func TestRunShowsReceipts(t *testing.T) {
	ask := func(format string) said {
		w := newProject(t, "claims")
		if err := os.WriteFile(filepath.Join(w.dir, "work", "note.md"), []byte("One.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return finish(t, w.retinue("run", "--set", "permissions.allow=write_file", "--output-format", format, "Do it"))
	}
	lies := "✗ contradicted: modified note.md: nothing in the run touched it; 5 of 5 tests passed: no tests were run"
	text := ask("text")
	for _, want := range []string{
		"main/1.0.0 general: " + lies + "\n", "main/1.0.1 coder: ✓ verified\n",
		"conversation ID\nmain/1.0.0 general: " + lies + "\n",
	} {
		if !strings.Contains(text.Stderr, want) {
			t.Errorf("the text does not say %q", want)
		}
	}
	if text.Code != exitDone || t.Failed() {
		t.Errorf("exit code %d\n%s", text.Code, text.Stderr)
	}
	told := ask("json")
	checkReceipts(t, []byte(told.Stdout))
	stream := ask("stream-json")
	lines := strings.Split(strings.TrimSpace(stream.Stdout), "\n")
	checkReceipts(t, []byte(lines[len(lines)-1]))
	events := map[string]string{}
	for _, line := range lines {
		var e struct {
			Type    string `json:"type"`
			Agent   string `json:"agent_path"`
			Receipt struct {
				Verdict string `json:"verdict"`
			} `json:"receipt"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		if e.Type == "agent.completed" {
			events[e.Agent] = e.Receipt.Verdict
		}
	}
	if diff := cmp.Diff(map[string]string{"main/1.0.0": "contradicted", "main/1.0.1": "verified"}, events); diff != "" {
		t.Errorf("verdicts in the stream (-want +got):\n%s", diff)
	}
}

// checkReceipts compares the result that a program reads with the real effects.
func checkReceipts(t *testing.T, body []byte) {
	t.Helper()
	var told struct {
		Type    string
		Verdict string
		Agents  []struct {
			Agent   string `json:"agent_path"`
			Receipt *struct {
				Verdict string
				Facts   struct {
					Changed []struct{ Path, Before, After string }
				}
			}
		}
	}
	if err := json.Unmarshal(body, &told); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if told.Type != "result" || told.Verdict != "contradicted" || len(told.Agents) != 3 || told.Agents[0].Receipt != nil {
		t.Fatalf("%s", body)
	}
	liar, writer := told.Agents[1].Receipt, told.Agents[2].Receipt
	if liar == nil || writer == nil || liar.Verdict != "contradicted" || len(liar.Facts.Changed) != 0 || writer.Verdict != "verified" {
		t.Fatalf("%s", body)
	}
	if c := writer.Facts.Changed; len(c) != 1 || c[0].Path != "note.md" || c[0].Before == "" || c[0].Before == c[0].After {
		t.Errorf("what the writer changed: %+v", c)
	}
}
