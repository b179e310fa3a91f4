package role

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
)

// fixture loads a project and a home with role files in the formats of several programs.
func fixture(t *testing.T) *Registry {
	t.Helper()
	root, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return load(t, Sources{Project: filepath.Join(root, "project"), Home: filepath.Join(root, "home")})
}

func load(t *testing.T, from Sources) *Registry {
	t.Helper()
	r, err := Load(from)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func named(t *testing.T, r *Registry, name string) Role {
	t.Helper()
	found, err := r.Role(name)
	if err != nil {
		t.Fatalf("%v; warnings: %v", err, r.Warnings)
	}
	return found
}

// facts is what a role file is expected to mean.
type facts struct {
	Name, Model, Effort string
	Tools               string
	Delegates           string
	Iterations          int
	Seconds             float64
	CostMicros          int64
	Write, Network      bool
	Mode                Mode
	Rules               string
}

func factsOf(r Role) facts {
	var rules []string
	for _, rule := range r.Rules {
		rules = append(rules, rule.String())
	}
	own := needs(r.Tools)
	return facts{
		Name: r.Name, Model: r.Model, Effort: r.Effort, Tools: strings.Join(r.Tools, " "),
		Delegates: strings.Join(r.Delegates, " "), Iterations: r.Limits.Iterations,
		Seconds: float64(r.Limits.Time) / 1000, CostMicros: r.Limits.Cost,
		Write: own.Write, Network: own.Network, Mode: r.Mode, Rules: strings.Join(rules, "; "),
	}
}

const reading = "glob grep list_dir read_file read_image think todo"

func TestFilesOfOtherProgramsMeanWhatTheySay(t *testing.T) {
	r := fixture(t)
	tests := []struct {
		name string
		want facts
	}{
		{"code-reviewer", facts{
			Name: "code-reviewer", Model: "strong", Tools: "glob grep read_file shell", Write: true, Mode: ModeAll,
			Iterations: 20, Seconds: 300, Rules: "deny shell(*); ask shell(git diff *); ask shell(git log *)",
		}},
		{"test-runner", facts{
			Name: "test-runner", Model: "inherit", Effort: "high", Tools: "edit_file read_file shell todo", Write: true,
			Mode: ModeAll, Iterations: 12, Seconds: 300, Rules: "deny shell(rm *)",
		}},
		{"api-architect", facts{
			Name: "api-architect", Model: "balanced", Tools: reading, Mode: ModeAll, Iterations: 20, Seconds: 300,
		}},
		{"tech_lead", facts{
			Name: "Tech Lead", Model: "claude-fable-9", Tools: "list_dir read_file", Delegates: "code-reviewer test-runner",
			Mode: ModeAll, Iterations: 20, Seconds: 300,
		}},
		{"docs-writer", facts{
			Name: "docs-writer", Model: "inherit", Write: true, Network: true, Mode: ModeAll, Iterations: 20, Seconds: 300,
			Tools: "edit_file mcp__context7__search mcp__github__* read_file write_file",
		}},
		{"windows-builder", facts{
			Name: "windows-builder", Model: "fast", Tools: "read_file shell", Write: true, Mode: ModeAll,
			Iterations: 9, Seconds: 300,
		}},
		{"review", facts{
			Name: "review", Model: "anthropic/claude-sonnet-4-20250514", Tools: "glob grep list_dir read_file read_image shell think todo",
			Write: true, Mode: ModeSubagent, Iterations: 20, Seconds: 300,
		}},
		{"build", facts{
			Name: "build", Model: "openai/gpt-5", Tools: "edit_file glob grep list_dir read_file read_image shell think todo write_file",
			Write: true, Mode: ModeAll, Iterations: 25, Seconds: 300,
			Rules: "ask edit_file; ask write_file; ask shell(*); ask shell(git *); deny shell(git push *); deny web_fetch",
		}},
		{"dispatch", facts{
			Name: "dispatch", Model: "inherit", Tools: reading, Delegates: "code-reviewer review reviewer",
			Mode: ModeAll, Iterations: 20, Seconds: 300,
		}},
		{"docs", facts{
			Name: "docs", Model: "inherit", Tools: "grep mcp__context7__* read_file", Write: true, Network: true,
			Mode: ModeAll, Iterations: 20, Seconds: 300,
		}},
		{"security-auditor", facts{
			Name: "security_auditor", Model: "inherit", Tools: "edit_file shell todo", Write: true, Mode: ModeAll,
			Iterations: 40, Seconds: 300, CostMicros: 1_250_000, Rules: "ask *",
		}},
		{"release", facts{
			Name: "release", Model: "strong", Effort: "low", Tools: "mcp__github__* read_file shell", Write: true, Network: true,
			Delegates: "code-reviewer tester", Mode: ModeAll, Iterations: 7, Seconds: 90, CostMicros: 500_000,
		}},
		{"night job", facts{
			Name: "night-job", Model: "inherit", Tools: "read_file shell", Write: true, Mode: ModeAll,
			Iterations: 100, Seconds: 7200,
		}},
		{"translator", facts{
			Name: "translator", Model: "inherit", Tools: "read_file write_file", Write: true, Mode: ModeAll,
			Iterations: 20, Seconds: 300, Rules: "allow *",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, factsOf(named(t, r, test.name))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFilesThatCannotBeUsedAreNamedAndNothingElseSuffers(t *testing.T) {
	r := fixture(t)
	want := []string{
		`.retinue/agents/night-job.md:5:1: maxItterations is not a field of a role; it is kept and has no effect (did you mean max_iterations?)`,
		`.agents/agents/security-auditor.md:9:1: condenser is kept, but has no effect here`,
		`.claude/agents/README.md:1:1: not used: there is no front matter: the first line must be ---`,
		`.claude/agents/backend/api-architect.md:3:1: the value contains a colon and must be quoted; it was read as one text`,
		`.claude/agents/broken.md:4:8: not used: tools: there is no tool "Reed": did you mean "Read"? known are ` + strings.Join(ToolNames(), ", "),
		`.claude/agents/code-reviewer.md:1:1: this project is not trusted, so its roles ask before they write; list it under trust to change that`,
		`.claude/agents/docs-writer.md:4:8: the tool Skill does not exist here and is left out`,
		`.claude/agents/docs-writer.md:6:1: skills is kept, but has no effect here`,
		`.claude/agents/docs-writer.md:7:1: memory is kept, but has no effect here`,
		`.claude/agents/docs-writer.md:5:1: this project is not trusted, so its roles ask before they write; list it under trust to change that`,
		`.opencode/agents/build.md:6:1: this project is not trusted, so its roles ask before they write; list it under trust to change that`,
		`.opencode/agents/docs.md:5:1: top_p is kept, but has no effect here`,
		`.opencode/agents/syntax.md:5:2: not used: value is not allowed in this context`,
	}
	var got []string
	for _, w := range r.Warnings {
		got = append(got, w.Error())
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) && !strings.Contains(line, `no role "nobody"`) {
			t.Errorf("unexpected: %s", line)
		}
	}
	for _, name := range []string{"broken", "retired", "syntax", "README"} {
		if found, err := r.Role(name); err == nil {
			t.Errorf("%s was loaded from %s", name, found.File)
		}
	}
}

func TestNearerFilesHideOthersOfTheSameName(t *testing.T) {
	r := fixture(t)
	if got, want := named(t, r, "CodeReviewer").Shadows, []string{".opencode/agents/code_reviewer.md"}; !slices.Equal(got, want) {
		t.Errorf("shadows %v, want %v", got, want)
	}
	if got, want := named(t, r, "review").Shadows, []string{"~/.config/opencode/agents/review.md"}; !slices.Equal(got, want) {
		t.Errorf("shadows %v, want %v", got, want)
	}
}

func TestOriginsNameFileAndLine(t *testing.T) {
	release := named(t, fixture(t), "release")
	for field, want := range map[string]string{
		"model": ".retinue/agents/release.md:5", "max_cost_usd": ".retinue/agents/release.md:12",
	} {
		if got := release.Origins[field].String(); got != want {
			t.Errorf("%s comes from %s, want %s", field, got, want)
		}
	}
	if got := named(t, fixture(t), "api-architect").Origins["tools"].String(); got != "default (read-only)" {
		t.Errorf("tools come from %s", got)
	}
}

func TestTrustedProjectsMayAllow(t *testing.T) {
	root, err := filepath.Abs("testdata/project")
	if err != nil {
		t.Fatal(err)
	}
	build := named(t, load(t, Sources{Project: root, Trusted: true}), "build")
	for command, want := range map[string]agent.Policy{
		"make": agent.PolicyAsk, "git status": agent.PolicyAllow, "git": agent.PolicyAllow,
		"git push": agent.PolicyDeny, "git push origin": agent.PolicyDeny, "github": agent.PolicyAsk,
	} {
		if got := build.Verdict("shell", command); got != want {
			t.Errorf("%q is %q, want %q", command, got, want)
		}
	}
	if got := build.Verdict("read_file", "x"); got != agent.PolicyUnset {
		t.Errorf("read_file is %q", got)
	}
}

func TestPromptsOfOtherFilesAreRead(t *testing.T) {
	r := fixture(t)
	if got, want := named(t, r, "docs").Prompt, "Answer from the docs folder only.\nSay where it stands."; got != want {
		t.Errorf("prompt %q, want %q", got, want)
	}
	if got, want := named(t, r, "windows-builder").Prompt, "Build it.\nThen say what broke."; got != want {
		t.Errorf("prompt %q, want %q", got, want)
	}
}
