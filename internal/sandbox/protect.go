package sandbox

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// guarded is a path in a workspace that programs cannot write, because somebody outside of the
// sandbox acts on what it says.
type guarded struct {
	path    string
	whole   string // what tools that write by themselves leave alone instead, if that is more
	onlyIf  bool   // only when it is there; nothing reads it before somebody made it
	atHome  bool   // is read where somebody is at home; elsewhere it is guarded only when it is there
	content string // of its placeholder, which then is a file
}

// guardedPaths are the built-in ones, and the only list of them. A .git/commondir would send git to
// another folder for its hooks and settings; one that says "." changes nothing.
var guardedPaths = slices.Concat([]guarded{
	{path: ".git/hooks", whole: ".git"},
	{path: ".git/config", whole: ".git"},
	{path: ".git/commondir", whole: ".git", content: ".\n"},
	{path: ".git/modules", whole: ".git"},
	{path: ".git/worktrees", whole: ".git", onlyIf: true},
	{path: ".retinue"},
	{path: ".claude"},
	{path: ".codex"},
	{path: ".cursor"},
	{path: ".gemini"},
	{path: ".vscode"},
	{path: ".idea"},
	{path: ".mcp.json"},
	{path: ".envrc"},
}, startFiles(
	".config/fish", ".profile", ".login", ".logout", ".inputrc",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
	".kshrc", ".mkshrc", ".cshrc", ".tcshrc",
))

// startFiles are what shells run when they start.
func startFiles(paths ...string) []guarded {
	var list []guarded
	for _, p := range paths {
		list = append(list, guarded{path: p, atHome: true})
	}
	return list
}

// Protected lists the paths in a workspace that programs cannot write.
func Protected() []string {
	var paths []string
	for _, g := range guardedPaths {
		paths = append(paths, g.path)
	}
	return paths
}

// IsProtected reports whether a path in a workspace, with slashes, is one that only people change. It
// is for tools that write by themselves on behalf of an agent. They can be stricter than a sandbox, in
// which git must work: it holds at any depth, there or not yet, in any case, and for all of .git.
func IsProtected(name string) bool {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = plain(parts[i])
	}
	at := "/" + strings.Join(parts, "/") + "/"
	return slices.ContainsFunc(guardedPaths, func(g guarded) bool {
		return strings.Contains(at, "/"+cmp.Or(g.whole, g.path)+"/")
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

// checkProtected refuses what does not lie inside of a workspace.
func checkProtected(paths []string) error {
	for _, p := range paths {
		if !filepath.IsLocal(p) || filepath.Clean(p) == "." {
			return &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf("protected path %q is not inside the workspace", p)}
		}
	}
	return nil
}
