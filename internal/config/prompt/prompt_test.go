package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// leftover is anything that looks as if it should have been replaced.
var leftover = regexp.MustCompile(`\{\{|\}\}|<no value>|%!`)

func text(stretches []Stretch) string {
	var parts []string
	for _, s := range stretches {
		parts = append(parts, s.Text)
	}
	return strings.Join(parts, "\n\n")
}

// prompts reads the prompts and the roles of a place.
func prompts(t *testing.T, from role.Sources) *Set {
	t.Helper()
	registry, err := role.Load(from)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(registry)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func roleIn(t *testing.T, p *Set, name string) role.Role {
	t.Helper()
	found, err := p.roles.Role(name)
	if err != nil {
		t.Fatalf("%v; warnings: %v", err, p.roles.Warnings)
	}
	return found
}

// files writes files below a new folder and gives its path.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range texts {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

//
func TestNoPlaceholderSurvivesAnywhere(t *testing.T) {
	p := prompts(t, role.Sources{Preset: "software_team"})
	written := 0
	for _, role := range p.roles.Roles() {
		for depth := range 4 {
			for _, criteria := range []string{"", "All tests pass."} {
				prompt, err := p.For(Situation{
					Role: role, Depth: depth, Parent: "main", Task: "Fix the build.", Criteria: criteria, Limits: role.Limits,
					Cwd: "/work", Platform: "linux/amd64", Date: "2026-11-15", Guides: []Guide{{File: "AGENTS.md", Text: "Be kind."}},
				})
				if err != nil {
					t.Fatal(err)
				}
				all := text(prompt)
				if found := leftover.FindString(all); found != "" {
					t.Errorf("%s at depth %d: %q is left in\n%s", role.Name, depth, found, all)
				}
				if has := strings.Contains(all, "<success_criteria>"); has != (criteria != "" && depth > 0) {
					t.Errorf("%s at depth %d with criteria %q: criteria shown: %v", role.Name, depth, criteria, has)
				}
				written++
			}
		}
	}
	t.Logf("%d prompts", written)
}

func TestWordsOfPeopleAreNeverReplaced(t *testing.T) {
	p := prompts(t, role.Sources{})
	coder := roleIn(t, p, "coder")
	coder.Prompt = "Body {{ROLE}} {{.TASK}}"
	odd := "Explain {{ROLE}}, {{.TASK}}, {{if .X}} and {{/* this */}} & <b>"
	prompt, err := p.For(Situation{
		Role: coder, Depth: 1, Parent: "main", Task: odd, Criteria: "c " + odd, Limits: coder.Limits,
		Guides: []Guide{{File: "AGENTS.md", Text: "g " + odd}}, Files: []string{"a {{ROLE}}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{odd, "c " + odd, "g " + odd, "Body {{ROLE}} {{.TASK}}", "- a {{ROLE}}"} {
		if !strings.Contains(text(prompt), want) {
			t.Errorf("%q is not in the prompt as written", want)
		}
	}
}

//
func TestSubAgentsAreToldTheirSituation(t *testing.T) {
	p := prompts(t, role.Sources{})
	coder := roleIn(t, p, "coder")
	say := func(s Situation) string {
		s.Role, s.Parent, s.Task = coder, "planner", "Add a cache."
		s.Limits = coder.Limits
		prompt, err := p.For(s)
		if err != nil {
			t.Fatal(err)
		}
		return text(prompt)
	}
	first, second, silent := say(Situation{Depth: 1}), say(Situation{Depth: 2}), say(Situation{Depth: 1, Silent: true})
	for _, want := range []string{
		"You are operating as a **coder** sub-agent (depth 1/2).", "Your parent agent is planner.", "Add a cache.",
		"Max iterations: 30", "Time limit: 5 minutes", "You CAN delegate", "Available delegations: tester.",
		"call `submit_result` once, alone", "`ask_user`", "End every turn with a tool call or with your final answer.",
		"## Delegation", "**tester**: ",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("depth 1 is not told %q", want)
		}
	}
	for _, never := range []string{"You CAN delegate", "Available delegations", "## Delegation", "spawn_agents"} {
		if strings.Contains(second, never) {
			t.Errorf("the deepest level is told %q", never)
		}
	}
	if !strings.Contains(second, "You CANNOT delegate") || strings.Contains(silent, "`ask_user`") {
		t.Error("the deepest level must be told that it cannot delegate, and nobody to ask without a person")
	}
}

// A role that must show evidence is told so, and no other.
func TestEvidenceIsAskedFor(t *testing.T) {
	const told = "Your result counts only if your calls show something for it"
	root := files(t, map[string]string{
		".retinue/agents/prover.md": "---\ndescription: A role.\nevidence: required\n---\nDo it.\n", ".retinue/agents/teller.md": "---\ndescription: A role.\nevidence: optional\n---\nDo it.\n",
	})
	p := prompts(t, role.Sources{Project: root})
	for name, want := range map[string]bool{"prover": true, "teller": false, "coder": false} {
		of := roleIn(t, p, name)
		prompt, err := p.For(Situation{Role: of, Parent: "main", Task: "Do it.", Depth: 1, Limits: of.Limits})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text(prompt), told) != want || of.Spec().Evidence != want {
			t.Errorf("%s: told so %t, in its spec %t, want %t", name, !want, of.Spec().Evidence, want)
		}
	}
}

//
func TestOrchestratorIsShownOnlyWhomItMayAsk(t *testing.T) {
	root := files(t, map[string]string{
		".retinue/agents/main.md":   "---\ndescription: A role.\nmode: primary\ncan_delegate_to: [tester, coder]\n---\nDo it.\n",
		".retinue/agents/secret.md": "---\ndescription: A role.\n---\nDo it.\n",
	})
	p := prompts(t, role.Sources{Project: root})
	orchestrator := roleIn(t, p, "main")
	prompt, err := p.For(Situation{Role: orchestrator, Limits: orchestrator.Limits})
	if err != nil {
		t.Fatal(err)
	}
	all := text(prompt)
	for _, want := range []string{"**coder**: ", "**tester**: ", "30 iterations, 5 minutes", "Cost: medium", "### When not to delegate", "`reply_to_agent`"} {
		if !strings.Contains(all, want) {
			t.Errorf("missing %q", want)
		}
	}
	for _, never := range []string{"**secret**", "**reviewer**", "submit_result", "sub-agent context"} {
		if strings.Contains(all, never) {
			t.Errorf("it is told %q", never)
		}
	}
}

// the work that each role is for, and the work that no role is for.
func TestMainKnowsWhenToDelegate(t *testing.T) {
	p := prompts(t, role.Sources{})
	orchestrator := roleIn(t, p, "main")
	prompt, err := p.For(Situation{Role: orchestrator, Limits: orchestrator.Limits})
	if err != nil {
		t.Fatal(err)
	}
	all := text(prompt)
	for name, words := range map[string][]string{
		"**coder**":    {"new features and components", "several files", "complex refactoring"},
		"**tester**":   {"unit and integration tests", "runs them", "test-driven"},
		"**reviewer**": {"before it is committed", "security", "architecture"},
		"**planner**":  {"into steps", "architecture decision", "roadmap"},
		"**debugger**": {"failing tests", "runtime errors", "slowness"},
		"When not":     {"Simple questions", "single file", "five minutes", "conversation with the person"},
		"How to de":    {"specific task", "files by path", "success criteria", "Read every report"},
	} {
		_, section, found := strings.Cut(all, name)
		if end := strings.Index(section, "\n\n**"); end > 0 {
			section = section[:end]
		}
		for _, word := range words {
			if !found || !strings.Contains(section, word) {
				t.Errorf("%s: nothing about %q", name, word)
			}
		}
	}
}

func TestWhatChangesLeastComesFirst(t *testing.T) {
	p := prompts(t, role.Sources{})
	coder := roleIn(t, p, "coder")
	say := func(task, date string) []Stretch {
		prompt, err := p.For(Situation{Role: coder, Depth: 1, Parent: "main", Task: task, Limits: coder.Limits, Date: date})
		if err != nil {
			t.Fatal(err)
		}
		return prompt
	}
	a, b := say("one", "2026-11-15"), say("two", "2026-11-16")
	if len(a) != 3 || a[0] != b[0] || !a[0].Cache || a[1] == b[1] || a[2] == b[2] {
		t.Errorf("stretches: %v %v", a, b)
	}
}

func TestARolesOwnCriteriaCountWhenTheCallerGivesNone(t *testing.T) {
	p := prompts(t, role.Sources{})
	coder := roleIn(t, p, "coder")
	coder.Criteria = "It builds."
	for given, want := range map[string]string{"": "It builds.", "It is fast.": "It is fast."} {
		prompt, err := p.For(Situation{Role: coder, Depth: 1, Criteria: given, Limits: coder.Limits})
		if err != nil || !strings.Contains(text(prompt), "<success_criteria>\n"+want+"\n</success_criteria>") {
			t.Errorf("with %q: %v\n%s", given, err, text(prompt))
		}
	}
}

func TestUnknownVariablesAreFoundAtLoad(t *testing.T) {
	for _, bad := range []string{"{{.Nobody}}", "{{if .Criteria}}{{.Nobody}}{{end}}", "{{if not .Criteria}}{{.Nobody}}{{end}}"} {
		set := template.Must(template.ParseFS(promptFiles, "prompts/*.md"))
		template.Must(set.New("subagent.md").Parse(bad))
		if err := try(set); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	entries, err := os.ReadDir("prompts")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := samples[e.Name()]; !ok {
			t.Errorf("%s is never tried", e.Name())
		}
	}
}

func TestSidePromptsSayWhatToAnswer(t *testing.T) {
	p := prompts(t, role.Sources{})
	q := OpenQuestion{ID: "c/1.0.0#3.0", Role: "coder", Text: "Which {{DB}}?"}
	tests := map[string]struct {
		text func() (string, error)
		want []string
	}{
		"resolve": {func() (string, error) {
			return p.Resolve(Asking{Question: q, Task: "Add a table.", Options: []string{"Postgres", "SQLite"}})
		}, []string{q.ID, q.Text, "Add a table.", "- SQLite", "`reply_to_agent`", "`relay_to_user`", "0.7"}},
		"route": {
			func() (string, error) { return p.Route("the {{second}}", []OpenQuestion{q}) },
			[]string{q.ID, q.Text, "the {{second}}", `"route"`, "- answer:", "- decline:", "- stop:", "- request:", "- unclear:"},
		},
		"compact": {func() (string, error) { return p.Compact([]string{"c/4.0.0"}) }, []string{"- c/4.0.0", "Dead ends"}},
		"title":   {func() (string, error) { return p.Title("hello {{x}}") }, []string{"hello {{x}}"}},
	}
	for name, test := range tests {
		got, err := test.text()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not contain %q", name, want)
			}
		}
	}
}

