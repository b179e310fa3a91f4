package durable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"github.com/retinue-dev/retinue/internal/journal"
)

const (
	// reconcileAge is how long ago a task must have been assigned: a younger one may be on its way to the engine.
	reconcileAge = 10 * time.Second
	// listMost is how many workflows are named in one query for the engine's list.
	listMost = 50
	// restartPause is how long a run that was started again and is gone again is left alone. It doubles each time, up to
	// restartMost.
	restartPause, restartMost = time.Minute, time.Hour
)

// Reconciler compares the tasks that have not ended with what the engine runs, and mends what differs: an engine that lost
// its database, a run that an operator terminated, a worker that broke.
type Reconciler struct {
	Client *Client
	// Pause is the time between two questions about single runs.
	Pause time.Duration

	// seen are the workflows that are on the engine's list of what runs.
	seen map[string]bool
	// tried are the orchestrators that were started again and have not been seen at work since.
	tried map[journal.Place]retry
}

// retry is how often a run was started again, and from when on it may be once more.
type retry struct {
	times int
	next  time.Time
}

// Mended is what a pass did.
type Mended struct {
	// Restarted counts the orchestrators that were started again, Reported the sub-agents whose parents were told.
	Restarted, Reported int
}

// LogValue implements slog.LogValuer.
func (m Mended) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("restarted", m.Restarted), slog.Int("reported", m.Reported))
}

// Pass looks once at everything that has not ended, one after the other. A conversation that cannot be mended does not hold up
// the others; an engine that does not answer ends the pass.
func (r *Reconciler) Pass(ctx context.Context) (all Mended, failures error) {
	places, working, err := r.working(ctx)
	if err != nil {
		return Mended{}, err
	}
	r.forget(working)
	if r.seen, err = r.listed(ctx, places, working); err != nil {
		return Mended{}, err
	}
	for _, place := range places {
		did, err := r.mend(ctx, place, working[place])
		all.Restarted, all.Reported, failures = all.Restarted+did.Restarted, all.Reported+did.Reported, errors.Join(failures, err)
		if errors.Is(err, errUnasked) {
			break
		}
	}
	return all, failures
}

// errUnasked says that the engine could not be asked.
var errUnasked = errors.New("the engine does not say what it runs")

// listed are the workflows of these tasks and of their orchestrators that are on the engine's list of what runs. The list can be a
// little behind, but it costs one query for many: to ask about each run costs as much as to carry it on.
func (r *Reconciler) listed(
	ctx context.Context, places []journal.Place, working map[journal.Place][]journal.WorkingTask,
) (map[string]bool, error) {
	var ids []string
	for _, place := range places {
		ids = append(ids, WorkflowID(place, Root))
		for _, t := range working[place] {
			if t.Agent != Root {
				ids = append(ids, WorkflowID(place, t.Agent))
			}
		}
	}
	seen := map[string]bool{}
	for some := range slices.Chunk(ids, listMost) {
		for i, id := range some {
			some[i] = "'" + strings.ReplaceAll(id, "'", "''") + "'"
		}
		running, err := r.Client.list(ctx, "ExecutionStatus = 'Running' and WorkflowId in ("+strings.Join(some, ", ")+")")
		if err != nil {
			return nil, err
		}
		for _, id := range running {
			seen[id] = true
		}
	}
	return seen, nil
}

// runs reports whether the engine runs an agent. About one that is not on its list it is asked, after a pause.
func (r *Reconciler) runs(ctx context.Context, place journal.Place, agent string) (bool, error) {
	if r.seen[WorkflowID(place, agent)] {
		return true, nil
	}
	if !wait(ctx, r.Pause) {
		return false, errors.Join(errUnasked, ctx.Err())
	}
	runs, err := r.Client.Runs(ctx, place, agent)
	if err != nil {
		return false, errors.Join(errUnasked, err)
	}
	return runs, nil
}

