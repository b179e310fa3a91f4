//go:build services && linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/chat"
)

// TestWhatNothingCanHoldIsSetAside has a program make files that agents and people's programs obey,
// where a placeholder would be in the way.
func TestWhatNothingCanHoldIsSetAside(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	must(t, os.WriteFile(work+"/CLAUDE.md", []byte("mine"), 0o644))
	must(t, os.WriteFile(work+"/rules", []byte("mine"), 0o644))
	must(t, os.Symlink("rules", work+"/.cursorrules"))
	must(t, os.Symlink("CLAUDE.md", work+"/GEMINI.md"))
	must(t, os.WriteFile(work+"/mise.toml.set-aside", []byte("earlier"), 0o644))
	run := func(script string, aside bool) []Planted {
		t.Helper()
		o, err := b.Run(t.Context(), Command{Argv: shell(script), Workspace: work, SetAside: aside})
		if err != nil || o.Code != 0 {
			t.Errorf("%s: %v, code %d: %s%s", script, err, o.Code, o.Stdout, o.Stderr)
		}
		return o.Planted
	}
	planted := run(`set -e; test "$(echo *)" = "CLAUDE.md GEMINI.md mise.toml.set-aside rules"
		! echo x > CLAUDE.md; ! mv CLAUDE.md x; ! echo x > rules; ! echo x > GEMINI.md
		echo obey > AGENTS.md; echo obey > mise.toml; mkdir -p .github/instructions; echo obey > .github/instructions/x
		rm GEMINI.md; ln -s AGENTS.md GEMINI.md; rm .cursorrules; echo fine > other`, true)
	want := []Planted{
		{Path: "mise.toml", Aside: "mise.toml.set-aside-2"},
		{Path: "AGENTS.md", Aside: "AGENTS.md.set-aside"},
		{Path: "GEMINI.md", Aside: "GEMINI.md.set-aside"},
		{Path: ".cursorrules"},
		{Path: ".github/instructions", Aside: ".github/instructions.set-aside"},
	}
	if diff := cmp.Diff(want, planted); diff != "" {
		t.Error(diff)
	}
	holds := map[string]string{
		"CLAUDE.md": "mine", "GEMINI.md": "mine", ".cursorrules": "mine", "other": "fine\n", "AGENTS.md.set-aside": "obey\n",
		"mise.toml.set-aside": "earlier", "mise.toml.set-aside-2": "obey\n", ".github/instructions.set-aside/x": "obey\n",
	}
	for name, content := range holds {
		if got, err := os.ReadFile(filepath.Join(work, name)); err != nil || string(got) != content {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"AGENTS.md", "mise.toml", ".github/instructions"} {
		if _, err := os.Lstat(filepath.Join(work, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	if planted := run(`echo x > AGENTS.md`, false); planted != nil {
		t.Errorf("set aside although nobody asked: %v", planted)
	}
	if planted := run(`! echo y > AGENTS.md`, true); planted != nil {
		t.Errorf("what was there before was set aside: %v", planted)
	}
}

// TestAProgramThatIsStoppedPlantsNothing ends one by its time, which is also how a cancel ends it.
func TestAProgramThatIsStoppedPlantsNothing(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	o, err := b.Run(t.Context(), Command{
		Argv: shell(`echo x > AGENTS.md; sleep 100`), Workspace: work, SetAside: true, Limits: Limits{Wall: 2 * time.Second},
	})
	if diff := cmp.Diff([]Planted{{Path: "AGENTS.md", Aside: "AGENTS.md.set-aside"}}, o.Planted); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestAskingGitRunsNothing has settings that name a program wherever git knows one.
func TestAskingGitRunsNothing(t *testing.T) {
	b, home := openBox(t, TierBubblewrap), tempDir(t)
	t.Setenv("HOME", home)
	work, mark := home+"/work", home+"/mark"
	must(t, os.Mkdir(work, 0o755))
	out, err := exec.Command("/bin/sh", "-c", `set -e; cd `+work+`; evil="touch `+mark+`"; git init -q .
		for key in core.fsmonitor core.pager pager.config pager.ls-files core.editor core.askPass core.sshCommand credential.helper \
			diff.external gpg.program core.alternateRefsCommand uploadpack.packObjectsHook; do
			git config $key "$evil"; git config --global $key "$evil"; done
		git config alias.config "!$evil"; git config alias.ls-files "!$evil"
		for hook in post-index-change pre-auto-gc reference-transaction post-checkout fsmonitor-watchman; do
			echo "$evil" > .git/hooks/$hook; chmod +x .git/hooks/$hook; done
		git init -q sub; git -C sub config core.fsmonitor "$evil"`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = os.Remove(mark) // setting up may run it
	for range 2 {
		if o, err := b.Run(t.Context(), Command{Argv: shell(`echo x > f; git add f; ! echo x >> sub/.git/config`), Workspace: work, SetAside: true}); err != nil || o.Code != 0 {
			t.Errorf("%v, code %d: %s", err, o.Code, o.Stderr)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("asking git what it would run has run it")
	}
}

// TestSettingsNobodyCanRead has settings that git never comes to the end of, and settings that are
// too long. The folder .git of a repository below cannot be written then. In the repository of the
// workspace nothing runs.
func TestSettingsNobodyCanRead(t *testing.T) {
	long := "[core]\n\trepositoryformatversion = 0\n\thooksPath = hooks\n" + strings.Repeat("[a]\n\tb = "+strings.Repeat("c", 1000)+"\n", gitBytes/1000)
	for name, settings := range map[string]string{"pipe": "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = ../../pipe\n", "long": long} {
		t.Run(name, func(t *testing.T) { unreadable(t, []byte(settings)) })
	}
}

func unreadable(t *testing.T, settings []byte) {
	t.Helper()
	b, work := openBox(t, TierBubblewrap), tempDir(t)+"/work"
	must(t, os.Mkdir(work, 0o755))
	t.Setenv("HOME", work)
	for _, dir := range []string{".", "sub"} {
		if out, err := exec.Command("git", "init", "-q", filepath.Join(work, dir)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	must(t, unix.Mkfifo(work+"/pipe", 0o600))
	must(t, unix.Mkfifo(filepath.Dir(work)+"/pipe", 0o600))
	must(t, os.WriteFile(work+"/sub/.git/config", settings, 0o644))
	o, err := b.Run(t.Context(), Command{Argv: shell(`! touch sub/.git/x && touch y`), Workspace: work})
	if err != nil || o.Code != 0 {
		t.Errorf("%v, code %d: %s", err, o.Code, o.Stderr)
	}
	must(t, os.WriteFile(work+"/.git/config", settings, 0o644))
	if _, err := b.Run(t.Context(), Command{Argv: shell(`true`), Workspace: work}); chat.CodeOf(err) != chat.CodeUnavailable {
		t.Errorf("got %v, want it refused", err)
	}
}
