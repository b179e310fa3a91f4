package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
)

// reading is the list of strangers' texts that an agent has really read, even if its core forgot
// one.
type reading map[agent.Source]bool

func (r reading) add(other reading) { maps.Copy(r, other) }

// strangers are whom a tool may have read.
var strangers = [...]agent.Source{
	{Kind: agent.SourceWeb, Name: "example.com"},
	{Kind: agent.SourceWeb, Name: "example.org"},
	{Kind: agent.SourceMCP, Name: "tracker"},
	{Kind: agent.SourceFile, Name: "vendor/a.txt"},
}

// stranger draws the source of a result: mostly no stranger.
func (w *world) stranger() agent.Taint {
	if !w.c.odds(20) {
		return nil
	}
	return agent.Taint{strangers[w.c.n(len(strangers))]}
}

// untainted: no agent forgets what it has read, and once it has read something, no call of its own
// that writes or reaches the network runs before a person was shown that very call and allowed it,
// unless the operator listed it.
func (w *world) untainted(n *node, e agent.Event, after agent.State, effects []agent.Effect) error {
	w.read(n, e)
	for source := range n.read {
		if !covers(after.Taint, source) {
			return fmt.Errorf("taint: it has read %s and forgotten it", source.Name)
		}
	}
	for _, effect := range effects {
		switch e := effect.(type) {
		case agent.Enlist:
			inherited := maps.Clone(n.read)
			if before := w.agentNode(e.Brief.Agent); e.Brief.Resumed && before != nil {
				inherited.add(before.read)
			}
			w.inherited[e.Brief.Task] = inherited
		case agent.Reply:
			if e.By == agent.ByOrchestrator || e.By == agent.ByEarlier {
				w.told[e.Question] = maps.Clone(n.read)
			}
		case agent.OpenApproval:
			if len(e.Taint) > 0 {
				w.stats.Barred++
			}
		case agent.RunTool:
			if err := n.allowedTainted(e); err != nil {
				return err
			}
		default:
		}
	}
	return nil
}

// read notes the sources that an event brings into an agent's transcript.
func (w *world) read(n *node, e agent.Event) {
	switch e := e.(type) {
	case agent.Begun:
		n.read.add(w.inherited[n.task])
	case agent.Replied:
		for i, c := range e.Calls {
			n.calls[fmt.Sprintf("%d.%d", e.Turn, i)] = c
		}
	case agent.ToolDone:
		for _, source := range e.Taint {
			n.read[source] = true
		}
	case agent.ChildEnded:
		child := w.node(e.Task)
		if child != nil && (e.Outcome.Failed() || !child.calls[e.Outcome.Call].Typed) {
			n.read.add(child.read)
		}
	case agent.Answered:
		if e.By == agent.ByOrchestrator || e.By == agent.ByEarlier {
			n.read.add(w.told[e.Question])
		}
	default:
	}
}

func covers(t agent.Taint, source agent.Source) bool {
	return slices.Contains(t, source) || slices.Contains(t, agent.Source{Kind: agent.SourceMore})
}

func (n *node) allowedTainted(run agent.RunTool) error {
	c, verdict := n.calls[run.Call], n.verdicts[run.Call]
	if verdict.Edited != nil {
		c = *verdict.Edited
	}
	shown, asked := n.shown[run.Call]
	if len(n.read) == 0 || !c.Writes && !c.Network || c.Sink || asked && verdict.Allow && verdict.Hash == shown {
		return nil
	}
	return fmt.Errorf("taint: call %s of %s runs although nobody allowed it, and %d strangers were read", run.Call, run.Tool, len(n.read))
}
