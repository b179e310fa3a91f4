package agent

import (
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// decided reports whether a call was decided the same way before.
func (c *OpenCall) decided(e Decided) bool {
	switch {
	case !e.Allow:
		return e.Edited == nil && c.Status == CallDenied
	case e.Edited == nil:
		return c.Approved && !c.edited()
	}
	return c.Approved && c.edited() && c.Hash == e.Edited.Hash
}

// decidedEdited handles a decision that allows a call with other arguments. They pass the same
// checks as a call of the model's. If one fails, the approval stays open.
func (m *machine) decidedEdited(c *OpenCall, e Decided) error {
	if why := m.uneditable(c, e); why != "" {
		return m.refuse(Conflict, "the arguments of call %s cannot be changed so: %s", e.Call, why)
	}
	c.Shown, c.Hash, c.Bound = c.shown(), e.Edited.Hash, e.Edited.Bound
	c.Class, c.Writes, c.Network, c.Sink = e.Edited.Class, e.Edited.Writes, e.Edited.Network, e.Edited.Sink
	if m.repeated(*e.Edited) {
		m.record(CloseApproval{Call: c.ID, Status: ApprovalCancelled, By: e.By})
		m.settle(c, CallSkipped, textLooping)
		m.halt(chat.KindMaxIterations, "loop")
		return nil
	}
	m.approve(c, ScopeOnce, e.By)
	return nil
}

// uneditable is why a person's arguments do not take the place of the model's, or nothing.
func (m *machine) uneditable(c *OpenCall, e Decided) string {
	switch edited := *e.Edited; {
	case !e.Allow:
		return "what is denied has no arguments"
	case e.Scope != "" && e.Scope != ScopeOnce:
		return "they are allowed once"
	case edited.Kind != CallTool || edited.Tool != c.Tool:
		return "they are for another tool"
	case edited.Hash == "" || edited.Bound == "":
		return "nobody has looked at them"
	case edited.Hash == c.Hash:
		return "they are the model's own"
	case edited.Policy == PolicyDeny:
		return "the rules deny it"
	default:
		return m.objection(edited)
	}
}

// editedShown is how much of a person's arguments the model is told.
const editedShown = 2000

// EditedText tells the model of a call whose arguments a person changed.
func EditedText(args string) string {
	if len(args) > editedShown {
		args = strings.ToValidUTF8(args[:editedShown], "") + fmt.Sprintf("… [cut: %d bytes in all]", len(args))
	}
	return fmt.Sprintf(textEdited, args)
}
