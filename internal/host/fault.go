package host

import (
	"github.com/retinue-dev/retinue/internal/journal"
)

// Fault hears of the named points between two things that can be lost separately. Tests let the
// process die there; in production there is none.
type Fault func(point Point, ref journal.Ref, task string)

// Point is a place in the host at which a process can die.
type Point string

// The points.
const (
	PointLegBegin    Point = "leg/begin"
	PointLegFolded   Point = "leg/folded"
	PointLegAppend   Point = "leg/append"
	PointLegAppended Point = "leg/appended"
	PointLegEnd      Point = "leg/end"
	PointModelCall   Point = "model/call"
	PointModelCalled Point = "model/called"
	PointToolRun     Point = "tool/run"
	PointToolRan     Point = "tool/ran"
	PointOnceStarted Point = "once/started"
	PointOnceRan     Point = "once/ran"
	PointOnceEnd     Point = "once/end"
	PointLegStart    Point = "workflow/leg-start"
	PointLegDone     Point = "workflow/leg-done"
	PointMailFlagged Point = "workflow/mail-flagged"
	PointEnded       Point = "workflow/ended"
	PointPost        Point = "client/post"
	PointPosted      Point = "client/posted"
	PointTold        Point = "client/told"
	PointStartChild  Point = "order/StartChild"
	PointKillChild   Point = "order/KillChild"
)

// At tells of a point, if anybody wants to know.
func (f Fault) At(point Point, ref journal.Ref, task string) {
	if f != nil {
		f(point, ref, task)
	}
}
