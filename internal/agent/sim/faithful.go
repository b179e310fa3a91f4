package sim

import (
	"errors"
	"fmt"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// faithful: a call runs as the person saw it last and allowed it, or with the arguments that they
// gave instead. A call that a person was asked about runs only if they allowed it.
func (n *node) faithful(e agent.Event, effects []agent.Effect) error {
	if d, ok := e.(agent.Decided); ok {
		n.verdicts[d.Call] = d
	}
	for _, effect := range effects {
		switch e := effect.(type) {
		case agent.OpenApproval:
			n.shown[e.Call] = e.Hash
		case agent.RunTool:
			if err := n.allowed(e); err != nil {
				return fmt.Errorf("faithful: call %s %w", e.Call, err)
			}
		default:
		}
	}
	return nil
}

func (n *node) allowed(run agent.RunTool) error {
	shown, asked := n.shown[run.Call]
	verdict := n.verdicts[run.Call]
	switch edited := verdict.Edited; {
	case edited != nil && (!run.Edited || !run.Approved || run.Hash != edited.Hash || run.Bound != edited.Bound):
		return fmt.Errorf("runs as %s, and was allowed as %s", run.Hash, edited.Hash)
	case edited != nil && (edited.Policy == agent.PolicyDeny || edited.Problem != "" || edited.Tool != run.Tool || verdict.Scope != agent.ScopeOnce):
		return errors.New("runs with arguments that may not be")
	case edited != nil:
		return nil
	case run.Edited:
		return errors.New("runs with arguments that nobody gave it")
	case asked && (!run.Approved || run.Hash != shown && run.Bound != shown):
		return fmt.Errorf("runs as %s, and %s was shown", run.Hash, shown)
	}
	return nil
}

// edit makes up other arguments for a call, now and then such as nobody may allow.
func (w *world) edit(a approval, e *agent.Decided) {
	hash := "edited" + hashes[w.c.n(len(hashes))]
	c := agent.Call{
		Tool: a.tool, Hash: hash, Bound: "bound " + hash, Known: true, Class: chat.ClassIdempotent, Writes: true, Policy: agent.PolicyAsk,
	}
	switch w.c.pick(60, 8, 8, 8, 8, 8) {
	case 0:
		e.Scope = agent.ScopeOnce
	case 1:
		c.Policy = agent.PolicyDeny
	case 2:
		c.Problem = "not JSON"
	case 3:
		c.Tool = "read"
	case 4:
		c.Hash = a.hash
	case 5: // with whatever scope was drawn, or as a no
	}
	e.Edited = &c
}
