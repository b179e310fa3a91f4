package durable

import (
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/leg"
)

// Names that histories and running programs know. They never change.
const (
	workflowAgent   = "agent"
	workflowReview  = "review"
	activityLeg     = "leg"
	activityConfess = "confess"
	activityReview  = "review"
	signalLook      = string(leg.SignalLook)
	signalEnded     = string(leg.SignalEnded)
	signalCheck     = string(leg.SignalCheck)
	controlQueue    = "retinue"
)

// queueOf is where the legs of agents that work in a workspace are carried out: the files are there.
func queueOf(at host.Workspace) string {
	if at.Name == "" {
		return controlQueue
	}
	return controlQueue + "/" + at.Tenant + "/" + at.Name
}
