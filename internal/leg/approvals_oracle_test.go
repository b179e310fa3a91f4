package leg

import (
	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// asked is a call as the person behind the test knows it.
type asked struct {
	conversation, agent, tool, args string
	class                           chat.EffectClass
	// edited are the arguments that the person gave it, if they did.
	edited string
	// shown is its effect at the time when the person was asked, or gave it other arguments.
	shown string
	// pattern is the shown scope of a wider yes, and scope the scope of the actual yes, if any.
	pattern string
	scope   agent.Scope
	// open means that a decision still counts, until a time. Covered means that the person has said yes
	// to all calls like this one, and may still give this one other arguments. Free means that a rule
	// allows the call.
	open, covered, free bool
	until               int64
	// began counts starts, and ended that the result is known.
	began int
	ended bool
}

// oracle decides which calls may run, only from the calls that the person saw and their decisions.
type oracle struct {
	calls map[string]*asked
	// tainted are agents that have read what a stranger wrote, by the beginning of their calls' names.
	tainted map[string]bool
}

// whose is the beginning of the names of an agent's calls.
func (a *asked) whose() string { return a.conversation + "/" + a.agent + "#" }

// decided notes what the person said, if it still counts.
func (o *oracle) decided(id string, allow bool, scope agent.Scope, now int64) {
	a := o.calls[id]
	if a == nil || !a.open || now >= a.until {
		return
	}
	if a.open = false; !allow {
		return
	}
	if a.scope = scope; a.pattern == "" {
		a.scope = agent.ScopeOnce
	}
	for _, other := range o.calls {
		if a.scope != agent.ScopeOnce && !o.tainted[a.whose()] && other.conversation == a.conversation && other.agent == a.agent && other.like(a.tool, a.pattern) {
			other.covered, other.open = other.covered || other.open, false
		}
	}
}

// edited notes that the person allowed a call with other arguments, which would do this now.
func (o *oracle) edited(id, args, would, pattern string, now int64) {
	a := o.calls[id]
	if a == nil || !a.open && !a.covered || now >= a.until {
		return
	}
	a.open, a.covered = false, false
	a.scope, a.edited, a.shown, a.pattern = agent.ScopeOnce, args, would, pattern
}

func (a *asked) like(tool, pattern string) bool {
	return a.tool == tool && a.pattern == pattern && pattern != ""
}

// may reports whether a call may begin now, given its effect, its pattern, and the denials of the
// machine's owner.
func (o *oracle) may(id, would, pattern string, denied bool) bool {
	a := o.calls[id]
	switch {
	case a == nil || a.began > 0 && a.class == chat.ClassOnce:
		return false
	case a.began > 0 && !a.ended && a.class == chat.ClassIdempotent:
		return true // the worker that began it was lost
	case denied:
		return false
	case o.tainted[a.whose()]:
		return a.scope != "" && !a.ended && would == a.shown // only a decision on this very call counts
	case a.free || a.scope == agent.ScopeOnce && !a.ended && would == a.shown:
		return true
	}
	for _, g := range o.calls {
		reaches := g.scope == agent.ScopeChat || g.scope == agent.ScopeTask && g.agent == a.agent
		if reaches && g.conversation == a.conversation && g.like(a.tool, pattern) {
			return true
		}
	}
	return false
}
