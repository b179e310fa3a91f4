package role

import (
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
)

func toolFields() []field {
	return []field{
		{name: "tools", aliases: []string{"allowed_tools"}, set: (*draft).setTools},
		{name: "disallowed_tools", aliases: []string{"denied_tools", "excluded_tools"}, set: (*draft).setDisallowed},
		{name: "permission", aliases: []string{"permissions"}, set: (*draft).setPermission},
		{name: "permission_mode", set: (*draft).setPermissionMode},
		{name: "network", set: func(d *draft, n document.Node) error { return n.ToBool(&d.network) }},
		{name: "can_delegate", set: func(d *draft, n document.Node) error {
			d.canDelegate = new(bool)
			return n.ToBool(d.canDelegate)
		}},
		{name: "can_delegate_to", adds: true, aliases: []string{
			"allowed_delegations", "sub_agents", "handoffs", "delegates", "delegate_to",
		}, set: func(d *draft, n document.Node) error {
			words, err := n.Words()
			for _, w := range words {
				d.patterns = append(d.patterns, strings.TrimSpace(w.Text))
			}
			return err
		}},
	}
}

// setTools reads the tools: a list, a text with commas, or a table of switches. A table begins with
// the reading tools, as if nothing had been said.
func (d *draft) setTools(n document.Node) error {
	if n.Kind == document.Table {
		for _, p := range n.Pairs {
			var on bool
			if err := p.Value.ToBool(&on); err != nil {
				return inField(p, err)
			}
			w := document.Node{Line: p.Line, Column: p.Column, Kind: document.Text, Text: strings.TrimSpace(p.Key)}
			change := func() error { return d.removeTool(w, &d.removed) }
			if on {
				change = func() error { return d.addTool(w) }
			}
			if err := change(); err != nil {
				return err
			}
		}
		return nil
	}
	words, err := n.Words()
	if err != nil {
		return err
	}
	d.named = true
	for _, w := range words {
		if err := d.addTool(w); err != nil {
			return err
		}
	}
	return nil
}

// addTool adds the tools of one entry of a tool list.
func (d *draft) addTool(w document.Node) error {
	name, args := cutArgs(w.Text)
	names, kind := lookUp(name)
	switch kind {
	case toolOurs, toolMCP:
		d.added = append(d.added, names...)
		d.removed = without(d.removed, names)
		if args != "" {
			d.limitTo(names, args)
		}
	case toolDelegates:
		if args == "" {
			args = "*"
		}
		d.patterns = append(d.patterns, document.CutCommas(args)...)
		d.Origins["can_delegate_to"] = document.Origin{Kind: d.from, Name: d.File, Line: w.Line}
	case toolAsks:
		d.CanAsk = true
	case toolElsewhere:
		d.warn(w.Line, w.Column, "the tool %s does not exist here and is left out", name)
	case toolControl:
	case toolUnknown:
		return w.Complain("%s", noTool(name))
	}
	return nil
}

// limitTo allows calls of a tool that match and denies the others: Bash(git diff:*).
func (d *draft) limitTo(names []string, pattern string) {
	for _, name := range names {
		if !containsRule(d.grants, name) {
			d.grants = append(d.grants, Rule{Tool: name, Pattern: "*", Verdict: agent.PolicyDeny})
		}
		d.grants = append(d.grants, Rule{Tool: name, Pattern: commandPattern(pattern), Verdict: agent.PolicyAllow})
	}
}

// removeTool removes the tools of one entry, or denies the calls that match it.
func (d *draft) removeTool(w document.Node, from *[]string) error {
	name, args := cutArgs(w.Text)
	names, kind := lookUp(name)
	switch kind {
	case toolOurs, toolMCP:
		if args != "" || kind == toolMCP { // a tool may also be part of a wider pattern
			for _, name := range names {
				d.grants = append(d.grants, Rule{Tool: name, Pattern: commandPattern(args), Verdict: agent.PolicyDeny})
			}
		}
		if args == "" {
			*from = append(*from, names...)
		}
	case toolDelegates:
		if args == "" {
			args = "*"
		}
		for _, role := range document.CutCommas(args) {
			d.patterns = append(d.patterns, "!"+role)
		}
	case toolAsks:
		d.CanAsk = false
	case toolElsewhere, toolControl:
	case toolUnknown:
		return w.Complain("%s", noTool(name))
	}
	return nil
}

