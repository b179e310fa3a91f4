package durable

import (
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/leg"
)

// Names that histories and running programs know. They never change.
const (
	workflowAgent        = "agent"
	workflowReview       = "review"
	workflowPresence     = "presence"
	activityLeg          = "leg"
	activityRecordBroken = "record-broken"
	activityReview       = "review"
	activityPresent      = "present"
	activityRelease      = "release"
	signalLook           = string(leg.SignalLook)
	signalEnded          = string(leg.SignalEnded)
	signalCheck          = string(leg.SignalCheck)
	signalHere           = "here"
	// presencesQueue is where presences are carried out, by the workers that carry out workflows of no
	// workspace in particular.
	presencesQueue = controlQueue + ":presences"
	controlQueue   = "retinue"
)

// queueOf is the queue for the legs of agents that work in a workspace: its workers have the files.
func queueOf(at host.Workspace) string {
	if at.Name == "" {
		return controlQueue
	}
	return controlQueue + "/" + at.Tenant + "/" + at.Name
}

// presenceID names the workflow of a worker, and presenceQueue the queue that no other worker
// serves. No run of an agent has such a name.
func presenceID(worker string) string    { return workflowPresence + ":" + worker }
func presenceQueue(worker string) string { return controlQueue + ":" + worker }
