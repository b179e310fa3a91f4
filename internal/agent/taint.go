package agent

import (
	"cmp"
	"slices"
	"strings"
)

// Taint lists the sources of strangers' texts that an agent has read: sorted, each source once, and
// SourceMore last. It only grows. Compaction, a new message and a new task on the same agent leave
// it as it is. A child begins with its parent's, and a tainted agent's own words taint their
// reader.
//
// A tainted agent's calls that write or reach the network are decided by a person each time: no
// rule, no earlier approval and no permission of its role allows them. A call that a rule denies
// stays denied.
//
// It is set by the host, which knows where a result comes from: on ToolDone, on an Item that
// resumes an agent, and on Replied for sources that the journal knows and the core does not.
type Taint []Source

// Source is one place that somebody else writes to.
type Source struct {
	Kind SourceKind `json:"kind"`
	// Name is a host, a server of MCP, a path or an agent.
	Name string `json:"name,omitempty"`
}

// SourceKind is the kind of a source.
type SourceKind string

// The kinds of sources. SourceMore stands for all that are not listed any more.
const (
	SourceWeb   SourceKind = "web"
	SourceMCP   SourceKind = "mcp"
	SourceFile  SourceKind = "file"
	SourceAgent SourceKind = "agent"
	SourceMore  SourceKind = "more"
)

const (
	// sourcesKept bounds how many sources are listed, and sourceBytes the name of each: a taint is a
	// part of every state.
	sourcesKept = 6
	sourceBytes = 48
)

// With is both taints. Listed sources stay listed; of those that do not fit only SourceMore is
// left.
func (t Taint) With(other Taint) Taint {
	var listed Taint
	more := false
	for _, list := range []Taint{t, other} {
		for _, s := range list {
			s.Name = short(s.Name)
			at, found := slices.BinarySearchFunc(listed, s, compareSources)
			switch {
			case found:
			case s.Kind == SourceMore, len(listed) == sourcesKept:
				more = true
			default:
				listed = slices.Insert(listed, at, s)
			}
		}
	}
	if more {
		listed = append(listed, Source{Kind: SourceMore})
	}
	return listed
}

func compareSources(a, b Source) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// short cuts the middle out of a long name: its ends tell most.
func short(name string) string {
	if len(name) <= sourceBytes {
		return name
	}
	const half = (sourceBytes - len("…")) / 2
	return strings.ToValidUTF8(name[:half], "") + "…" + strings.ToValidUTF8(name[len(name)-half:], "")
}

// taint adds an event's sources to the agent's.
func (m *machine) taint(t Taint) {
	if len(t) > 0 {
		m.s.Taint = m.s.Taint.With(t)
	}
}

// barred reports whether only a person can let a call of this agent run: no rule and no earlier
// approval does. Calls that the operator listed are judged by the rules as if nothing had happened.
func (m *machine) barred(c *OpenCall) bool {
	return len(m.s.Taint) > 0 && (c.Writes || c.Network) && !c.Sink
}

// Cover says that a call was approved without being shown to the person who approved it.
type Cover string

// The covers. CoverGrant is an earlier approval for the task, CoverBeside that of another call that
// waited at the same time: then this one was asked about too, and is not again.
const (
	CoverNone   Cover = ""
	CoverGrant  Cover = "grant"
	CoverBeside Cover = "beside"
)

// Reported is the taint that a child's report brings. Data that fits a closed schema has no room
// for words.
func (o Outcome) Reported() Taint {
	if o.Typed {
		return nil
	}
	return o.Taint
}

// stillGood reports whether a call that a rule or an approval lets through may run, first when the
// model makes it and again when its turn has come. If the agent's taint bars it, a person is asked
// after all; if its approval was open before, it ends here and the model may call again.
func (m *machine) stillGood(c *OpenCall) bool {
	cover := c.Cover
	if !m.barred(c) || c.Approved && cover == CoverNone {
		return true
	}
	c.Approved, c.Cover, c.By = false, CoverNone, ""
	if cover == CoverBeside {
		m.settleDenied(c, CallDenied, DeniedUnapproved)
		return false
	}
	m.askPerson(c, "")
	return false
}
