package match

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

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

// Rules are those of several ignore files, the farthest from the entry first.
type Rules []ruleFile

// With adds the rules of a file that stands in a folder. The rules before stay as they were.
func (s Rules) With(dir, text string) Rules {
	var rules []rule
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
		}
	}
	if len(rules) == 0 {
		return s
	}
	return append(slices.Clip(s), ruleFile{dir: dir, rules: rules})
}

// Ignore reports whether git would leave an entry alone. The last rule that fits decides.
func (s Rules) Ignore(name string, folder bool) bool {
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
