package journal

import (
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// RoleRuns is what became of the runs of one role that have ended. A run is a task, or a turn of an
// agent that talks to people: its task goes on as long as the conversation does.
type RoleRuns struct {
	Role      string
	Runs      int64
	Completed int64
	// Cost and Questions are the sums of all of them.
	Cost      int64
	Questions int64
	// Duration is the median of the times, in milliseconds, from when each first ran to its end; the
	// shorter one of two in the middle.
	Duration int64
}

// Last is how the orchestrator's last turn ended; empty before one has.
func (v *View) Last() chat.Status {
	if len(v.turns) == 0 {
		return ""
	}
	turn, _ := v.turns[len(v.turns)-1].Row.(TurnEnded) // nothing else is there
	return turn.Status
}

// run is one of them.
type run struct {
	role            string
	status          chat.Status
	cost, questions int64
	began, ended    time.Time
}

// Runs sums the runs by their roles: the tasks that were assigned since a time and have ended, and the
// turns that ended since.
func Runs(views []*View, since time.Time) []RoleRuns {
	sums, times := map[string]RoleRuns{}, map[string][]int64{}
	for _, v := range views {
		for _, r := range slices.Concat(v.taskRuns(since), v.turnRuns(since)) {
			sum := sums[r.role]
			sum.Role, sum.Runs, sum.Cost, sum.Questions = r.role, sum.Runs+1, sum.Cost+r.cost, sum.Questions+r.questions
			if r.status == chat.StatusCompleted {
				sum.Completed++
			}
			if !r.began.IsZero() {
				times[r.role] = append(times[r.role], r.ended.Sub(r.began).Milliseconds())
			}
			sums[r.role] = sum
		}
	}
	var out []RoleRuns
	for role, sum := range sums {
		if all := times[role]; len(all) > 0 {
			slices.Sort(all)
			sum.Duration = all[(len(all)-1)/2]
		}
		out = append(out, sum)
	}
	slices.SortFunc(out, func(a, b RoleRuns) int { return strings.Compare(a.Role, b.Role) })
	return out
}

func (v *View) taskRuns(since time.Time) (out []run) {
	for _, t := range v.tasks {
		if t.FinishedAt.IsZero() || t.AssignedAt.Before(since) || v.agents[v.agentAt[t.Agent]].Depth == 0 {
			continue
		}
		line := v.lineOf(t)
		r := run{role: line.Role, status: t.Status, cost: line.Cost, began: t.StartedAt, ended: t.FinishedAt}
		for _, q := range v.questions {
			if q.Task == t.ID {
				r.questions++
			}
		}
		out = append(out, r)
	}
	return out
}

func (v *View) turnRuns(since time.Time) (out []run) {
	last := map[string]int64{}
	for _, e := range v.turns {
		turn, _ := e.Row.(TurnEnded)
		after := last[turn.Task]
		last[turn.Task] = e.Seq
		if e.At.Before(since) {
			continue
		}
		r := run{role: v.agents[v.agentAt[turn.Agent]].Role, status: turn.Status, ended: e.At}
		for _, c := range v.modelCalls {
			if c.Agent != turn.Agent || c.Seq <= after || c.Seq >= e.Seq {
				continue
			}
			r.cost += c.Usage.Cost
			if r.began.IsZero() || c.StartedAt.Before(r.began) {
				r.began = c.StartedAt
			}
		}
		for _, q := range v.questions {
			if q.Task == turn.Task && q.Seq > after && q.Seq < e.Seq {
				r.questions++
			}
		}
		out = append(out, r)
	}
	return out
}
