//go:build services && linux

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/measure"
)

// tomorrow is code planted in a workspace that runs outside of the sandbox later, when a person
// uses git.
type tomorrow struct {
	name string
	// before is the person's setup, attack the program's actions in the sandbox, and after the
	// person's actions on the next day. All run in the workspace, W; O is a folder outside, and
	// $EVIL in the attack a command line that leaves a mark there.
	before, attack, after string
}

const (
	monitor = `core.fsmonitor "$EVIL; false"`
	// script is a program that leaves the mark.
	script = `printf '#!/bin/sh\n%s\n' "$EVIL" > "$1"; chmod +x "$1"`
)

// plant is a line that makes such a program.
func plant(path string) string {
	return fmt.Sprintf(`mkdir -p "$(dirname %[1]s)"; (set -- %[1]s; %[2]s)`, path, script)
}

var tomorrows = []tomorrow{
	// The settings of one worktree, which git reads once the extension is on.
	{
		"settings of the worktree", `git config extensions.worktreeConfig true`,
		`git config -f .git/config.worktree ` + monitor, `git status`,
	},
	{
		"settings of the worktree, the extension later", `:`,
		`git config -f .git/config.worktree ` + monitor, `git config extensions.worktreeConfig true; git status`,
	},
	{
		"settings of the worktree, moved in place", `git config extensions.worktreeConfig true`,
		`git config -f x ` + monitor + `; rm -f .git/config.worktree; mv x .git/config.worktree`, `git status`,
	},
	{
		"settings of the worktree, that are there", `git config extensions.worktreeConfig true; git config --worktree a.b c`,
		`git config -f x ` + monitor + `; cat x > .git/config.worktree; mv -f x .git/config.worktree; ln -f x .git/config.worktree`, `git status`,
	},
	{
		"settings of the worktree, by a link", `git config extensions.worktreeConfig true`,
		`git config -f x ` + monitor + `; rm -f .git/config.worktree; ln -s ../x .git/config.worktree`, `git status`,
	},

	// The folder that core.hooksPath names.
	{
		"husky", `mkdir -p .husky/_; git config core.hooksPath .husky/_; printf '#!/bin/sh\n. "$(dirname "$0")/../pre-commit"\n' > .husky/_/pre-commit; chmod +x .husky/_/pre-commit`,
		plant(`.husky/pre-commit`), `git commit -q --allow-empty -m x`,
	},
	{"hooks, relative", `mkdir tools; git config core.hooksPath tools/hooks`, plant(`tools/hooks/pre-commit`), `git commit -q --allow-empty -m x`},
	{"hooks, absolute", `git config core.hooksPath $W/deep/er/hooks`, plant(`deep/er/hooks/pre-commit`), `git commit -q --allow-empty -m x`},
	{"hooks, at home", `mkdir h; git config --global core.hooksPath '~/work/h'`, plant(`h/pre-commit`), `git commit -q --allow-empty -m x`},
	{"hooks, of every repository", `git config --global core.hooksPath .githooks`, plant(`.githooks/pre-commit`), `git commit -q --allow-empty -m x`},
	{"hooks, the workspace itself", `git config core.hooksPath $W`, plant(`./pre-commit`), `git commit -q --allow-empty -m x`},
	{
		"hooks, the folder above renamed", `mkdir -p tools/hooks; touch tools/hooks/x; git config core.hooksPath tools/hooks`,
		`mv tools gone; ` + plant(`tools/hooks/pre-commit`), `git commit -q --allow-empty -m x`,
	},
	{
		"hooks, swapped for a link", `mkdir -p tools/hooks; git config core.hooksPath tools/hooks`,
		`rm -rf tools/hooks; ` + plant(`evil/pre-commit`) + `; ln -sfn ../evil tools/hooks; ln -sfn evil tools`, `git commit -q --allow-empty -m x`,
	},
	{
		"what a hook leads to", `mkdir scripts; echo true > scripts/check; chmod +x scripts/check; ln -s ../../scripts/check .git/hooks/pre-commit`,
		plant(`scripts/check`), `git commit -q --allow-empty -m x`,
	},
	{
		"what a hook leads to, moved in place", `mkdir scripts; echo true > scripts/check; chmod +x scripts/check; ln -s ../../scripts/check .git/hooks/pre-commit`,
		plant(`y/check`) + `; cp y/check w; mv -f w scripts/check; mv scripts z; mv y scripts`, `git commit -q --allow-empty -m x`,
	},

	// Files that settings include.
	{"an included file", `echo '[a]' > .gitconfig; git config include.path ../.gitconfig`, `git config -f .gitconfig ` + monitor, `git status`},
	{
		"an included file, moved in place", `echo '[a]' > .gitconfig; git config include.path ../.gitconfig`,
		`git config -f x ` + monitor + `; cp x y; mv -f y .gitconfig; rm -f .gitconfig; ln -sf x .gitconfig`, `git status`,
	},
	{"an included file that is missing", `git config include.path ../conf/git`, `mkdir conf; git config -f conf/git ` + monitor, `git status`},
	{"an included file, absolute", `git config --global include.path $W/shared.conf`, `git config -f shared.conf ` + monitor, `git status`},
	{
		"a file included on a branch", `echo '[a]' > dev.conf; git config includeIf.onbranch:dev.path ../dev.conf`,
		`git config -f dev.conf ` + monitor, `git checkout -q -b dev; git status`,
	},
	{
		"a file included on a branch by another", `echo '[include] path = two.conf' > one.conf; git config includeIf.onbranch:dev.path ../one.conf`,
		`git config -f two.conf ` + monitor, `git checkout -q -b dev; git status`,
	},
	{"a file included by a folder's name", `git config --global includeIf.gitdir:$W/.path $W/own.conf`, `git config -f own.conf ` + monitor, `git status`},

	// Programs that settings name.
	{
		"a filter", `mkdir t; echo 'cat' > t/clean; chmod +x t/clean; git config filter.f.clean t/clean; echo '* filter=f' > .gitattributes`,
		plant(`t/clean`), `echo x > new; git add new`,
	},
	{
		"a filter, the script of an interpreter", `echo 'cat' > clean.sh; git config filter.f.clean 'sh clean.sh %f'; echo '* filter=f' > .gitattributes`,
		plant(`clean.sh`), `echo x > new; git add new`,
	},
	{
		"a filter that is missing", `git config filter.f.clean ./t/clean; echo '* filter=f' > .gitattributes`,
		plant(`t/clean`), `echo x > new; git add new`,
	},
	{"a monitor", `echo false > mon; chmod +x mon; git config core.fsmonitor ./mon`, plant(`x`) + `; mv -f x mon; cp x mon`, `git status`},
	{
		"a program behind a link", `mkdir t; echo false > t/real; chmod +x t/real; ln -s t/real mon; git config core.fsmonitor ./mon`,
		plant(`x`) + `; ln -sfn x mon; cp x t/real`, `git status`,
	},
	{"an alias", `echo true > do.sh; git config alias.up '!sh do.sh'`, plant(`do.sh`), `git up`},
	{
		"a text of a difference", `echo 'cat $1' > conv; chmod +x conv; git config diff.d.textconv ./conv; echo '*.d diff=d' > .gitattributes; echo a > a.d; git add .; git commit -q -m x; echo b > a.d`,
		plant(`conv`), `git --no-pager diff`,
	},

	// Repositories in the workspace.
	{
		"settings of a repository below", `git init -q sub; git -C sub commit -q --allow-empty -m x; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub`,
		`git -C sub config ` + monitor, `git status`,
	},
	{
		"settings of a worktree of a repository below", `git init -q a/sub; git -C a/sub commit -q --allow-empty -m x; git -C a/sub config extensions.worktreeConfig true`,
		`git config -f a/sub/.git/config.worktree ` + monitor, `cd a/sub && git status`,
	},
	{"a hook of a repository below", `git init -q a/sub`, plant(`a/sub/.git/hooks/pre-commit`), `cd a/sub && git commit -q --allow-empty -m x`},
	{"a repository below, renamed", `git init -q a/sub`, `mv a b; mkdir a; git init -q a/sub; ` + plant(`a/sub/.git/hooks/pre-commit`), `cd a/sub && git commit -q --allow-empty -m x`},
	{
		"settings of a submodule", `git init -q $O/lib; git -C $O/lib commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add $O/lib lib`,
		`git -C lib config ` + monitor, `git status`,
	},
	{
		"a submodule turned into a repository", `git init -q $O/lib; git -C $O/lib commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add $O/lib lib`,
		`rm -f lib/.git; mv lib gone; git init -q lib; git -C lib commit -q --allow-empty -m x; git -C lib config ` + monitor, `git status`,
	},
	{
		"a submodule that is not fetched", `mkdir lib; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib`,
		`git init -q lib; git -C lib commit -q --allow-empty -m x; git -C lib config ` + monitor, `git status`,
	},
	{"a submodule made up", `:`, `git init -q new; git -C new commit -q --allow-empty -m x; git -C new config ` + monitor + `
		git update-index --add --cacheinfo 160000,$(git -C new rev-parse HEAD),new`, `git status`},
}

