package tiers

import (
	"slices"
	"strings"
)

// Choice narrows a tier. The zero value is all of it.
type Choice struct {
	Only    string   // names of suites, with spaces between them
	From    string   // the suite to go on with after an interruption
	Changed []string // files; only suites that guard one of them run. Nil is all suites
}

// Pick returns the suites of a tier that a choice leaves. Builds stay as long as any other suite
// does, since it needs them.
func (t Table) Pick(tier Tier, by Choice) (Table, error) {
	picked := t.In(tier)
	only := strings.Fields(by.Only)
	for _, name := range append(slices.Clone(only), strings.Fields(by.From)...) {
		if _, err := t.Command(tier, name); err != nil {
			return nil, err
		}
	}
	suites := slices.ContainsFunc(picked, func(s Suite) bool { return !s.Build && slices.Contains(only, s.Name) })
	begun := by.From == ""
	picked = slices.DeleteFunc(picked, func(s Suite) bool {
		begun = begun || s.Name == by.From
		switch {
		case len(only) > 0:
			return !slices.Contains(only, s.Name) && (!s.Build || !suites)
		case s.Build:
			return false
		default:
			return !begun || by.Changed != nil && !s.guards(by.Changed)
		}
	})
	if !slices.ContainsFunc(picked, func(s Suite) bool { return !s.Build }) && len(only) == 0 {
		return nil, nil
	}
	return picked, nil
}

// guards reports whether one of the files lies in what the suite guards.
func (s Suite) guards(files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		return slices.ContainsFunc(s.Guards, func(path string) bool { return within(file, path) })
	})
}

// within reports whether a file is a path or lies below it.
func within(file, path string) bool {
	return path == "." || file == path || strings.HasPrefix(file, path+"/")
}

// Changed lists the files of a checkout that differ from a revision, those git does not know yet
// among them.
func Changed(root, revision string) ([]string, error) {
	files := []string{}
	for _, args := range [][]string{
		{"diff", "--name-only", "--no-renames", revision, "--"},
		{"ls-files", "--others", "--exclude-standard"},
	} {
		out, err := git(root, args...)
		if err != nil {
			return nil, err
		}
		files = append(files, strings.Fields(out)...)
	}
	return files, nil
}
