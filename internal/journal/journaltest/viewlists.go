package journaltest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Tasks lists the tasks of conversations.
func Tasks(views []*View, q journal.TaskQuery) ([]journal.TaskLine, error) {
	place, err := q.After()
	if err != nil {
		return nil, err
	}
	var out []journal.TaskLine
	for _, v := range views {
		for _, t := range v.tasks {
			line := v.lineOf(t)
			if wants(q, line) && after(line, place) > 0 {
				out = append(out, line)
			}
		}
	}
	slices.SortFunc(out, func(a, b journal.TaskLine) int {
		return after(a, journal.TaskCursor{At: b.AssignedAt, Conversation: b.Conversation, Task: b.ID})
	})
	return out[:min(len(out), journal.Page{Limit: q.Limit}.Size())], nil
}

// after is positive for a line that comes after a place.
func after(l journal.TaskLine, p journal.TaskCursor) int {
	return cmp.Or(p.At.Compare(l.AssignedAt), strings.Compare(p.Conversation, l.Conversation), strings.Compare(p.Task, l.ID))
}

func wants(q journal.TaskQuery, l journal.TaskLine) bool {
	return (q.Conversation == "" || q.Conversation == l.Conversation) && (q.Status == "" || q.Status == l.Status) &&
		(q.Role == "" || q.Role == l.Role) && (q.By == "" || q.By == l.By) && l.Cost >= q.MinCost
}

func (v *View) lineOf(t journal.Task) journal.TaskLine {
	in := journal.In{Agent: t.Agent, Task: t.ID}
	line := journal.TaskLine{
		Task: t, Conversation: v.conversation.ID, Title: v.conversation.Title, By: v.conversation.By,
		Role: v.agent(t.Agent).Role,
	}
	line.Begun, _ = v.find(journal.TaskAssigned{In: in}.Key()).(journal.TaskAssigned)
	line.Ended, _ = v.find(journal.TaskEnded{In: in}.Key()).(journal.TaskEnded)
	for _, c := range v.modelCalls {
		if c.Task == t.ID {
			line.Cost += c.Usage.Cost
		}
	}
	return line
}

// usedSince is a sum on its way, with the moment of its first call.
type usedSince struct {
	journal.Used
	first time.Time
}

// Usage sums the model calls of conversations.
func Usage(views []*View, query journal.UsageQuery) []journal.Used {
	since, until := query.Span()
	at := map[string]int{}
	var groups []usedSince
	for _, v := range views {
		if query.Conversation != "" && query.Conversation != v.conversation.ID {
			continue
		}
		for _, c := range v.modelCalls {
			if c.StartedAt.Before(since) || !c.StartedAt.Before(until) {
				continue
			}
			name := v.groupOf(c, query.By)
			i, ok := at[name]
			if !ok {
				i = len(groups)
				at[name] = i
				groups = append(groups, usedSince{Used: journal.Used{Name: name}, first: c.StartedAt})
			}
			g := &groups[i]
			g.Calls, g.Usage = g.Calls+1, g.Usage.Plus(c.Usage)
			if c.StartedAt.Before(g.first) {
				g.first = c.StartedAt
			}
		}
	}
	slices.SortFunc(groups, func(a, b usedSince) int {
		return cmp.Or(a.first.Compare(b.first), strings.Compare(a.Name, b.Name))
	})
	out := make([]journal.Used, len(groups))
	for i, g := range groups {
		out[i] = g.Used
	}
	return out
}

// groupOf is the group that a model call belongs to.
func (v *View) groupOf(c journal.ModelCall, by journal.UsageBy) string {
	switch by {
	case journal.UsageByAgent:
		return c.Agent
	case journal.UsageByRole:
		return v.agent(c.Agent).Role
	case journal.UsageByModel:
		return c.Model
	case journal.UsageByTurn:
		return c.Agent + "#" + strconv.Itoa(c.Turn)
	case journal.UsageByConversation:
	}
	return v.conversation.ID
}

// Last is how the orchestrator's last turn ended; empty before one has.
func (v *View) Last() chat.Status {
	if len(v.turns) == 0 {
		return ""
	}
	turn, _ := v.turns[len(v.turns)-1].Row.(journal.TurnEnded) // nothing else exists
	return turn.Status
}

// run is one of them.
type run struct {
	role            string
	status          chat.Status
	cost, questions int64
	began, ended    time.Time
}

// Runs sums the runs by their roles: the tasks that were assigned since a time and have ended, and
// the turns that ended since.
func Runs(views []*View, since time.Time) []journal.RoleRuns {
	sums, times := map[string]journal.RoleRuns{}, map[string][]int64{}
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
	var out []journal.RoleRuns
	for role, sum := range sums {
		if all := times[role]; len(all) > 0 {
			slices.Sort(all)
			sum.Duration = all[(len(all)-1)/2]
		}
		out = append(out, sum)
	}
	slices.SortFunc(out, func(a, b journal.RoleRuns) int { return strings.Compare(a.Role, b.Role) })
	return out
}

func (v *View) taskRuns(since time.Time) (out []run) {
	for _, t := range v.tasks {
		if t.FinishedAt.IsZero() || t.AssignedAt.Before(since) || v.agent(t.Agent).Depth == 0 {
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
		turn, _ := e.Row.(journal.TurnEnded)
		after := last[turn.Task]
		last[turn.Task] = e.Seq
		if e.At.Before(since) {
			continue
		}
		r := run{role: v.agent(turn.Agent).Role, status: turn.Status, ended: e.At}
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
