package builtin

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ignoreFile is where git is told what to leave alone.
const ignoreFile = ".gitignore"

// ignoreBytes is how much of such a file is read.
const ignoreBytes = 1 << 20

// rule is one line of an ignore file.
type rule struct {
	// literal is compared as it is; patterns with wildcards have an expression instead.
	literal string
	re      *regexp.Regexp
	// anywhere means that only the last part of a path counts.
	anywhere bool
	folders  bool
	back     bool
}

// ruleFile is an ignore file and the folder it speaks of.
type ruleFile struct {
	dir   string
	rules []rule
}

// ruleStack holds ignore files, the farthest from the entry first.
type ruleStack []ruleFile

// with adds the rules of a file, if it can be read. The stack itself stays as it was.
func (s ruleStack) with(dir string, root *os.Root, name string) ruleStack {
	f, err := open(root, name)
	if err != nil {
		return s
	}
	defer func() { _ = f.Close() }() // nothing was written
	data := make([]byte, ignoreBytes)
	n, _ := f.ReadAt(data, 0) // the rules that could be read still count
	var rules []rule
	for line := range strings.SplitSeq(strings.TrimPrefix(string(data[:n]), "\uFEFF"), "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
		}
	}
	if len(rules) == 0 {
		return s
	}
	return append(slices.Clip(s), ruleFile{dir: dir, rules: rules})
}

// rulesAbove reads the ignore files that hold for a folder from above: the repository's own, and those
// of the folders it lies in.
func (w *Workspace) rulesAbove(base string) ruleStack {
	s := ruleStack(nil).with(".", w.root, ".git/info/exclude")
	if base == "." {
		return s
	}
	dir := "."
	for part := range strings.SplitSeq(base, "/") {
		name := path.Join(dir, ignoreFile)
		if info, err := w.root.Lstat(name); err == nil && info.Mode().IsRegular() {
			s = s.with(dir, w.root, name)
		}
		dir = path.Join(dir, part)
	}
	return s
}

// ignored reports whether git would leave an entry alone. The last rule that fits decides.
func (s ruleStack) ignored(name string, folder bool) bool {
	for _, f := range slices.Backward(s) {
		below := name
		if f.dir != "." {
			below = strings.TrimPrefix(name, f.dir+"/")
		}
		for _, r := range slices.Backward(f.rules) {
			if r.fits(below, folder) {
				return !r.back
			}
		}
	}
	return false
}

func (r rule) fits(name string, folder bool) bool {
	if r.folders && !folder {
		return false
	}
	if r.anywhere {
		name = path.Base(name)
	}
	if r.re == nil {
		return name == r.literal
	}
	return r.re.MatchString(name)
}

// parseRule reads one line as git does.
func parseRule(line string) (rule, bool) {
	var r rule
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimSpaces(line)
	line, r.back = strings.CutPrefix(line, "!")
	line, r.folders = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false
	}
	r.anywhere = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if !strings.ContainsAny(line, `*?[\`) {
		r.literal = line
		return r, true
	}
	d := anchoredDialect
	if r.anywhere {
		d = nameDialect
	}
	re, err := d.compile(line)
	if err != nil {
		return r, false // git takes such a line, and nothing fits it
	}
	r.re = re
	return r, true
}

// trimSpaces removes spaces at the end, but for one that a backslash stands before.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}
