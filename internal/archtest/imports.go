package archtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Violation is one place where a rule is broken.
type Violation struct {
	At   string // file and line, or a folder
	What string
	Rule string
	Why  string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s\n\trule: %s\n\twhy:  %s", v.At, v.What, v.Rule, v.Why)
}

// Imports checks every import of the tree against the rules.
func Imports(t *Tree, rules []Rule) []Violation {
	var found []Violation
	for _, p := range t.Packages {
		for _, r := range rules {
			if !matchAny(r.From, p.name()) || matchAny(r.Except, p.name()) {
				continue
			}
			for _, f := range p.Files {
				if f.Test && !r.Tests {
					continue
				}
				found = append(found, t.importsOf(p, f, r)...)
			}
		}
	}
	return found
}

func (t *Tree) importsOf(p *Package, f *File, r Rule) []Violation {
	var found []Violation
	for _, spec := range f.Syntax.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it; there is nothing else it could be
		}
		name := t.own(importPath)
		below := slices.Contains(r.Allow, "below") && strings.HasPrefix(name, p.name()+"/")
		if name == p.name() || below || !matchAny(r.Deny, name) || matchAny(r.Allow, name) {
			continue
		}
		found = append(found, Violation{
			At:   t.fset.Position(spec.Pos()).String(),
			What: fmt.Sprintf("%s imports %s", p.name(), name),
			Rule: r.Name,
			Why:  r.Why,
		})
	}
	return found
}

// Modules reports packages that should sit in a module of their own and do not.
func Modules(t *Tree) []Violation {
	var found []Violation
	for _, p := range t.Packages {
		top, _, _ := strings.Cut(p.Dir, "/")
		if why, ok := ownModule[top]; ok && p.Module != top {
			found = append(found, Violation{
				At:   p.Dir,
				What: "belongs to the root module",
				Rule: top + " is a module of its own",
				Why:  why,
			})
		}
	}
	return found
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

func match(pattern, name string) bool {
	ours := name == "." || strings.HasPrefix(name, "./")
	first, _, _ := strings.Cut(name, "/")
	switch {
	case pattern == "std":
		return !ours && !strings.Contains(first, ".")
	case pattern == "other":
		return !ours && strings.Contains(first, ".")
	case strings.HasSuffix(pattern, "/..."):
		base := strings.TrimSuffix(pattern, "/...")
		return name == base || strings.HasPrefix(name, base+"/")
	case strings.HasSuffix(pattern, "/*"):
		return strings.HasPrefix(name, strings.TrimSuffix(pattern, "*"))
	default:
		return name == pattern
	}
}
