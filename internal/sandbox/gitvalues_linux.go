package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// harmless are the settings whose values may name files in the workspace that git neither runs nor
// takes settings from. Every other value that names a file is taken for a program.
var harmless = []string{
	"core.worktree", "core.excludesfile", "core.attributesfile", "commit.template", "blame.ignorerevsfile",
	"mailmap.file", "fsck.skiplist", "fetch.fsck.skiplist", "receive.fsck.skiplist", "gpg.ssh.allowedsignersfile",
	"gpg.ssh.revocationfile", "format.signaturefile", "user.name", "user.email", "author.name", "committer.name",
}

// hookNames are the hooks that git has, for a repository whose folder of hooks is the workspace
// itself.
var hookNames = []string{
	"applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
	"post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch",
	"pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg",
	"proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate", "update",
}

// guardSettings guards the files that settings stand in, those that they include, now or once a
// condition holds, the folder of hooks, and the programs. Of the repository that the workspace
// belongs to none of these but the programs may be a symbolic link, which could be swapped while a
// program runs.
func (g *gitSights) guardSettings(base string, list []setting) {
	_, below := within(g.work, base)
	like := guarded{linked: below}
	for i := 0; i < len(list); i++ { // files that are not in force yet add theirs
		s := list[i]
		g.seen[s.origin] = true
		if at, inside := within(g.work, s.origin); inside {
			like.path = at
			g.guard(like)
		}
		switch {
		case s.key == "include.path" || strings.HasPrefix(s.key, "includeif.") && strings.HasSuffix(s.key, ".path"):
			list = append(list, g.guardInclude(base, g.expand(filepath.Dir(s.origin), s.value), like)...)
		case s.key == "core.hookspath" || s.key == "init.templatedir":
			g.guardHooks(g.expand(base, s.value), like)
		case !slices.Contains(harmless, s.key) && (!strings.HasPrefix(s.key, "alias.") || strings.HasPrefix(s.value, "!")):
			g.guardPrograms(base, s.value)
		}
	}
}

func (g *gitSights) guard(more guarded) {
	if !slices.Contains(g.guarded, more) {
		g.guarded = append(g.guarded, more)
	}
}

// guardInclude guards a file that is included, or will be once it exists or a condition holds. It
// returns the settings in it if they were not read yet.
func (g *gitSights) guardInclude(base, file string, like guarded) []setting {
	if at, inside := within(g.work, file); inside {
		like.path, like.isFile = at, true
		g.guard(like)
	}
	if g.seen[file] || len(g.seen) > mostIncludes || !regular(file) {
		return nil
	}
	g.seen[file] = true
	list, err := g.settings(base, file)
	if err != nil {
		return nil // git cannot read it either
	}
	return list
}

// guardHooks guards a folder whose files git runs.
func (g *gitSights) guardHooks(dir string, like guarded) {
	at, inside := within(g.work, dir)
	switch {
	case inside:
		like.path = at
		g.guard(like)
		g.guardLinks(dir)
	case at == ".":
		for _, name := range hookNames {
			g.guard(guarded{path: name, watched: true, linked: true})
		}
	}
}

// guardLinks guards what the links in a folder of hooks lead to.
func (g *gitSights) guardLinks(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // no hooks
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		if link, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			g.guardFile(g.expand(dir, link))
		}
	}
}

// guardPrograms guards the files of the workspace that a value names: those that exist, and missing
// ones if they are named as a path. A first word without a slash is looked up on the search path
// only.
func (g *gitSights) guardPrograms(base, value string) {
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&<>()=$!\\", r) })
	for i, word := range words {
		if i == 0 && !strings.Contains(word, "/") {
			continue
		}
		file := g.expand(base, word)
		asPath := strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || file == word || strings.HasPrefix(word, "~")
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() || err != nil && asPath {
			g.guardFile(file)
		}
	}
}

func (g *gitSights) guardFile(file string) {
	if at, inside := within(g.work, file); inside {
		g.guard(guarded{path: at, watched: true, linked: true})
	}
}

// expand makes a path of git's settings absolute.
func (g *gitSights) expand(from, value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(g.home, rest)
	}
	if filepath.IsAbs(value) {
		return filepath.Clean(value)
	}
	return filepath.Join(from, value)
}
