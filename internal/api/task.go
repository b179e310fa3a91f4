package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/journal"
)

// Task is one thing that an agent was asked to do, with as much of it as a line in a chat shows.
type Task struct {
	ID         string     `json:"id"`
	Agent      string     `json:"agent"`
	Parent     string     `json:"parent,omitempty" doc:"The agent that asked for it."`
	Call       string     `json:"parent_call,omitempty" doc:"The call, in that agent's transcript, that asked for it."`
	Item       int        `json:"item,omitempty"`
	Trigger    int64      `json:"trigger,omitempty" doc:"The number of the message that it goes back to."`
	Background bool       `json:"background,omitempty"`
	Seq        int64      `json:"seq"`
	Status     string     `json:"status" enum:"queued,pending,running,waiting,completed,failed,cancelled,timed_out"`
	Reason     string     `json:"waiting_reason,omitempty"`
	Kind       string     `json:"error_kind,omitempty"`
	AssignedAt time.Time  `json:"assigned_at"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`

	Title         string   `json:"title,omitempty" doc:"The start of the instruction, at most 200 characters."`
	Summary       string   `json:"summary,omitempty" doc:"What came of it; in lists at most 400 characters."`
	Message       string   `json:"message,omitempty" doc:"Why it failed; in lists at most 400 characters."`
	Changed       []string `json:"changed_files,omitempty" doc:"The files that it says it changed, at most 20."`
	ChangedCount  int      `json:"changed_count,omitempty" doc:"How many files it says it changed."`
	Verdict       string   `json:"verdict,omitempty" enum:"none,verified,unverified,contradicted" doc:"What is known of its claims; absent until it ended."`
	Iterations    int      `json:"iterations,omitempty" doc:"How many steps it took; absent until it ended."`
	MaxIterations int      `json:"max_iterations,omitempty"`
	MaxDuration   int64    `json:"max_duration_ms,omitempty"`
}

// How much of a task a line shows.
const (
	titleMost   = 200
	summaryMost = 400
	changedMost = 20
)

func taskOf(t journal.Task) Task {
	return Task{
		ID: t.ID, Agent: t.Agent, Parent: t.Parent, Call: t.Call, Item: t.Item, Trigger: t.Trigger, Background: t.Background,
		Seq: t.Seq, Status: string(t.Status), Reason: string(t.Reason), Kind: string(t.Kind), AssignedAt: t.AssignedAt.UTC(),
		StartedAt: moment(t.StartedAt), FinishedAt: moment(t.FinishedAt),
	}
}

// learn takes what a row says of the task.
func (t *Task) learn(row journal.Row) {
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

// verdictNone is what a receipt without claims says.
const verdictNone = "none"

// verdict is what a receipt says of all claims together.
func verdict(text json.RawMessage) string {
	var r struct {
		Verdict string `json:"verdict"`
	}
	if len(text) > 0 && json.Unmarshal(text, &r) != nil {
		return verdictNone
	}
	return cmp.Or(r.Verdict, verdictNone)
}

// start is the beginning of a text on one line, of at most so many characters; an ellipsis says that
// there is more.
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

// digested fills in what lines show of tasks, in one query however many they are.
func (s *Server) digested(ctx context.Context, ref journal.Ref, tasks []journal.Task) ([]Task, error) {
	out := each(tasks, taskOf)
	err := s.rowsOf(ctx, ref, tasks, func(i int, row journal.Row) { out[i].learn(row) })
	return out, err
}

// whole fills in all that is known of tasks.
func (s *Server) whole(ctx context.Context, ref journal.Ref, tasks []journal.Task) ([]TaskView, error) {
	out := each(tasks, func(t journal.Task) TaskView { return TaskView{Task: taskOf(t)} })
	err := s.rowsOf(ctx, ref, tasks, func(i int, row journal.Row) { out[i].learn(row) })
	return out, err
}

// rowsOf finds the rows that began and ended tasks. The end of one that has not ended in the state that
// was read is left to the events after it.
func (s *Server) rowsOf(ctx context.Context, ref journal.Ref, tasks []journal.Task, learn func(int, journal.Row)) error {
	keys, at := make([]string, 0, 2*len(tasks)), make(map[string]int, 2*len(tasks))
	for i, t := range tasks {
		in := journal.In{Task: t.ID}
		rows := []journal.Row{journal.TaskAssigned{In: in}}
		if t.Status.Terminal() {
			rows = append(rows, journal.TaskEnded{In: in})
		}
		for _, row := range rows {
			at[row.Key()] = i
			keys = append(keys, row.Key())
		}
	}
	if len(keys) == 0 {
		return nil
	}
	entries, err := s.options.Log.Find(ctx, ref, keys...)
	for _, e := range entries {
		learn(at[e.Row.Key()], e.Row)
	}
	return err
}

type (
	taskInput struct {
		InConversation
		Task string `path:"task" minLength:"1" maxLength:"512" doc:"The task's id with ~ in the place of /."`
	}
	tasksOutput struct{ Body Page[Task] }
	taskOutput  struct{ Body TaskView }
)

// TaskView is a task with what was asked and what came of it.
type TaskView struct {
	Task
	Instruction string          `json:"instruction,omitempty"`
	Criteria    string          `json:"success_criteria,omitempty"`
	Files       []string        `json:"files,omitempty" doc:"Where the agent was told to begin."`
	ContextMode string          `json:"context_mode,omitempty"`
	Brief       json.RawMessage `json:"brief,omitempty" doc:"All that the agent was given to begin with."`
	Result      json.RawMessage `json:"result,omitempty"`
	Receipt     json.RawMessage `json:"receipt,omitempty" doc:"What is claimed, held against what was done."`
}

// learn takes what a row says of the task, whole.
func (t *TaskView) learn(row journal.Row) {
	t.Task.learn(row)
	switch r := row.(type) {
	case journal.TaskAssigned:
		t.Instruction, t.Criteria, t.Files, t.ContextMode, t.Brief = r.Instruction, r.Criteria, r.Files, r.ContextMode, r.Brief
	case journal.TaskEnded:
		t.Message, t.Summary, t.Result, t.Receipt, t.Changed = r.Message, r.Summary, r.Result, r.Receipt, r.Files
	default: // nothing else was asked for
	}
}

func (s *Server) taskRoutes() {
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"agents"}}
	}
	const base = "/v1/conversations/{conversation}/tasks"
	register(s, accessRead, read("listTasks", base, "All that agents were asked to do"), s.tasks)
	register(s, accessRead, read("listAllTasks", "/v1/tasks", "All that agents were asked to do in all conversations, the newest first"), s.allTasks)
	register(s, accessRead, read("getTask", base+"/{task}", "One task with what came of it"), s.task)
}

func (s *Server) tasks(ctx context.Context, in *conversationInput) (*tasksOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.place(ctx))
	if err != nil {
		return nil, err
	}
	list, err := s.digested(ctx, in.place(ctx), state.Tasks)
	return &tasksOutput{Body: Page[Task]{Items: list}}, err
}

func (s *Server) task(ctx context.Context, in *taskInput) (*taskOutput, error) {
	ref, id := in.place(ctx), slashed(in.Task)
	state, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(state.Tasks, func(t journal.Task) bool { return t.ID == id })
	if i < 0 {
		return nil, journal.NotFound()
	}
	list, err := s.whole(ctx, ref, state.Tasks[i:i+1])
	if err != nil {
		return nil, err
	}
	return &taskOutput{Body: list[0]}, nil
}
