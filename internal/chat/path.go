package chat

import (
	"strconv"
	"strings"
)

// Root is the agent that people talk to, and its first task. So is its role named, unless another
// one is chosen.
const Root = "main"

// AgentPath is an agent's id. It names the agents above: each is the id of its parent, a slash, and
// the call that asked for it with the place in that call.
type AgentPath string

// Depth is how far the agent is below the orchestrator.
func (a AgentPath) Depth() int { return strings.Count(string(a), "/") }

// Parent is the agent that asked for this one, empty if none did.
func (a AgentPath) Parent() AgentPath { return a[:max(0, strings.LastIndexByte(string(a), '/'))] }

// Name is the last part of the path: the call and the place in it.
func (a AgentPath) Name() string { return string(a[strings.LastIndexByte(string(a), '/')+1:]) }

// Child is the agent of a name below this one.
func (a AgentPath) Child(name string) AgentPath { return a + "/" + AgentPath(name) }

// Below is what follows in the path of an agent below another one; it reports whether the agent is
// below it.
func (a AgentPath) Below(ancestor AgentPath) (rest string, ok bool) {
	return strings.CutPrefix(string(a), string(ancestor)+"/")
}

// IsBelow reports whether the agent is below another one.
func (a AgentPath) IsBelow(ancestor AgentPath) bool {
	_, ok := a.Below(ancestor)
	return ok
}

// Address is the path as it stands in an address, without a slash.
func (a AgentPath) Address() string { return strings.ReplaceAll(string(a), "/", "~") }

// ParseAddress is the path that stands in an address.
func ParseAddress(address string) AgentPath { return AgentPath(strings.ReplaceAll(address, "~", "/")) }

// CallID is a call's id, which is unique within its agent: the turn whose reply asks for it, a dot,
// and the place in the reply.
type CallID string

// NewCallID names the call at a place of a turn's reply.
func NewCallID(turn, item int) CallID {
	return CallID(strconv.Itoa(turn) + "." + strconv.Itoa(item))
}

// Parse reads the turn and the place in the reply.
func (c CallID) Parse() (turn, item int, ok bool) {
	t, i, _ := strings.Cut(string(c), ".")
	turn, err := strconv.Atoi(t)
	item, err2 := strconv.Atoi(i)
	return turn, item, err == nil && err2 == nil && turn >= 0 && item >= 0
}

// Turn is the turn whose reply asks for the call, zero if the id has none. It also reads an agent's
// name.
func (c CallID) Turn() int {
	t, _, _ := strings.Cut(string(c), ".")
	turn, err := strconv.Atoi(t)
	if err != nil {
		return 0
	}
	return turn
}

// Child is the name of the agent that a place in the call asks for.
func (c CallID) Child(item int) string { return string(c) + "." + strconv.Itoa(item) }

// CallOf is the call that asked for the agent of a name, empty if the name has none.
func CallOf(name string) CallID { return CallID(name[:max(0, strings.LastIndexByte(name, '.'))]) }

// CallRef names a call in its conversation. A question has the name of the call that asks it.
type CallRef struct {
	Agent AgentPath
	Call  CallID
}

// RefOf names a call of an agent.
func RefOf(agent, call string) CallRef { return CallRef{Agent: AgentPath(agent), Call: CallID(call)} }

// ParseCallRef reads what String has written. A text without a call names an agent.
func ParseCallRef(ref string) CallRef {
	agent, call, _ := strings.Cut(ref, "#")
	return RefOf(agent, call)
}

// String implements fmt.Stringer.
func (r CallRef) String() string { return string(r.Agent) + "#" + string(r.Call) }

// Address is the name as it stands in an address.
func (r CallRef) Address() string { return r.Agent.Address() + ":" + string(r.Call) }

// ParseCallAddress reads what Address has written, and reports whether it names a call.
func ParseCallAddress(address string) (CallRef, bool) {
	agent, call, _ := strings.Cut(address, ":")
	return CallRef{Agent: ParseAddress(agent), Call: CallID(call)}, agent != "" && call != ""
}
