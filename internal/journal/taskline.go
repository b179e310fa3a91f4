package journal

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// TaskQuery asks for tasks of all conversations of a tenant, the newest first. Empty fields ask for all.
type TaskQuery struct {
	Conversation string
	Status       chat.Status
	Role         string
	// By is who began the conversation.
	By string
	// MinCost is the least that the task's own model calls cost.
	MinCost int64
	Limit   int
	// Cursor is that of the last line of the page before.
	Cursor string
}

// TaskLine is a task as a list across conversations shows it.
type TaskLine struct {
	Task
	Conversation string
	// Title and By are the conversation's.
	Title string
	By    string
	Role  string
	// Cost is what the task's own model calls cost.
	Cost  int64
	Begun TaskAssigned
	// Ended is zero until it has.
	Ended TaskEnded
}

// TaskCursor is a place in the list of tasks: what comes after it is older.
type TaskCursor struct {
	At                 time.Time
	Conversation, Task string
}

// Cursor names the place of the line.
func (l TaskLine) Cursor() string {
	return strconv.FormatInt(l.AssignedAt.UnixMilli(), 10) + "/" + l.Conversation + "/" + l.ID
}

// After reads the query's cursor. The empty one stands before the whole list.
func (q TaskQuery) After() (TaskCursor, error) {
	if q.Cursor == "" {
		return TaskCursor{At: time.UnixMilli(1 << 47).UTC()}, nil
	}
	parts := strings.SplitN(q.Cursor, "/", 3)
	ms, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || len(parts) < 3 {
		return TaskCursor{}, refused("the cursor is not one of ours: start without one")
	}
	return TaskCursor{At: time.UnixMilli(ms).UTC(), Conversation: parts[1], Task: parts[2]}, nil
}

// Tasks lists the tasks of conversations.
func Tasks(views []*View, q TaskQuery) ([]TaskLine, error) {
	place, err := q.After()
	if err != nil {
		return nil, err
	}
	var out []TaskLine
	for _, v := range views {
		for _, t := range v.tasks {
			line := v.lineOf(t)
			if q.wants(line) && line.after(place) > 0 {
				out = append(out, line)
			}
		}
	}
	slices.SortFunc(out, func(a, b TaskLine) int {
		return a.after(TaskCursor{At: b.AssignedAt, Conversation: b.Conversation, Task: b.ID})
	})
	return out[:min(len(out), Page{Limit: q.Limit}.Size())], nil
}

// after is positive for a line that comes after a place.
func (l TaskLine) after(p TaskCursor) int {
	return cmp.Or(p.At.Compare(l.AssignedAt), strings.Compare(p.Conversation, l.Conversation), strings.Compare(p.Task, l.ID))
}

func (q TaskQuery) wants(l TaskLine) bool {
	return (q.Conversation == "" || q.Conversation == l.Conversation) && (q.Status == "" || q.Status == l.Status) &&
		(q.Role == "" || q.Role == l.Role) && (q.By == "" || q.By == l.By) && l.Cost >= q.MinCost
}

func (v *View) lineOf(t Task) TaskLine {
	in := In{Agent: t.Agent, Task: t.ID}
	line := TaskLine{
		Task: t, Conversation: v.conversation.ID, Title: v.conversation.Title, By: v.conversation.By,
		Role: v.agents[v.agentAt[t.Agent]].Role,
	}
	line.Begun, _ = v.facts[TaskAssigned{In: in}.Key()].Row.(TaskAssigned)
	line.Ended, _ = v.facts[TaskEnded{In: in}.Key()].Row.(TaskEnded)
	for _, c := range v.modelCalls {
		if c.Task == t.ID {
			line.Cost += c.Usage.Cost
		}
	}
	return line
}