// setDisallowed reads the tools that a role must not have, even if it lists them elsewhere.
func (d *draft) setDisallowed(n document.Node) error {
	words, err := n.Words()
	if err != nil {
		return err
	}
	for _, w := range words {
		if err := d.removeTool(w, &d.forbidden); err != nil {
			return err
		}
		if w.Text == "*" {
			d.forbidden = append(d.forbidden, "mcp__*")
		}
	}
	return nil
}

// setPermission reads a verdict per tool, or per pattern of a tool's calls; later entries win.
func (d *draft) setPermission(n document.Node) error {
	if n.Kind == document.Text {
		n = document.Node{Kind: document.Table, Pairs: []document.Pair{{Key: "*", Line: n.Line, Column: n.Column, Value: n}}}
	}
	if n.Kind != document.Table {
		return n.Complain("expected a table of tools and verdicts, found %s", n.Kind)
	}
	for _, p := range n.Pairs {
		if err := d.permit(p); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) permit(p document.Pair) error {
	entries := p.Value.Pairs
	if p.Value.Kind != document.Table {
		entries = []document.Pair{{Line: p.Line, Column: p.Column, Value: p.Value}}
	}
	name := strings.TrimSpace(p.Key)
	names, kind := lookUp(name)
	if name == "*" {
		names, kind = []string{"*"}, toolOurs
	} else if document.Fold(name) == "edit" { // in opencode's tables, edit stands for every change to a file
		names = []string{"edit_file", "write_file"}
	}
	if kind == toolUnknown {
		return document.At(p.Line, p.Column, "%s", noTool(name))
	}
	usable := true // until all calls are denied; exceptions before that do not count
	for _, e := range entries {
		var verdict agent.Policy
		if err := document.ToWord(e.Value, &verdict, agent.PolicyAllow, agent.PolicyAsk, agent.PolicyDeny); err != nil {
			return inField(p, err)
		}
		if strings.Trim(e.Key, "*") == "" || verdict != agent.PolicyDeny {
			usable = verdict != agent.PolicyDeny
		}
		d.decree(names, kind, e.Key, verdict)
	}
	if kind != toolOurs && kind != toolMCP {
		return nil
	}
	if names[0] == "*" {
		names = ToolNames()
	}
	if !usable {
		d.denied = append(d.denied, names...)
		return nil
	}
	d.permitted = append(d.permitted, names...)
	d.denied = without(d.denied, names)
	if _, said := d.Origins["tools"]; !said {
		d.Origins["tools"] = document.Origin{Kind: d.from, Name: d.File, Line: p.Line}
	}
	return nil
}

// decree records one verdict.
func (d *draft) decree(names []string, kind toolKind, pattern string, verdict agent.Policy) {
	switch kind {
	case toolOurs, toolMCP:
		for _, name := range names {
			d.grants = append(d.grants, Rule{Tool: name, Pattern: commandPattern(pattern), Verdict: verdict})
		}
	case toolDelegates:
		if pattern == "" {
			pattern = "*"
		}
		if verdict == agent.PolicyDeny {
			pattern = "!" + pattern
		}
		d.patterns = append(d.patterns, pattern)
	case toolAsks:
		d.CanAsk = verdict != agent.PolicyDeny
	case toolControl, toolElsewhere, toolUnknown:
	}
}

// setPermissionMode reads a permission mode in the words of any of the programs.
func (d *draft) setPermissionMode(n document.Node) error {
	var all []string
	for _, m := range permissionModes {
		for _, word := range m.words {
			if document.Fold(word) == document.Fold(n.Text) {
				d.mode = m.mode
				return nil
			}
			all = append(all, word)
		}
	}
	return n.Complain("%q is not a permission mode: %s", n.Text, document.Meant(n.Text, all))
}

// cutArgs takes Agent(a, b) apart.
func cutArgs(text string) (name, args string) {
	name, args, ok := strings.Cut(text, "(")
	if !ok {
		return strings.TrimSpace(text), ""
	}
	return strings.TrimSpace(name), strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(args), ")"))
}

// commandPattern reads another program's git diff:* as git diff *.
func commandPattern(pattern string) string {
	if stem, ok := strings.CutSuffix(pattern, ":*"); ok {
		return stem + " *"
	}
	return pattern
}

func containsRule(rules []Rule, tool string) bool {
	for _, r := range rules {
		if r.Tool == tool {
			return true
		}
	}
	return false
}

func without(list, names []string) []string {
	var kept []string
	for _, name := range list {
		if !covered(names, name) {
			kept = append(kept, name)
		}
	}
	return kept
}