// TestNothingPlantedRunsTomorrow has a program in the sandbox plant code in a workspace, and a real
// git run in there afterwards without the sandbox. Without the sandbox, every attack succeeds.
func TestNothingPlantedRunsTomorrow(t *testing.T) {
	wall := measure.NewWall(t, "1.6")
	box, bare := openBox(t, TierBubblewrap), openBox(t, TierNone)
	for _, c := range tomorrows {
		t.Run(c.name, func(t *testing.T) {
			if ran, said := c.try(t, bare); !ran {
				t.Errorf("without a sandbox nothing planted runs, so this shows nothing:\n%s", said)
			}
			ran, said := c.try(t, box)
			wall.Try(ran, "%s: what a program planted has run:\n%s", c.name, said)
		})
	}
}

// try plays one of them in a fresh workspace and returns whether the mark exists.
func (c tomorrow) try(t *testing.T, b *Box) (bool, string) {
	t.Helper()
	home := tempDir(t)
	work, outside := filepath.Join(home, "work"), filepath.Join(home, "outside")
	must(t, os.Mkdir(work, 0o755))
	must(t, os.Mkdir(outside, 0o755))
	mark := filepath.Join(outside, "mark")
	env := []string{
		"HOME=" + home, "W=" + work, "O=" + outside, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	t.Setenv("HOME", home)
	person := func(line string) string {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Dir, cmd.Env = work, append([]string{"PATH=" + os.Getenv("PATH")}, env...)
		out, err := cmd.CombinedOutput()
		return fmt.Sprintf("%s: %v\n%s", line, err, out)
	}
	said := person(`set -e; git init -q .; git commit -q --allow-empty -m first; ` + c.before)
	if strings.Contains(said, "exit status") {
		t.Fatal(said)
	}
	outcome, err := b.Run(t.Context(), Command{
		Argv: shell(c.attack), Workspace: work, SetAside: true,
		Env: append([]string{"EVIL=touch " + mark}, env[1:]...),
	})
	must(t, err)
	if _, err := os.Stat(mark); err == nil {
		t.Fatalf("the attack itself left the mark: %s%s", outcome.Stdout, outcome.Stderr)
	}
	said += fmt.Sprintf("%s\ncode %d: %s%s\nplanted %v\n", c.attack, outcome.Code, outcome.Stdout, outcome.Stderr, outcome.Planted)
	said += person(c.after)
	_, err = os.Stat(mark)
	return err == nil, said
}
