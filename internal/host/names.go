package host

import (
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Root is the agent that a person talks to, and its one task.
const Root = chat.Root

// RunID names the run of a task among those of all conversations. The first task of an agent has
// the agent's name. It never changes.
func RunID(ref journal.Ref, task string) string {
	return ref.Tenant + "/" + ref.Conversation + "/" + task
}

// Workspace is a folder that agents of one tenant work in. Two tenants may have workspaces of the
// same name, and neither can reach the other's. Without a name the agents have no folder.
type Workspace struct{ Tenant, Name string }

// String implements fmt.Stringer.
func (w Workspace) String() string { return w.Tenant + "/" + w.Name }
