package role

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/document"
)

// project writes files below a new folder and gives its path.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
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

// roleFile is a role with these lines of front matter beside a description.
func roleFile(lines ...string) string {
	return "---\ndescription: A role.\n" + strings.Join(lines, "\n") + "\n---\nDo it.\n"
}

//
func TestBuiltInRolesHaveTheLimitsOfTheDesign(t *testing.T) {
	type limits struct {
		Iterations, Seconds int
		Delegates           string
	}
	want := map[string]limits{
		"main":        {50, 600, "code_review code_search coder debugger general planner reader researcher reviewer tester"},
		"general":     {20, 300, ""},
		"researcher":  {20, 300, ""},
		"planner":     {15, 180, ""},
		"reader":      {12, 300, ""},
		"coder":       {30, 300, "tester"},
		"tester":      {20, 180, ""},
		"reviewer":    {10, 120, ""},
		"debugger":    {25, 240, ""},
		"code_search": {8, 300, ""},
		"code_review": {6, 300, ""},
	}
	r := load(t, Sources{})
	if len(r.Warnings) > 0 {
		t.Errorf("warnings: %v", r.Warnings)
	}
	got := map[string]limits{}
	for _, role := range r.Roles() {
		got[role.Name] = limits{role.Limits.Iterations, int(role.Limits.Time / 1000), strings.Join(role.Delegates, " ")}
		if role.Limits.Depth != 2 {
			t.Errorf("%s: depth %d", role.Name, role.Limits.Depth)
		}
		if !slices.Contains([]string{TierFast, TierBalanced, TierStrong}, role.Model) {
			t.Errorf("%s names the model %s", role.Name, role.Model)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, tools := range map[string]string{
		"code_search": "glob grep list_dir read_file", "code_review": "glob grep read_file",
		"planner": "glob grep list_dir read_file think",
	} {
		if got := strings.Join(named(t, r, name).Tools, " "); got != tools {
			t.Errorf("%s has %s, want %s", name, got, tools)
		}
	}
}

func TestPresetLetsThePlannerDelegate(t *testing.T) {
	planner := named(t, load(t, Sources{Preset: "software_team"}), "planner")
	if got := strings.Join(planner.Delegates, " "); got != "coder reviewer tester" {
		t.Errorf("delegates to %s", got)
	}
	if !planner.Authority.Write || slices.Contains(planner.Tools, "write_file") {
		t.Errorf("must pass on writing without writing itself: %+v", planner.Authority)
	}
	if _, err := Load(Sources{Preset: "nonsense"}); err == nil {
		t.Error("a preset that does not exist was loaded")
	}
}

func TestNamesAreFoundWhateverTheirCase(t *testing.T) {
	r := load(t, Sources{})
	for _, name := range []string{"code_review", "code-review", "CodeReview", "CODE REVIEW"} {
		if got := named(t, r, name).Name; got != "code_review" {
			t.Errorf("%s is %s", name, got)
		}
	}
	_, err := r.Role("code_revue")
	if chat.CodeOf(err) != chat.CodeNotFound || !strings.Contains(fmt.Sprint(err), `did you mean "code_review"?`) {
		t.Errorf("got %v", err)
	}
}

func TestDefaultsAndModelsComeFromSettings(t *testing.T) {
	root := project(t, map[string]string{".retinue/agents/plain.md": roleFile()})
	r := load(t, Sources{Project: root, Defaults: Defaults{
		MaxDepth: 1, MaxIterations: 5, MaxDuration: 60_000, Models: map[string]string{"Plain": "local/llama"},
	}})
	plain := named(t, r, "plain")
	want := agent.DefaultLimits()
	want.Depth, want.Iterations, want.Time = 1, 5, 60_000
	if diff := cmp.Diff(want, plain.Limits); diff != "" {
		t.Error(diff)
	}
	if plain.Model != "local/llama" || plain.Origins["model"].String() != "settings roles.models" {
		t.Errorf("model %s from %s", plain.Model, plain.Origins["model"])
	}
	if coder := named(t, r, "coder"); coder.Limits.Iterations != 30 {
		t.Errorf("a default overrode the coder's own limit: %d", coder.Limits.Iterations)
	}
}

func TestARoleSaysHowLongAPersonIsWaitedFor(t *testing.T) {
	for field, limit := range map[string]func(agent.Limits) int64{
		"approval_time": func(l agent.Limits) int64 { return l.ApprovalTime },
		"question_time": func(l agent.Limits) int64 { return l.QuestionTime },
	} {
		if got := limit(trusted(t, field+": 10s").Limits); got != 10_000 {
			t.Errorf("a role's %s is %d", field, got)
		}
	}
}

func TestDenialsReachEveryRole(t *testing.T) {
	root := project(t, map[string]string{
		".retinue/agents/loose.md": roleFile("permission: {bash: allow, webfetch: allow}", "tools: [shell, web_fetch]"),
	})
	r := load(t, Sources{Project: root, Trusted: true, Rules: []Rule{
		{Tool: "web_*", Verdict: agent.PolicyDeny},
		{Tool: "mcp__*", Verdict: agent.PolicyDeny},
		{Tool: "shell", Pattern: "git push *", Verdict: agent.PolicyDeny},
	}})
	for _, role := range r.Roles() {
		if covered(role.Authority.Tools, "web_fetch") || role.Authority.Network {
			t.Errorf("%s may still reach the network: %+v", role.Name, role.Authority)
		}
		if got := role.Verdict("shell", "git push origin"); got != agent.PolicyDeny {
			t.Errorf("%s: git push is %q", role.Name, got)
		}
	}
}

func TestAuthorityCoversWhatMayBePassedOn(t *testing.T) {
	root := project(t, map[string]string{
		".retinue/agents/top.md":    roleFile("tools: [read_file]", "can_delegate_to: [middle]", "disallowed_tools: [web_fetch]"),
		".retinue/agents/middle.md": roleFile("tools: [grep]", "can_delegate_to: bottom"),
		".retinue/agents/bottom.md": roleFile("tools: [shell, web_fetch, 'mcp__db__*']", "can_delegate_to: [top]"),
	})
	top := named(t, load(t, Sources{Project: root}), "top")
	want := agent.Authority{Tools: []string{"grep", "mcp__db__*", "read_file", "shell"}, Write: true, Network: true}
	if diff := cmp.Diff(want, top.Authority); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"read_file"}, top.Tools); diff != "" {
		t.Error(diff)
	}
}

