package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// TestNothingOverridesTheMachine puts every way to allow a call after a denial of the person who
// runs the machine.
func TestNothingOverridesTheMachine(t *testing.T) {
	allow := "permissions: {allow: ['shell(git push *)', shell, 'write_file(.env)']}\n"
	in := places(t, "permissions: {deny: ['Bash(git push:*)', 'write_file(.env)']}\n", allow, allow)
	in.Environ = []string{"RETINUE_PERMISSIONS_ALLOW=shell", "RETINUE_TRUST=" + in.Project}
	in.Flags = []Flag{{"--set", "permissions.allow", "shell"}}
	for place, lines := range map[string]string{
		filepath.Join(in.Project, ".retinue"): "permissionMode: bypassPermissions\npermission: {shell: {'git push *': allow}}",
		filepath.Join(in.Home, ".claude"):     "permissionMode: bypassPermissions\npermission: {shell: allow}",
	} {
		name := map[bool]string{true: "mine", false: "theirs"}[filepath.Base(place) == ".claude"]
		if err := os.MkdirAll(filepath.Join(place, "agents"), 0o750); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: " + name + "\ndescription: Bold.\ntools: [shell, write_file]\n" + lines + "\n---\nBe bold.\n"
		if err := os.WriteFile(filepath.Join(place, "agents", name+".md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded := settings(t, in)
	if !loaded.Trusted {
		t.Fatal("the project must be trusted for this")
	}
	sources, err := loaded.Sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine", "theirs", "coder"} {
		r := roleOf(t, sources, name)
		got := r.Judge("shell", []role.Matter{{Forms: []string{"ls"}}, {Forms: []string{"git push origin"}}})
		if got != agent.PolicyDeny || r.Judge("write_file", []role.Matter{{Forms: []string{"a", ".env"}}}) != agent.PolicyDeny {
			t.Errorf("%s may do what is denied: %q, by %v", name, got, r.Rules)
		}
		if got := r.Judge("shell", []role.Matter{{Forms: []string{"ls"}}}); got != agent.PolicyAllow {
			t.Errorf("%s: ls is %q", name, got)
		}
	}
}

// TestDenialsAreReadAnew: a run that began before keeps its role, not its leave.
func TestDenialsAreReadAnew(t *testing.T) {
	in := places(t, "", "permissions: {deny: [todo]}\n", "")
	loaded := settings(t, in)
	if got, err := loaded.Denials(); len(got) > 0 || err != nil {
		t.Errorf("the machine denies %v, %v", got, err)
	}
	file := filepath.Join(in.Managed, "retinue.yaml")
	for text, want := range map[string]string{
		"permissions: {deny: ['shell(curl *)'], allow: [shell]}\n": "deny shell(curl *)",
		"permissions: {deny: [nothing_like_it]}\n":                 "",
		"permissions: [\n": "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		rules, err := loaded.Denials()
		if (err != nil) != (want == "") || want != "" && (len(rules) != 1 || rules[0].String() != want) {
			t.Errorf("%s: %v, %v", text, rules, err)
		}
	}
}

func TestHowLongAPersonIsWaitedFor(t *testing.T) {
	defaults := agent.DefaultLimits()
	for field, limit := range map[string]func(agent.Limits) int64{
		"approval_time": func(l agent.Limits) int64 { return l.ApprovalTime },
		"question_time": func(l agent.Limits) int64 { return l.QuestionTime },
	} {
		sources, err := settings(t, places(t, "", "roles: {"+field+": 8h}\n", "")).Sources()
		if err != nil {
			t.Fatal(err)
		}
		if got := limit(roleOf(t, sources, "coder").Limits); got != 8*3_600_000 {
			t.Errorf("the settings' %s is %d", field, got)
		}
		sources.Defaults = role.Defaults{}
		if got, want := limit(roleOf(t, sources, "coder").Limits), limit(defaults); got != want {
			t.Errorf("the default of %s is %d, want %d", field, got, want)
		}
	}
}

func roleOf(t *testing.T, from role.Sources, name string) role.Role {
	t.Helper()
	r, err := role.Load(from)
	if err != nil {
		t.Fatal(err)
	}
	found, err := r.Role(name)
	if err != nil {
		t.Fatalf("%v; warnings: %v", err, r.Warnings)
	}
	return found
}
