package role

import (
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
)

// Matter is something that a call is about: a path, a command of a line.
type Matter struct {
	// Forms are the texts that a rule may know it by.
	Forms []string
	// Inside are texts that it also amounts to. Only a rule that denies some calls or asks about them
	// is checked against these.
	Inside []string
	// Hidden means that the texts do not tell all of it: only a rule that allows every call allows it.
	Hidden bool
	// Asked means that a person decides about it each time: no rule allows it.
	Asked bool
}

// Judge is the verdict of the role's rules on a call with several subjects: the strictest counts. A
// merge changes files and makes them, so the rules for both decide about it.
func (r Role) Judge(tool string, matters []Matter) agent.Policy {
	if tool == agent.ToolMerge {
		return stricter(r.Judge("edit_file", matters), r.Judge("write_file", matters))
	}
	if len(matters) == 0 {
		return r.Verdict(tool, "")
	}
	verdict := agent.PolicyAllow
	for _, m := range matters {
		for _, text := range m.Forms {
			v := r.Verdict(tool, text)
			if v == agent.PolicyAllow && (m.Asked || m.Hidden && r.Verdict(tool, nowhere) != agent.PolicyAllow) {
				v = agent.PolicyAsk
			}
			verdict = stricter(verdict, v)
		}
		for _, text := range m.Inside {
			verdict = stricter(verdict, r.forbids(tool, text))
		}
	}
	return verdict
}

// nowhere is a text that only a rule for every call fits.
const nowhere = "\x00"

func stricter(a, b agent.Policy) agent.Policy {
	for _, p := range []agent.Policy{agent.PolicyDeny, agent.PolicyAsk, agent.PolicyUnset} {
		if a == p || b == p {
			return p
		}
	}
	return agent.PolicyAllow
}

// forbids is the verdict of the rules for some calls on an equivalent of a text: deny, ask, or
// nothing. A rule for every call does not count here, since it was applied to the text itself.
func (r Role) forbids(tool, text string) agent.Policy {
	verdict := agent.PolicyAllow
	for _, rule := range r.Rules {
		if strings.Trim(rule.Pattern, "*") != "" && covered([]string{rule.Tool}, tool) && matches(rule.Pattern, text) {
			verdict = rule.Verdict
		}
	}
	return verdict
}
