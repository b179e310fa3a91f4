package durable

import (
	"github.com/retinue-dev/retinue/internal/journal"
)

// Names that histories and running programs know. They never change.
const (
	workflowAgent   = "agent"
	workflowReview  = "review"
	activityLeg     = "leg"
	activityOnce    = "once"
	activityClose   = "close"
	activityKill    = "kill"
	activityConfess = "confess"
	activityReview  = "review"
	signalMail      = "mail"
	queryMail       = "mail"
	controlQueue    = "retinue"
)

// Root is the agent that a person talks to, and its one task.
const Root = "main"

// WorkflowID is the engine's id of an agent's run. An agent that is resumed has another run under
// the same id, after the one before.
func WorkflowID(place journal.Place, agent string) string {
	return place.Tenant + "/" + place.Conversation + "/" + agent
}

// workspaceQueue is where the legs of agents that work in a workspace are carried out: the files
// are there.
func workspaceQueue(workspace string) string {
	if workspace == "" {
		return controlQueue
	}
	return controlQueue + "/" + workspace
}