func TestHashChangesIfAndOnlyIfAnEffectDoes(t *testing.T) {
	base := []string{"tools: [read_file, grep]", "maxTurns: 5", "model: sonnet", "permission: {bash: deny}"}
	hash := func(file string) string {
		return named(t, load(t, Sources{Project: project(t, map[string]string{".retinue/agents/it.md": file})}), "it").Hash
	}
	first := hash(roleFile(base...))
	same := map[string]string{
		"order and aliases": roleFile("model: balanced", "permission: {shell: deny}", "max_iterations: 5", "tools: Grep, Read, Read"),
		"colour":            roleFile(append(base, "color: red", "icon: star", "hidden: true")...),
		"unknown field":     roleFile(append(base, "x_note: hello")...),
		"comment":           roleFile(append(base, "# why not")...),
		"line ends":         strings.ReplaceAll(roleFile(base...), "\n", "\r\n"),
		"blank lines":       roleFile(base...) + "\n\n",
		"evidence optional": roleFile(append(base, "evidence: optional")...),
	}
	for name, file := range same {
		if hash(file) != first {
			t.Errorf("%s changed the hash", name)
		}
	}
	different := map[string]string{
		"prompt": roleFile(base...) + "Well.", "limit": roleFile(append(base, "max_duration: 10s")...),
		"tool": roleFile("tools: [read_file]", "maxTurns: 5", "model: sonnet", "permission: {bash: deny}"),
		"rule": roleFile("tools: [read_file, grep]", "maxTurns: 5", "model: sonnet", "permission: {bash: {'rm *': deny}}"),
		"ask":  roleFile(append(base, "can_ask: false")...), "effort": roleFile(append(base, "effort: low")...),
		"temperature": roleFile(append(base, "temperature: 0")...), "output": roleFile(append(base, "output_schema: {type: object}")...),
		"evidence": roleFile(append(base, "evidence: required")...),
	}
	for name, file := range different {
		if hash(file) == first {
			t.Errorf("%s did not change the hash", name)
		}
	}
}

