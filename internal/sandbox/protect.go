package sandbox

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// guarded is a path in a workspace that programs cannot write, because programs outside of the
// sandbox act on its content.
type guarded struct {
	path    string
	whole   string // the folder that tools which write by themselves leave alone instead, if it is larger
	onlyIf  bool   // only when it exists; nothing reads it before somebody made it
	atHome  bool   // read in a person's home folder; elsewhere guarded only when it exists
	isFile  bool   // its placeholder is a file, because its reader cannot read a folder
	content string // of that file
	// watched means that no placeholder is made where it is missing, because people and their
	// programs would stumble over one. Anything that a program makes there is set aside when the
	// program has ended.
	watched bool
	// linked means that it may be a symbolic link. Its target in the workspace is guarded, and a link
	// that the program changed is put back when the program has ended.
	linked bool
	// advice is text for agents, which tools may write if a person approves that very call.
	advice bool
}

// guardedPaths are the built-in ones, and the only list of them. Paths that git's own settings name
// are added to them at every run. A .git/commondir would send git to another folder for its hooks
// and settings; one that says "." changes nothing, and neither does an empty .git/config.worktree.
var guardedPaths = slices.Concat(gitFiles(".git"), []guarded{
	{path: ".retinue"},
	{path: ".claude"},
	{path: ".codex"},
	{path: ".cursor"},
	{path: ".gemini"},
	{path: ".vscode"},
	{path: ".idea"},
	{path: ".mcp.json"},
	{path: ".envrc"},
}, each(guarded{linked: true},
	".husky", ".githooks", ".lefthook", ".lefthook-local", ".devcontainer", ".zed", ".windsurf", ".roo", ".kiro",
	".junie", ".amazonq", ".opencode", ".mise",
), each(guarded{linked: true, watched: true},
	"lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook-local.yml", "lefthook-local.yaml",
	".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json", ".lefthook-local.yml", ".lefthook-local.yaml",
	".pre-commit-config.yaml", ".devcontainer.json", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml",
	".config/mise.toml", ".config/mise", "opencode.json", ".aider.conf.yml",
), each(guarded{linked: true, watched: true, advice: true},
	"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".rules", ".cursorrules",
	".windsurfrules", ".clinerules", ".roorules", ".goosehints",
	".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/agents",
), startFiles(
	".config/fish", ".profile", ".login", ".logout", ".inputrc",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
	".kshrc", ".mkshrc", ".cshrc", ".tcshrc",
))

// gitFiles are what git reads from the folder of a repository and acts on.
func gitFiles(dir string) []guarded {
	return []guarded{
		{path: dir + "/hooks", whole: dir},
		{path: dir + "/config", whole: dir},
		{path: dir + "/config.worktree", whole: dir, isFile: true},
		{path: dir + "/commondir", whole: dir, isFile: true, content: ".\n"},
		{path: dir + "/modules", whole: dir},
		{path: dir + "/worktrees", whole: dir, onlyIf: true},
	}
}

// each guards several paths alike.
func each(like guarded, paths ...string) []guarded {
	var list []guarded
	for _, p := range paths {
		like.path = p
		list = append(list, like)
	}
	return list
}

// startFiles are what shells run when they start.
func startFiles(paths ...string) []guarded { return each(guarded{atHome: true}, paths...) }

// Protected lists the paths in a workspace that programs cannot write.
func Protected() []string {
	var paths []string
	for _, g := range guardedPaths {
		paths = append(paths, g.path)
	}
	return paths
}

// IsProtected reports whether a path in a workspace, with slashes, is one that only people change.
// It is for tools that write by themselves on behalf of an agent. They can be stricter than a
// sandbox, in which git must work: it holds at any depth, there or not yet, in any case, and for
// all of .git.
func IsProtected(name string) bool {
	return among(name, func(g guarded) bool { return !g.advice })
}

// IsAdvice reports whether a path in a workspace, with slashes, is text that later agents obey. A
// tool writes it only if a person approves that very call, whatever rules say. It holds as
// IsProtected does.
func IsAdvice(name string) bool {
	return among(name, func(g guarded) bool { return g.advice })
}

func among(name string, some func(guarded) bool) bool {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = plain(parts[i])
	}
	at := "/" + strings.Join(parts, "/") + "/"
	return slices.ContainsFunc(guardedPaths, func(g guarded) bool {
		return some(g) && strings.Contains(at, "/"+strings.ToLower(cmp.Or(g.whole, g.path))+"/")
	})
}

// plain is a name as a file system that ignores case, trailing dots and invisible letters sees it.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= '\u200c' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u206a' && r <= '\u206f' || r == '\uFEFF' {
			return -1
		}
		return r
	}, name)
	return strings.TrimRight(strings.ToLower(name), ". ")
}

// checkProtected refuses paths outside of the workspace.
func checkProtected(paths []string) error {
	for _, p := range paths {
		if !filepath.IsLocal(p) || filepath.Clean(p) == "." {
			return &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf("protected path %q is not inside the workspace", p)}
		}
	}
	return nil
}
