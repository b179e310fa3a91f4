package role

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
)

// trusted reads a role from a folder that may allow things.
func trusted(t *testing.T, lines ...string) *draft {
	t.Helper()
	d, err := read(source{file: "x.md", data: []byte(roleFile(lines...)), trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPermissionModesInTheWordsOfEveryProgram(t *testing.T) {
	const unset = string(agent.PolicyUnset)
	want := map[string][4]string{ // read_file, edit_file, shell, mcp__x__y
		"default": {unset, unset, unset, unset}, "confirm_risky": {unset, unset, unset, unset},
		"acceptEdits": {unset, "allow", unset, unset}, "dontAsk": {"allow", "deny", "deny", "deny"},
		"bypassPermissions": {"allow", "allow", "allow", "allow"}, "never_confirm": {"allow", "allow", "allow", "allow"},
		"always_confirm": {"ask", "ask", "ask", "ask"}, "plan": {unset, unset, unset, unset},
	}
	for mode, verdicts := range want {
		d := trusted(t, "permissionMode: "+mode, "tools: [Read, Edit, Bash, 'mcp__x__*']")
		var got [4]string
		for i, tool := range []string{"read_file", "edit_file", "shell", "mcp__x__y"} {
			got[i] = string(d.Verdict(tool, "anything"))
		}
		if diff := cmp.Diff(verdicts, got); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
		if all := len(d.Tools) == 4; all == (mode == "plan") {
			t.Errorf("%s leaves %v", mode, d.Tools)
		}
	}
	if d := trusted(t, "permissionMode: dontAsk", "permission: {bash: {'make *': allow}}"); d.Verdict("shell", "make test") != agent.PolicyAllow {
		t.Error("a rule of the file must win over its mode")
	}
}

func TestWhatIsDisallowedStaysAway(t *testing.T) {
	d := trusted(t, "tools: [Read, Bash, 'mcp__*', Agent, AskUserQuestion]",
		"disallowedTools: [Bash(rm:*), 'mcp__gh', Agent(coder), AskUserQuestion, Skill, submit_result]")
	if diff := cmp.Diff([]string{"mcp__*", "read_file", "shell"}, d.Tools); diff != "" {
		t.Error(diff)
	}
	for call, want := range map[[2]string]agent.Policy{
		{"shell", "rm -rf x"}: agent.PolicyDeny, {"shell", "rm"}: agent.PolicyDeny, {"shell", "ls"}: agent.PolicyUnset,
		{"mcp__gh__merge", ""}: agent.PolicyDeny, {"mcp__db__read", ""}: agent.PolicyUnset,
	} {
		if got := d.Verdict(call[0], call[1]); got != want {
			t.Errorf("%v is %q, want %q", call, got, want)
		}
	}
	if diff := cmp.Diff([]string{"*", "!coder"}, d.patterns); diff != "" || d.CanAsk {
		t.Errorf("asks %v\n%s", d.CanAsk, diff)
	}
	if d := trusted(t, "tools: [Read, mcp__x]", "disallowed-tools: '*'"); len(d.Tools) > 0 {
		t.Errorf("left are %v", d.Tools)
	}
}

func TestToolsAreKnownByTheNamesOfEveryProgram(t *testing.T) {
	for names, want := range map[string]string{
		"Read, read, NotebookRead, view, read_file, ReadFile": "read_file",
		"Write, write, write_file":                            "write_file",
		"Edit, MultiEdit, NotebookEdit, edit, patch":          "edit_file",
		"Bash, bash, BashOutput, KillShell, terminal":         "shell",
		"LS, ls, list":                        "list_dir",
		"Glob, glob":                          "glob",
		"Grep, grep":                          "grep",
		"WebFetch, webfetch":                  "web_fetch",
		"WebSearch, websearch, tavily_search": "web_search",
		"TodoWrite, TodoRead, todowrite, todoread": "todo",
		"read_*":             "read_file read_image",
		"mcp__github":        "mcp__github__*",
		"mcp__github__merge": "mcp__github__merge",
		"github_*, github*":  "mcp__github* mcp__github__*",
		"*":                  strings.Join(ToolNames(), " "),
		"Task, Agent, ExitPlanMode, submit_result": "",
	} {
		if got := strings.Join(trusted(t, fmt.Sprintf("tools: %q", names)).Tools, " "); got != want {
			t.Errorf("%s are %s, want %s", names, got, want)
		}
	}
}

func TestPatternsMatchWholeTexts(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"git *", "git", true},
		{"git *", "git log", true},
		{"git *", "gitk", false},
		{"git*", "gitk", true},
		{"*", "", true},
		{"**/*.go", "a/b/c.go", true},
		{"*.go", "a/b.go", true},
		{"*.go", "a.gox", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"", "x", false},
		{"*a*b*c*", "xaxbxc", true},
		{strings.Repeat("*a", 30) + "b", strings.Repeat("a", 5000), false},
	} {
		if got := matches(test.pattern, test.text); got != test.want {
			t.Errorf("%.20q matches %.20q: %v", test.pattern, test.text, got)
		}
	}
}
