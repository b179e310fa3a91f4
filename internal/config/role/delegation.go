package role

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
)

// resolve settles which role may delegate to which, and the authority that each must pass on. A
// role whose names do not fit into a brief is left out. This may change others, so resolve starts
// again.
func (r *Registry) resolve(drafts []*draft) []*draft {
	drafts = slices.DeleteFunc(drafts, r.tooLarge)
	for _, d := range drafts {
		r.unknownDelegates(d, drafts)
	}
	for {
		for _, d := range drafts {
			d.Delegates = d.mayReach(drafts)
		}
		for _, d := range drafts {
			d.Authority = d.holds(drafts)
		}
		for _, d := range drafts {
			r.shorten(d, drafts)
		}
		before := len(drafts)
		if drafts = slices.DeleteFunc(drafts, r.tooLarge); len(drafts) == before {
			return drafts
		}
	}
}

// tooLarge reports, and says to its author, that a role does not fit into a brief.
func (r *Registry) tooLarge(d *draft) bool {
	if d.size() <= specBytes {
		return false
	}
	r.Warnings = append(r.Warnings, document.Warning{
		File: d.File, Line: 1, Column: 1, Skipped: true,
		Text: "its tools and delegates take too much room; name groups of tools by a common beginning and *",
	})
	return true
}

// unknownDelegates tells an author of names that stand for no role.
func (r *Registry) unknownDelegates(d *draft, drafts []*draft) {
	var names []string
	for _, o := range drafts {
		names = append(names, o.Name)
	}
	for _, p := range d.patterns {
		name := strings.TrimPrefix(p, "!")
		if strings.ContainsAny(name, "*?") || slices.ContainsFunc(names, func(n string) bool { return document.Fold(n) == document.Fold(name) }) {
			continue
		}
		line := max(1, d.Origins["can_delegate_to"].Line)
		r.Warnings = append(r.Warnings, document.Warning{
			File: d.File, Line: line, Column: 1,
			Text: fmt.Sprintf("there is no role %q to delegate to: %s", name, document.Meant(name, names)),
		})
	}
}

// mayReach lists the roles that a role may delegate to. Of the patterns that match a role, the
// last counts. A pattern reaches neither the role itself nor hidden ones nor those that talk to
// people; a name does, except that nothing delegates to an orchestrator.
func (d *draft) mayReach(drafts []*draft) []string {
	if d.canDelegate != nil && !*d.canDelegate {
		return nil
	}
	patterns := d.patterns
	if d.canDelegate != nil && len(patterns) == 0 {
		patterns = []string{"*"}
	}
	var names []string
	for _, o := range drafts {
		reached := false
		for _, p := range patterns {
			name, back := strings.CutPrefix(p, "!")
			general := strings.ContainsAny(name, "*?")
			switch {
			case back && (document.Fold(name) == document.Fold(o.Name) || Wild(strings.ToLower(name), strings.ToLower(o.Name))):
				reached = false
			case general && (o == d || o.Hidden):
			case general && Wild(strings.ToLower(name), strings.ToLower(o.Name)), document.Fold(name) == document.Fold(o.Name):
				reached = true
			}
		}
		if reached && o.Mode != ModePrimary {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names
}

// holds is a role's authority: its own tools, and those of the roles that it may reach, on all
// levels. The role cannot pass on a tool that it must not have itself.
func (d *draft) holds(drafts []*draft) agent.Authority {
	seen := map[*draft]bool{}
	var names []string
	var network bool
	var visit func(*draft)
	visit = func(o *draft) {
		if seen[o] {
			return
		}
		seen[o] = true
		names = append(names, o.Tools...)
		network = network || o.network
		for _, next := range drafts {
			if slices.Contains(o.Delegates, next.Name) {
				visit(next)
			}
		}
	}
	visit(d)
	a := needs(without(names, d.forbidden))
	a.Network = a.Network || network
	return a
}

// shorten drops delegates that a pattern reached until the role fits into a brief.
func (r *Registry) shorten(d *draft, drafts []*draft) {
	if !slices.ContainsFunc(d.patterns, func(p string) bool { return strings.Contains(p, "*") }) {
		return
	}
	var dropped []string
	for len(d.Delegates) > 0 && d.size() > specBytes {
		for excess := d.size() - specBytes; excess > 0 && len(d.Delegates) > 0; {
			last := len(d.Delegates) - 1
			excess -= len(d.Delegates[last])
			dropped = append(dropped, d.Delegates[last])
			d.Delegates = d.Delegates[:last]
		}
		d.Authority = d.holds(drafts) // fewer delegates may need fewer tools
	}
	if len(dropped) > 0 {
		slices.Sort(dropped)
		r.Warnings = append(r.Warnings, document.Warning{
			File: d.File, Line: 1, Column: 1,
			Text: fmt.Sprintf("%s cannot reach all roles at once; out of reach are %s", d.Name, strings.Join(dropped, ", ")),
		})
	}
}
