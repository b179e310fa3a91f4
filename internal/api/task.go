package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// digested fills in what lines show of tasks, in one query however many they are.
func (s *Server) digested(ctx context.Context, ref journal.Ref, tasks []journal.Task) ([]wire.Task, error) {
	out := route.Each(tasks, events.Task)
	err := s.rowsOf(ctx, ref, tasks, func(i int, row journal.Row) { events.LearnTask(&out[i], row) })
	return out, err
}

// whole fills in all that is known of tasks.
func (s *Server) whole(ctx context.Context, ref journal.Ref, tasks []journal.Task) ([]wire.TaskView, error) {
	out := route.Each(tasks, func(t journal.Task) wire.TaskView { return wire.TaskView{Task: events.Task(t)} })
	err := s.rowsOf(ctx, ref, tasks, func(i int, row journal.Row) { events.LearnTaskView(&out[i], row) })
	return out, err
}

// rowsOf finds the rows that began and ended tasks. The end of one that has not ended in the state
// that was read is left to the events after it.
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
		route.InConversation
		Task string `path:"task" minLength:"1" maxLength:"512" doc:"The task's id with ~ in the place of /."`
	}
	tasksOutput struct{ Body wire.Page[wire.Task] }
	taskOutput  struct{ Body wire.TaskView }
)

func (s *Server) taskRoutes() {
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"agents"}}
	}
	const base = "/v1/conversations/{conversation}/tasks"
	route.Add(s.table, admission.AccessRead, read("listTasks", base, "All that agents were asked to do"), s.tasks)
	route.Add(s.table, admission.AccessRead, read("listAllTasks", "/v1/tasks", "All that agents were asked to do in all conversations, the newest first"), s.allTasks)
	route.Add(s.table, admission.AccessRead, read("getTask", base+"/{task}", "One task with what came of it"), s.task)
}

func (s *Server) tasks(ctx context.Context, in *conversationInput) (*tasksOutput, error) {
	state, err := s.options.Log.Snapshot(ctx, in.Place(ctx))
	if err != nil {
		return nil, err
	}
	list, err := s.digested(ctx, in.Place(ctx), state.Tasks)
	return &tasksOutput{Body: wire.Page[wire.Task]{Items: list}}, err
}

func (s *Server) task(ctx context.Context, in *taskInput) (*taskOutput, error) {
	ref, id := in.Place(ctx), addressed(in.Task)
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
