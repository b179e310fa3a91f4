package role

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
)

func TestComplaintsNameThePlace(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"no front matter", "Just text.", "1:1: there is no front matter: the first line must be ---"},
		{"no end", "---\nname: x\n", "1:1: the front matter has no end: a line with --- alone"},
		{"no description", "---\nname: x\n---\nDo.", "1:1: description is missing: say when to use this role"},
		{"no instructions", "---\ndescription: x\n---\n", "1:1: there are no instructions below the front matter"},
		{"bad limit", roleFile("maxTurns: many"), "3:11: maxTurns: expected a whole number from 1 to 1000"},
		{"zero limit", roleFile("steps: 0"), "3:8: steps: expected a whole number from 1 to 1000"},
		{"bad time", roleFile("max_duration: soon"), "3:15: max_duration: expected a time such as 90s or 5m"},
		{"no time", roleFile("max_duration_ms: 0"), "3:18: max_duration_ms: expected a time above zero and up to 168h0m0s"},
		{"bad money", roleFile("max_cost_usd: -1"), "3:15: max_cost_usd: expected an amount of US dollars above zero"},
		{"bad mode", roleFile("mode: primry"), `3:7: mode: "primry" is not among the words for it: did you mean "primary"? known are primary, subagent, all`},
		{"bad evidence", roleFile("evidence: maybe"), `3:11: evidence: "maybe" is not among the words for it: known are optional, required`},
		{"bad verdict", roleFile("permission:", "  bash:", "    '*': perhaps"), `5:10: permission: bash: "perhaps" is not among the words for it: known are allow, ask, deny`},
		{"bad temperature", roleFile("temperature: hot"), "3:14: temperature: expected a number from 0 to 2"},
		{"bad permission mode", roleFile("permissionMode: yolo"), `3:17: permissionMode: "yolo" is not a permission mode: known are default, confirm_risky, accept_edits, plan, dont_ask, always_ask, always_confirm, bypass, bypassPermissions, never_confirm`},
		{"twice", roleFile("a: 1", "a: 2"), `4:1: mapping key "a" already defined`},
		{"alias", roleFile("a: &x 1", "b: *x"), "3:4: anchor cannot be used here; write the value out"},
		{"bad name", roleFile("name: ../etc"), `1:1: "../etc" cannot be a name: use letters, digits, - and _, up to 64 bytes`},
		{"taken name", roleFile("name: Bash", "expose_as_tool: true"), "1:1: expose_as_tool: Bash is already the name of a tool"},
		{"name of no tool", roleFile("name: prüfer", "expose_as_tool: true"), "1:1: expose_as_tool: prüfer cannot be the name of a tool: use a to z, digits, - and _"},
		{"not text", "---\ndescription: \xff\n---\nDo.", "1:1: the file is not UTF-8 text"},
		{"tool in a table", roleFile("tools:", "  bsh: true"), `4:3: tools: there is no tool "bsh": did you mean "Bash"? known are ` + strings.Join(ToolNames(), ", ")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := read(source{file: "x.md", data: []byte(test.file)})
			if err == nil {
				t.Fatal("it was read")
			}
			got := strings.TrimPrefix(placed("x.md", err).Error(), "x.md:")
			if diff := cmp.Diff(test.want, strings.Replace(got, "not used: ", "", 1)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEverySpellingOfALimitIsRead(t *testing.T) {
	for _, line := range []string{"maxTurns: 7", "max_turns: 7", "max-turns: 7", "MaxTurns: 7", "steps: 7", "max_iterations: 7", "maxIterations: 7", "max_iteration_per_run: 7"} {
		d, err := read(source{file: "x.md", data: []byte(roleFile(line))})
		if err != nil || d.Limits.Iterations != 7 {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, want := range map[string]int64{
		"max_duration: 5m": 300_000, "max_duration: 90": 90_000, "maxDurationMs: 1500": 1500, "timeout: 1.5": 1500,
		"max_duration_seconds: 2": 2000, "timeout_ms: 250": 250, "max_duration: 1h30m": 5_400_000,
	} {
		d, err := read(source{file: "x.md", data: []byte(roleFile(line))})
		if err != nil || d.Limits.Time != want {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, want := range map[string]int64{
		"max_cost_usd: 0.1": 100_000, "max_budget_per_run: 2": 2_000_000, "maxBudgetUsd: $0.0000001": 1,
	} {
		d, err := read(source{file: "x.md", data: []byte(roleFile(line))})
		if err != nil || d.Limits.Cost != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestPermissionsDecideWhichToolsAreThere(t *testing.T) {
	for permission, want := range map[string]string{
		`{edit: deny, bash: allow}`:                               reading + " shell",
		`{edit: {"**/.git/**": deny, "*.lock": deny}}`:            "edit_file " + reading + " write_file",
		`{bash: {"rm *": deny, "*": deny}}`:                       reading,
		`{bash: {"*": deny, "git *": ask}}`:                       "glob grep list_dir read_file read_image shell think todo",
		`{"*": deny, read: allow, grep: ask}`:                     "grep read_file",
		`deny`:                                                    "",
		`{skill: {x: allow}, lsp: deny, external_directory: ask}`: reading,
	} {
		d, err := read(source{file: "x.md", data: []byte(roleFile("permission: " + permission))})
		if err != nil {
			t.Errorf("%s: %v", permission, err)
			continue
		}
		words := strings.Fields(want)
		slices.Sort(words)
		if got := strings.Join(d.Tools, " "); got != strings.Join(words, " ") {
			t.Errorf("%s gives %s, want %s", permission, got, want)
		}
	}
}

func TestFieldsThatSayNothingAreNoWarning(t *testing.T) {
	d, err := read(source{file: "x.md", data: []byte(roleFile("mcpServers:", "hooks: ~", "background: false", "name: 번역가"))})
	if err != nil || len(d.warnings) > 0 || d.Name != "번역가" {
		t.Errorf("%v %v", err, d.warnings)
	}
}

func TestTheFirstOfTwoSpellingsCounts(t *testing.T) {
	d, err := read(source{file: "x.md", data: []byte(roleFile("maxTurns: 3", "steps: 4"))})
	if err != nil {
		t.Fatal(err)
	}
	want := []document.Warning{{File: "x.md", Line: 4, Column: 1, Text: "steps is ignored: line 3 has said it already"}}
	if diff := cmp.Diff(want, d.warnings); diff != "" || d.Limits.Iterations != 3 {
		t.Errorf("%d iterations\n%s", d.Limits.Iterations, diff)
	}
}

func TestTheOrderOfFieldsDoesNotMatter(t *testing.T) {
	lines := []string{"tools: [Read, Bash, Grep]", "permission: {bash: deny}", "disallowedTools: [Grep]"}
	for range 3 {
		lines = append(lines[1:], lines[0])
		d, err := read(source{file: "x.md", data: []byte(roleFile(lines...))})
		if err != nil || !cmp.Equal(d.Tools, []string{"read_file"}) {
			t.Errorf("%v give %v: %v", lines, d.Tools, err)
		}
	}
}

func TestIsolationIsReadAsOtherProgramsWriteIt(t *testing.T) {
	for text, want := range map[string]agent.Isolation{"isolation: worktree": agent.IsolationWorktree, "Isolation: shared": agent.IsolationShared, "color: red": ""} {
		d, err := read(source{file: "x.md", data: []byte(roleFile(text))})
		if err != nil || d.Isolation != want || d.Spec().Isolation != want || len(d.warnings) != 0 {
			t.Errorf("%s gives %q: %v %v", text, d.Isolation, d.warnings, err)
		}
	}
	if _, err := read(source{file: "x.md", data: []byte(roleFile("isolation: container"))}); err == nil {
		t.Error("an isolation that there is not was taken")
	}
}

func TestFieldsThatMeanNothingAreKept(t *testing.T) {
	d, err := read(source{file: "x.md", data: []byte(roleFile("x_team: [a, 1, true, {k: null}]"))})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"x_team": []any{"a", 1.0, true, map[string]any{"k": nil}}}
	if diff := cmp.Diff(want, d.Extra); diff != "" || len(d.warnings) != 1 {
		t.Errorf("%v\n%s", d.warnings, diff)
	}
}

// FuzzFrontMatter: nothing panics, every complaint has a place, and a loaded role can be used.
func FuzzFrontMatter(f *testing.F) {
	seed := func(at string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Ext(at) == ".md" {
			data, err := os.ReadFile(at)
			f.Add(data)
			return err
		}
		return err
	}
	for _, dir := range []string{"testdata/project", "roles"} {
		if err := filepath.WalkDir(dir, seed); err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte(roleFile("tools: {\"*\": true}", "permission: {\"*\": deny, bash: {\"a*\": ask}}", "can_delegate: true")))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := read(source{file: "fuzz.md", data: data, from: document.FromFile})
		if err != nil {
			var c *document.Complaint
			if !errors.As(err, &c) || c.Line < 1 || c.Column < 1 || c.Text == "" {
				t.Fatalf("a complaint without a place: %v", err)
			}
			return
		}
		for _, w := range d.warnings {
			if w.File == "" || w.Line < 1 || w.Column < 1 || w.Text == "" {
				t.Fatalf("a warning without a place: %+v", w)
			}
		}
		d.fill(Defaults{})
		for _, d := range (&Registry{}).resolve([]*draft{d}) {
			snapshot, err := d.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			d.Hash = digest(snapshot)
			if err := checkSpec(d.Spec()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
