package journal

import (
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// TaskQuery asks for tasks of all conversations of a tenant, the newest first. Empty fields ask for
// all.
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

// TaskCursor is a place in the list of tasks: those after it are older.
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
