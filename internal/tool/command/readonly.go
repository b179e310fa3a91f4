package command

import (
	"slices"
	"strings"
)

// readOnly are the commands of programs that change nothing and run nothing, each with the options
// that leave it so. A command or option that is not in this list is not covered by a wider
// approval: programs get new options, and their options run others. An option that ends in = takes
// its value after that, one that ends in # a number.
var readOnly = map[string]map[string][]string{
	"git": {
		"status":     {"-s", "--short", "-b", "--branch", "--porcelain", "--porcelain=", "-u", "-uno", "-uall", "--ignored", "--long", "-v", "-z"},
		"log":        slices.Concat(ofLog, ofDiff),
		"show":       slices.Concat(ofLog, ofDiff),
		"diff":       slices.Concat(ofDiff, []string{"--cached", "--staged", "--merge-base", "--no-index"}),
		"shortlog":   {"-s", "-n", "-e", "-sn", "-sne", "--summary", "--numbered", "--email", "--since=", "--until=", "--all"},
		"blame":      {"-L", "-w", "-e", "-s", "-l", "-t", "-M", "-C", "--date=", "--porcelain", "--line-porcelain", "--show-email"},
		"grep":       {"-n", "-i", "-l", "-L", "-w", "-E", "-F", "-P", "-e", "-h", "-H", "-o", "-q", "-v", "-A#", "-B#", "-C#", "--line-number", "--count", "--files-with-matches", "--ignore-case", "--cached", "--untracked", "--no-index", "--heading", "--break"},
		"ls-files":   {"-d", "-m", "-o", "-s", "-z", "--cached", "--deleted", "--modified", "--others", "--stage", "--exclude-standard", "--full-name"},
		"ls-tree":    {"-r", "-d", "-t", "-l", "-z", "--name-only", "--name-status", "--full-tree", "--long"},
		"rev-parse":  {"--abbrev-ref", "--short", "--short=", "--show-toplevel", "--show-prefix", "--verify", "-q", "--is-inside-work-tree"},
		"rev-list":   {"--count", "--all", "--max-count=", "-n", "-#", "--since=", "--until=", "--no-merges", "--merges", "--reverse", "--left-right"},
		"merge-base": {"--is-ancestor", "--all", "--octopus"},
		"describe":   {"--tags", "--always", "--all", "--long", "--abbrev=", "--exact-match", "--dirty"},
		"name-rev":   {"--name-only", "--tags", "--all"},
	},
	"go": {
		"version": {"-m", "-v"},
		"env":     {"-json"},
		"doc":     {"-all", "-c", "-cmd", "-short", "-src", "-u"},
		"list":    {"-m", "-json", "-deps", "-test", "-e", "-find", "-versions"},
	},
	"npm": {"ls": {"--all", "--json", "--long", "--depth=", "--parseable"}, "outdated": {"--json", "--long", "--all"}},
	"pip": {"list": {"--outdated", "--format=", "-o"}, "show": {"-f", "--files"}, "freeze": {}},
}

var (
	ofLog = []string{
		"--oneline", "--graph", "--all", "--decorate", "--no-decorate", "--decorate=", "-n", "-#", "--max-count=", "--since=", "--until=",
		"--after=", "--before=", "--author=", "--committer=", "--grep=", "--format=", "--pretty", "--pretty=", "--follow", "--no-merges",
		"--merges", "--reverse", "--date=", "--abbrev-commit", "--first-parent", "--topo-order", "-i", "--skip=", "-L",
	}
	ofDiff = []string{
		"-p", "--patch", "--no-patch", "-s", "--stat", "--numstat", "--shortstat", "--name-only", "--name-status", "--summary", "-U#",
		"--unified=", "-w", "-b", "--ignore-all-space", "--ignore-space-change", "--color", "--no-color", "--color=", "--word-diff",
		"--word-diff=", "--check", "-M", "-C", "--no-renames", "--diff-filter=", "-R", "-z", "--no-ext-diff", "--no-textconv", "-S", "-G",
	}
)

// family is the pattern of a command that only reads: its program and its own command, with any
// arguments. It is empty for any other, and for one with an option that is not known to leave it
// so.
func (c Command) family() string {
	if c.path || c.assigned || len(c.words) < 2 {
		return ""
	}
	options, ok := readOnly[c.Program][c.words[1]]
	if !ok {
		return ""
	}
	for _, w := range c.words[2:] {
		if strings.HasPrefix(w, "-") && w != "-" && w != "--" && !slices.ContainsFunc(options, func(o string) bool { return isOption(o, w) }) {
			return ""
		}
	}
	return c.Program + " " + c.words[1] + " *"
}

// isOption reports whether a word is this option of the list.
func isOption(option, word string) bool {
	if name, ok := strings.CutSuffix(option, "="); ok {
		return strings.HasPrefix(word, name+"=")
	}
	if name, ok := strings.CutSuffix(option, "#"); ok {
		number, ok := strings.CutPrefix(word, name)
		return ok && number != "" && strings.Trim(number, "0123456789") == ""
	}
	return word == option
}