func TestSnapshotsThawToTheSameRole(t *testing.T) {
	for _, role := range fixture(t).Roles() {
		data, err := role.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		thawed, err := Thaw(data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := thawed.Snapshot()
		if err != nil || !bytes.Equal(data, again) {
			t.Errorf("%s came back different: %v\n%s\n%s", role.Name, err, data, again)
		}
		if diff := cmp.Diff(role.Spec(), thawed.Spec()); diff != "" {
			t.Error(diff)
		}
	}
}

// checkSpec states what the core asks of every role.
func checkSpec(spec agent.RoleSpec) error {
	l := spec.Limits
	switch {
	case spec.Name == "" || len(spec.Hash) != 64:
		return errors.New("it has no name or no hash")
	case l.Time <= 0 || l.Iterations <= 0 || l.Grace <= 0 || l.Slots <= 0 || l.QuestionTime <= 0 || l.ApprovalTime <= 0 || l.Retries <= 0:
		return fmt.Errorf("it has a limit that is not positive: %+v", l)
	case !slices.IsSorted(spec.Authority.Tools) || !slices.IsSorted(spec.Tools):
		return fmt.Errorf("tools are not in order: %v, %v", spec.Authority.Tools, spec.Tools)
	case !spec.Authority.Covers(agent.Authority{Tools: spec.Tools}):
		return fmt.Errorf("it offers tools outside its authority: %v, %v", spec.Authority.Tools, spec.Tools)
	case spec.CanDelegate != (len(spec.Delegates) > 0):
		return errors.New("it may delegate to nobody")
	}
	return takenByCore(spec)
}

// takenByCore has an orchestrator spawn the role, which is where the core judges it.
func takenByCore(spec agent.RoleSpec) error {
	id := "conv_019a8d2e-6c1f-7b3a-9d55-2f0c4be1a7d3"
	brief := agent.Brief{
		Conversation: id, Agent: id, Task: id, Role: "main", CanDelegate: true, Delegates: []string{spec.Name},
		Authority: spec.Authority, Limits: agent.OrchestratorLimits(),
	}
	s, _, err := agent.Step(agent.State{}, agent.Begun{At: agent.At{}, Brief: brief})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if s, _, err = agent.Step(s, agent.Said{Seq: 1}); err != nil {
		return fmt.Errorf("say: %w", err)
	}
	call := agent.Digest(agent.ToolSpawn, fmt.Sprintf(`{"tasks":[{"role":%q,"task":"x"}]}`, spec.Name))
	_, effects, err := agent.Step(s, agent.Replied{Turn: 1, Attempt: 1, Calls: []agent.Call{call}, Roles: []agent.RoleSpec{spec}})
	if err != nil {
		return fmt.Errorf("spawn: %w", err)
	}
	for _, e := range effects {
		if enlisted, ok := e.(agent.Enlist); ok && enlisted.Brief.RoleHash == spec.Hash {
			return nil
		}
	}
	return fmt.Errorf("the core did not enlist it: %+v", effects)
}

func TestEverySpecIsTakenByTheCore(t *testing.T) {
	for _, role := range fixture(t).Roles() {
		if err := checkSpec(role.Spec()); err != nil {
			t.Errorf("%s: %v", role.Name, err)
		}
	}
}

func TestRolesTooLargeForABriefAreLeftOut(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("mcp__server_%03d__tool", i))
	}
	root := project(t, map[string]string{
		".retinue/agents/huge.md": roleFile("tools: [" + strings.Join(names, ", ") + "]"),
		".retinue/agents/fine.md": roleFile("tools: ['mcp__server_*']"),
	})
	r := load(t, Sources{Project: root})
	if _, err := r.Role("huge"); err == nil {
		t.Error("huge was loaded")
	}
	if named(t, r, "fine").Tools[0] != "mcp__server_*" {
		t.Error("fine lost its pattern")
	}
	if len(r.Warnings) != 1 || !r.Warnings[0].Skipped || !strings.Contains(r.Warnings[0].Text, "too much room") {
		t.Errorf("warnings: %v", r.Warnings)
	}
}

