package host

import (
	"github.com/retinue-dev/retinue/internal/journal"
)

// RunRef names a run of an agent.
type RunRef struct {
	Ref   journal.Ref `json:"ref"`
	Agent string      `json:"agent"`
	Task  string      `json:"task"`
	// Workspace is where the agent works.
	Workspace string `json:"workspace,omitempty"`
	// Tree is the tree of it whose files a call is about, empty for the workspace itself. Plant means
	// that it may have to be made first, as a copy of From.
	Tree    string `json:"tree,omitempty"`
	NewTree bool   `json:"plant,omitempty"`
	From    string `json:"from,omitempty"`
}

// At is the workspace that the agent works in.
func (w RunRef) At() Workspace { return Workspace{Tenant: w.Ref.Tenant, Name: w.Workspace} }

func (w RunRef) In() journal.In { return journal.In{Agent: w.Agent, Task: w.Task} }