// wait reports whether ctx lasts for a while.
func wait(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// working reads the tasks that have not ended, by conversation. An imported conversation never ran here.
func (r *Reconciler) working(ctx context.Context) ([]journal.Place, map[journal.Place][]journal.WorkingTask, error) {
	var places []journal.Place
	of := map[journal.Place][]journal.WorkingTask{}
	before := r.Client.now().Add(-reconcileAge)
	for after := (journal.WorkingTask{}); ; {
		page, err := r.Client.Log.Working(ctx, before, after, journal.PageMaxLimit)
		if err != nil || len(page) == 0 {
			return places, of, err
		}
		for _, t := range page {
			if journal.Imported(t.Conversation) {
				continue
			}
			if of[t.Place] == nil {
				places = append(places, t.Place)
			}
			of[t.Place] = append(of[t.Place], t)
		}
		after = page[len(page)-1]
	}
}

// forget drops the memory of conversations in which nothing works any more.
func (r *Reconciler) forget(working map[journal.Place][]journal.WorkingTask) {
	for place := range r.tried {
		if working[place] == nil {
			delete(r.tried, place)
		}
	}
}

// mend looks at one conversation. An orchestrator that is lost is started again: it folds the journal and starts what is
// below it. A sub-agent that is lost is reported to its parent, which closes its books.
func (r *Reconciler) mend(ctx context.Context, place journal.Place, tasks []journal.WorkingTask) (did Mended, err error) {
	runs, err := r.runs(ctx, place, Root)
	if err != nil {
		return did, err
	}
	if !runs {
		if !r.mayRestart(place) {
			return did, nil
		}
		did.Restarted = 1
		return did, r.Client.restart(ctx, place)
	}
	delete(r.tried, place)
	for _, t := range tasks {
		if t.Agent == Root {
			continue
		}
		runs, err := r.runs(ctx, place, t.Agent)
		if err != nil {
			return did, err
		}
		if runs {
			continue
		}
		told, err := r.Client.reportLost(ctx, t)
		if err != nil {
			return did, err
		}
		did.Reported += told
	}
	return did, nil
}

// mayRestart reports whether a run may be started again now, and counts that it is.
func (r *Reconciler) mayRestart(place journal.Place) bool {
	now, last := r.Client.now(), r.tried[place]
	if now.Before(last.next) {
		return false
	}
	if r.tried == nil {
		r.tried = map[journal.Place]retry{}
	}
	pause := min(restartPause<<min(last.times, 10), restartMost)
	r.tried[place] = retry{times: last.times + 1, next: now.Add(pause)}
	return true
}

// Runs reports whether the engine runs an agent.
func (c *Client) Runs(ctx context.Context, place journal.Place, agent string) (bool, error) {
	return runs(ctx, c.Engine, place, agent)
}

// runs reports whether an engine runs an agent.
func runs(ctx context.Context, engine Engine, place journal.Place, agent string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	run, err := engine.DescribeWorkflowExecution(ctx, WorkflowID(place, agent), "")
	if err != nil && !notFound(err) {
		return false, fmt.Errorf("ask the engine about %s: %w", agent, err)
	}
	return err == nil && run.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// restart starts an orchestrator again that the engine does not run. If it runs after all, nothing happens.
func (c *Client) restart(ctx context.Context, place journal.Place) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	options, begin, err := c.beginning(ctx, place)
	if err != nil {
		return err
	}
	options.ID = WorkflowID(place, Root)
	options.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	if _, err := c.Engine.ExecuteWorkflow(ctx, options, workflowAgent, begin); err != nil {
		return fmt.Errorf("start %s again: %w", options.ID, err)
	}
	return nil
}

// reportLost tells the parent of a task that the engine does not run the task. It returns how many were told: a parent that
// does not run either is looked at by itself.
func (c *Client) reportLost(ctx context.Context, t journal.WorkingTask) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	err := c.Engine.SignalWorkflow(ctx, WorkflowID(t.Place, t.Parent), "", signalLost, Lost{Task: t.Task})
	if notFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("report that %s is lost: %w", t.Task, err)
	}
	return 1, nil
}