func TestNearestInstructionsComeLastAndAreServedFirst(t *testing.T) {
	long := strings.Repeat("é", guidesCap/2-10) // two bytes each
	root := files(t, map[string]string{
		"AGENTS.md": "\ufeffroot\r\n" + strings.Repeat("r", 100), "CLAUDE.md": "never read",
		"pkg/CLAUDE.md": "claude", "pkg/deep/AGENTS.md": long, "other/AGENTS.md": "elsewhere",
	})
	home := files(t, map[string]string{".config/AGENTS.md": "mine"})
	guides, warnings := Guides(role.Sources{Project: root, Home: home}, filepath.Join(root, "pkg", "deep"))
	if len(warnings) > 0 {
		t.Error(warnings)
	}
	var got []string
	for _, g := range guides {
		got = append(got, fmt.Sprintf("%s %d/%d %v", g.File, g.Kept, g.Size, g.Cut))
	}
	want := []string{
		"~/.config/AGENTS.md 0/4 true", "AGENTS.md 14/105 true", "pkg/CLAUDE.md 6/6 false",
		fmt.Sprintf("pkg/deep/AGENTS.md %d/%d false", len(long), len(long)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p := prompts(t, role.Sources{})
	prompt, err := p.For(Situation{Role: roleIn(t, p, "main"), Guides: guides})
	if err != nil || !strings.Contains(text(prompt), "(AGENTS.md was cut here at 14 of 105 bytes. Read the file for the rest.)") {
		t.Errorf("the cut is not mentioned: %v", err)
	}
}

func TestLongDescriptionsAreClippedForOthers(t *testing.T) {
	root := files(t, map[string]string{
		".retinue/agents/wordy.md": "---\ndescription: '" + strings.Repeat("wörds and more ", 200) + "'\n---\nDo.\n",
	})
	p := prompts(t, role.Sources{Project: root})
	orchestrator := roleIn(t, p, "main")
	for _, d := range p.delegates(Situation{Role: orchestrator, Limits: orchestrator.Limits}) {
		if len(d.Description) > describeCap+len(" …") || (d.Name == "wordy" && !strings.HasSuffix(d.Description, " …")) {
			t.Errorf("%s: %d bytes: %s", d.Name, len(d.Description), d.Description)
		}
	}
}

func BenchmarkPrompt(b *testing.B) {
	registry, err := role.Load(role.Sources{})
	if err != nil {
		b.Fatal(err)
	}
	p, err := Load(registry)
	if err != nil {
		b.Fatal(err)
	}
	orchestrator, err := registry.Role("main")
	if err != nil {
		b.Fatal(err)
	}
	bytes := 0
	for b.Loop() {
		prompt, err := p.For(Situation{Role: orchestrator, Limits: orchestrator.Limits})
		if err != nil {
			b.Fatal(err)
		}
		bytes = len(text(prompt))
	}
	b.ReportMetric(float64(bytes), "prompt-bytes")
}
