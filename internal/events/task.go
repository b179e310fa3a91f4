package events

import (
	"cmp"
	"encoding/json"
	"unicode"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

const titleMost = 200

const summaryMost = 400

const changedMost = 20

// Task is a task as the API says it, without what its rows say.
func Task(t journal.Task) wire.Task {
	return wire.Task{
		ID: t.ID, Agent: t.Agent, Parent: t.Parent, Call: t.Call, Item: t.Item, Trigger: t.Trigger, Background: t.Background,
		Seq: t.Seq, Status: string(t.Status), Reason: string(t.Reason), Kind: string(t.Kind), AssignedAt: t.AssignedAt.UTC(),
		StartedAt: Moment(t.StartedAt), FinishedAt: Moment(t.FinishedAt),
	}
}

// LearnTask applies a row to the task.
func LearnTask(t *wire.Task, row journal.Row) {
	switch r := row.(type) {
	case journal.TaskAssigned:
		t.Title, t.MaxIterations, t.MaxDuration = start(r.Instruction, titleMost), r.MaxIterations, r.MaxDuration
	case journal.TaskEnded:
		t.Summary, t.Message = start(r.Summary, summaryMost), start(r.Message, summaryMost)
		t.Changed, t.ChangedCount = r.Files[:min(len(r.Files), changedMost)], len(r.Files)
		t.Verdict, t.Iterations = verdict(r.Receipt), r.Iterations
	default: // nothing else was asked for
	}
}

// verdictNone is the verdict of a receipt without claims.
const verdictNone = "none"

// verdict is a receipt's verdict on all claims together.
func verdict(text json.RawMessage) string {
	var r struct {
		Verdict string `json:"verdict"`
	}
	if len(text) > 0 && json.Unmarshal(text, &r) != nil {
		return verdictNone
	}
	return cmp.Or(r.Verdict, verdictNone)
}

// start is the beginning of a text on one line, of at most so many characters; an ellipsis says
// that there is more.
func start(text string, most int) string {
	line := make([]rune, 0, min(most, len(text)))
	space := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = len(line) > 0
			continue
		}
		if space {
			line, space = append(line, ' '), false
		}
		if line = append(line, r); len(line) > most {
			return string(line[:most-1]) + "…"
		}
	}
	return string(line)
}

// LearnTaskView applies a row to the whole view of the task.
func LearnTaskView(t *wire.TaskView, row journal.Row) {
	LearnTask(&t.Task, row)
	switch r := row.(type) {
	case journal.TaskAssigned:
		t.Instruction, t.Criteria, t.Files, t.ContextMode, t.Brief = r.Instruction, r.Criteria, r.Files, r.ContextMode, r.Brief
	case journal.TaskEnded:
		t.Message, t.Summary, t.Result, t.Receipt, t.Changed = r.Message, r.Summary, r.Result, r.Receipt, r.Files
	default: // nothing else was asked for
	}
}
