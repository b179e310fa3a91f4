package durable

import (
	"github.com/retinue-dev/retinue/internal/journal"
)

// Names that histories and running programs know. They never change.
const (
	workflowAgent   = "agent"
	workflowReview  = "review"
	activityLeg     = "leg"
	activityConfess = "confess"
	activityReview  = "review"
	signalLook      = "look"
	signalEnded     = "ended"
	signalCheck     = "check"
	controlQueue    = "retinue"
)

// Root is the agent that a person talks to, and its one task.
const Root = "main"

// WorkflowID is the engine's id of a task's run. The first task of an agent has the agent's name.
func WorkflowID(place journal.Place, task string) string {
	return place.Tenant + "/" + place.Conversation + "/" + task
}

// Workspace is a folder that agents of one tenant work in. Two tenants may have workspaces of the same name, and neither
// comes near the other's. Without a name there is no folder.
type Workspace struct{ Tenant, Name string }

// queue is where the legs of agents that work in a workspace are carried out: the files are there.
func (w Workspace) queue() string {
	if w.Name == "" {
		return controlQueue
	}
	return controlQueue + "/" + w.Tenant + "/" + w.Name
}

// String implements fmt.Stringer.
func (w Workspace) String() string { return w.Tenant + "/" + w.Name }
