package role

import (
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
)

// Rule says what happens to calls of a tool without asking anybody first. Among the rules that
// match, the last one counts.
type Rule struct {
	// Tool is a name, or a beginning and *.
	Tool string `json:"tool"`
	// Pattern is matched with the subject of the call, a command or a path: * stands for any text,
	// ? for one character. Empty means every call.
	Pattern string       `json:"pattern,omitempty"`
	Verdict agent.Policy `json:"verdict"`
}

// String is the rule as people write it: deny shell(git push *).
func (r Rule) String() string {
	if r.Pattern == "" {
		return string(r.Verdict) + " " + r.Tool
	}
	return string(r.Verdict) + " " + r.Tool + "(" + r.Pattern + ")"
}

// Verdict is the verdict of the role's rules on a call of a tool with its subject. A line of
// several commands must be taken apart first, and the strictest verdict counts: a pattern that fits
// the beginning of a line says nothing about the text after a semicolon.
func (r Role) Verdict(tool, subject string) agent.Policy {
	verdict := agent.PolicyUnset
	for _, rule := range r.Rules {
		if covered([]string{rule.Tool}, tool) && (rule.Pattern == "" || matches(rule.Pattern, subject)) {
			verdict = rule.Verdict
		}
	}
	return verdict
}

// Permissions are rules in the form tool or tool(pattern).
type Permissions struct {
	Allow []string `json:"allow,omitempty" personal:"true" jsonschema:"calls that need no approval, such as shell(git status *)"`
	Ask   []string `json:"ask,omitempty" jsonschema:"calls that always need an approval"`
	Deny  []string `json:"deny,omitempty" jsonschema:"calls that are never made; nothing overrides a denial"`
}

// Rules reads the permissions as rules, denials last so that they win.
func (p Permissions) Rules() ([]Rule, error) {
	var rules []Rule
	for _, set := range []struct {
		entries []string
		verdict agent.Policy
	}{{p.Allow, agent.PolicyAllow}, {p.Ask, agent.PolicyAsk}, {p.Deny, agent.PolicyDeny}} {
		for _, entry := range set.entries {
			tool, pattern := cutArgs(entry)
			names, kind := lookUp(tool)
			if tool == "*" {
				names = []string{"*"}
			}
			if kind != toolOurs && kind != toolMCP {
				return nil, fmt.Errorf("%s: %s", entry, noTool(tool))
			}
			for _, name := range names {
				rules = append(rules, Rule{Tool: name, Pattern: commandPattern(pattern), Verdict: set.verdict})
			}
		}
	}
	return rules, nil
}

// AskWhen is whether a person is asked before a tool is used.
type AskWhen string

// The answers. Sometimes means that the answer depends on the subject of the call.
const (
	AsksNever     AskWhen = "never"
	AsksSometimes AskWhen = "sometimes"
	AsksAlways    AskWhen = "always"
	AsksDenied    AskWhen = "denied"
)

// Asks is the verdict of the role's rules on all calls of a tool. Without a rule a person is asked
// about each call that writes or reaches the network.
func (r Role) Asks(tool string) AskWhen {
	for _, rule := range r.Rules {
		if rule.Pattern != "" && covered([]string{rule.Tool}, tool) {
			return AsksSometimes
		}
	}
	switch r.Verdict(tool, nowhere) {
	case agent.PolicyAllow:
		return AsksNever
	case agent.PolicyDeny:
		return AsksDenied
	case agent.PolicyAsk:
		return AsksAlways
	case agent.PolicyUnset:
	}
	if authority := needs([]string{tool}); authority.Write || authority.Network {
		return AsksAlways
	}
	return AsksNever
}

// matches reports whether a pattern fits a whole text. A pattern that ends in a blank and * also
// matches the text before them: "git status *" is "git status" with or without more.
func matches(pattern, text string) bool {
	if stem, ok := strings.CutSuffix(pattern, " *"); ok && Wild(stem, text) {
		return true
	}
	return Wild(pattern, text)
}

// Wild matches * and ?. It goes back only to the last *, so it takes no more than the product of
// the two lengths.
func Wild(pattern, text string) bool {
	p, t, star, resume := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// PermissionMode is how a role treats calls that no rule names.
type PermissionMode string

// The permission modes. The names of other programs are read as the nearest of these.
const (
	// AsUsual asks about what writes.
	AsUsual PermissionMode = "default"
	// AcceptEdits allows changes to files.
	AcceptEdits PermissionMode = "accept_edits"
	// PlanOnly takes away every tool that changes something.
	PlanOnly PermissionMode = "plan"
	// NeverAsk denies what would have to be asked about.
	NeverAsk PermissionMode = "dont_ask"
	// AlwaysAsk asks about everything.
	AlwaysAsk PermissionMode = "always_ask"
	// AllowAll asks about nothing.
	AllowAll PermissionMode = "bypass"
)

// permissionModes are the words for each mode, ours first.
var permissionModes = []struct {
	mode  PermissionMode
	words []string
}{
	{AsUsual, []string{"default", "confirm_risky"}},
	{AcceptEdits, []string{"accept_edits"}},
	{PlanOnly, []string{"plan"}},
	{NeverAsk, []string{"dont_ask"}},
	{AlwaysAsk, []string{"always_ask", "always_confirm"}},
	{AllowAll, []string{"bypass", "bypassPermissions", "never_confirm"}},
}

// rules are the rules that a mode adds before those of the file, which therefore win.
func (m PermissionMode) rules() []Rule {
	switch m {
	case AsUsual, PlanOnly:
		return nil
	case AcceptEdits:
		return []Rule{
			{Tool: "edit_file", Verdict: agent.PolicyAllow}, {Tool: "write_file", Verdict: agent.PolicyAllow},
		}
	case NeverAsk:
		list := []Rule{{Tool: "*", Verdict: agent.PolicyDeny}}
		for _, t := range tools {
			if !t.write {
				list = append(list, Rule{Tool: t.name, Verdict: agent.PolicyAllow})
			}
		}
		return list
	case AlwaysAsk:
		return []Rule{{Tool: "*", Verdict: agent.PolicyAsk}}
	case AllowAll:
		return []Rule{{Tool: "*", Verdict: agent.PolicyAllow}}
	}
	return nil
}