func TestPatternsReachNeitherHiddenRolesNorOrchestrators(t *testing.T) {
	root := project(t, map[string]string{
		".retinue/agents/boss.md":   roleFile("can_delegate_to: ['*', main]"),
		".retinue/agents/secret.md": roleFile("hidden: true"),
		".retinue/agents/named.md":  roleFile("can_delegate_to: [secret]"),
		".retinue/agents/none.md":   roleFile("can_delegate_to: ['*']", "can_delegate: false"),
		".retinue/agents/any.md":    roleFile("can_delegate: true"),
	})
	r := load(t, Sources{Project: root})
	for name, want := range map[string]string{
		"boss":  "any code_review code_search coder debugger general named none planner reader researcher reviewer tester",
		"any":   "boss code_review code_search coder debugger general named none planner reader researcher reviewer tester",
		"named": "secret", "none": "",
	} {
		if got := strings.Join(named(t, r, name).Delegates, " "); got != want {
			t.Errorf("%s reaches %s, want %s", name, got, want)
		}
	}
}

func TestInheritIsNoModel(t *testing.T) {
	root := project(t, map[string]string{
		".retinue/agents/heir.md": roleFile("model: Inherit"), ".retinue/agents/own.md": roleFile("model: a/b"),
	})
	r := load(t, Sources{Project: root})
	if got := named(t, r, "heir").Spec().Model.Name; got != "" {
		t.Errorf("heir asks for the model %q", got)
	}
	if got := named(t, r, "own").Spec().Model.Name; got != "a/b" {
		t.Errorf("own asks for the model %q", got)
	}
}

func TestAFolderWithTooManyFilesIsCutOff(t *testing.T) {
	files := map[string]string{}
	for i := range filesCap + 1 {
		files[fmt.Sprintf(".claude/agents/%04d.md", i)] = roleFile("hidden: true", "tools: Read")
	}
	r := load(t, Sources{Project: project(t, files)})
	if got := len(r.Roles()); got != filesCap+11 {
		t.Errorf("%d roles", got)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "more than 1000 files") {
		t.Errorf("warnings: %v", r.Warnings)
	}
}

func TestTwoHundredRolesLeaveTheOrchestratorUsable(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf(".claude/agents/specialist-%03d.md", i)] = roleFile("tools: Read")
	}
	r := load(t, Sources{Project: project(t, files)})
	orchestrator := named(t, r, "main")
	if err := checkSpec(orchestrator.Spec()); err != nil {
		t.Error(err)
	}
	if len(orchestrator.Delegates) < 50 {
		t.Errorf("only %d delegates are left", len(orchestrator.Delegates))
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "out of reach are specialist") {
		t.Errorf("warnings: %v", r.Warnings)
	}
}

func TestLinksOutOfTheTreeAndLargeFilesAreRefused(t *testing.T) {
	outside := project(t, map[string]string{"secret.md": roleFile()})
	root := project(t, map[string]string{
		"shared/linked.md":         roleFile(),
		".claude/agents/large.md":  roleFile() + strings.Repeat("x", document.FileCap),
		".claude/agents/peek.md":   roleFile("prompt: '{file:../../../secret.md}'"),
		".claude/agents/absent.md": roleFile("prompt: '{file:absent.txt}'"),
	})
	for name, target := range map[string]string{
		"escape.md": filepath.Join(outside, "secret.md"), "folder": outside, "linked.md": "../../shared/linked.md",
	} {
		if err := os.Symlink(target, filepath.Join(root, ".claude/agents", name)); err != nil {
			t.Fatal(err)
		}
	}
	r := load(t, Sources{Project: root})
	named(t, r, "linked")
	for _, name := range []string{"escape", "secret", "large", "peek", "absent"} {
		if found, err := r.Role(name); err == nil {
			t.Errorf("%s was loaded from %s", name, found.File)
		}
	}
	if len(r.Warnings) != 4 {
		t.Errorf("warnings: %v", r.Warnings)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(Sources{}); err != nil {
			b.Fatal(err)
		}
	}
}
