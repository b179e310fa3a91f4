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

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

const (
	// reconcileAge is how long ago a task must have been assigned: a younger one may be on its way to
	// the engine.
	reconcileAge = 10 * time.Second
	// listMost is how many workflows are named in one query for the engine's list.
	listMost = 50
	// retryPause is how long a run is left alone that was mended and does not run yet. It doubles each
	// time, up to retryMost.
	retryPause, retryMost = time.Minute, 5 * time.Minute
)

// Reconciler compares the unfinished tasks with the engine's runs, and repairs differences: after
// an engine lost its database, an operator terminated a run, or a worker broke.
type Reconciler struct {
	Client *Client
	// Pause is the time between two questions about single runs.
	Pause time.Duration

	// seen are the workflows that are on the engine's list of what runs.
	seen map[string]bool
	// tried are the workflows that were started again or reported, and have not been seen at work
	// since.
	tried map[string]retry
}

// retry is how often a run was mended, and from when on it may be once more.
type retry struct {
	times int
	next  time.Time
}

// Mended counts the repairs of a pass.
type Mended struct {
	// Restarted counts the orchestrators that were started again, Reported the sub-agents whose parents
	// were told.
	Restarted, Reported int
}

// LogValue implements slog.LogValuer.
func (m Mended) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("restarted", m.Restarted), slog.Int("reported", m.Reported))
}

// Pass looks once at everything that has not ended, one after the other. A conversation that cannot
// be mended does not hold up the others; an engine that does not answer ends the pass.
func (r *Reconciler) Pass(ctx context.Context) (all Mended, failures error) {
	places, working, err := r.Client.working(ctx, r.Client.now().Add(-reconcileAge))
	if err != nil {
		return Mended{}, err
	}
	if err := r.look(ctx, places, working); err != nil {
		return Mended{}, err
	}
	for _, ref := range places {
		did, err := r.mend(ctx, ref, working[ref])
		all.Restarted, all.Reported, failures = all.Restarted+did.Restarted, all.Reported+did.Reported, errors.Join(failures, err)
		if errors.Is(err, errUnasked) {
			break
		}
	}
	return all, failures
}

// errUnasked says that the engine could not be asked.
var errUnasked = errors.New("the engine does not say what it runs")

// look asks the engine for its list of running workflows, of these tasks and their orchestrators.
// The list can be a little behind, but it costs one query for many runs: a question about one run
// costs as much as starting its leg. Runs that have ended meanwhile are forgotten.
func (r *Reconciler) look(ctx context.Context, places []journal.Ref, working map[journal.Ref][]journal.WorkingTask) error {
	var ids []string
	for _, ref := range places {
		ids = append(ids, host.RunID(ref, host.Root))
		for _, t := range working[ref] {
			if t.Background {
				ids = append(ids, host.RunID(ref, t.Task))
			}
		}
	}
	tried := map[string]retry{}
	for _, id := range ids {
		if last, ok := r.tried[id]; ok {
			tried[id] = last
		}
	}
	r.seen, r.tried = map[string]bool{}, tried
	for some := range slices.Chunk(ids, listMost) {
		for i, id := range some {
			some[i] = "'" + strings.ReplaceAll(id, "'", "''") + "'"
		}
		running, err := r.Client.list(ctx, "ExecutionStatus = 'Running' and WorkflowId in ("+strings.Join(some, ", ")+")")
		if err != nil {
			return err
		}
		for _, id := range running {
			r.seen[id] = true
			delete(r.tried, id)
		}
	}
	return nil
}

// early reports whether a run that is not on the list was mended a moment ago.
func (r *Reconciler) early(ref journal.Ref, task string) bool {
	return r.Client.now().Before(r.tried[host.RunID(ref, task)].next)
}

// lost reports whether the engine does not run a task, and counts the repair. If a task is not on
// the engine's list, lost asks the engine about it, after a pause.
func (r *Reconciler) lost(ctx context.Context, ref journal.Ref, task string) (bool, error) {
	id := host.RunID(ref, task)
	if r.seen[id] {
		return false, nil
	}
	if !wait(ctx, r.Pause) {
		return false, errors.Join(errUnasked, ctx.Err())
	}
	runs, err := r.Client.Runs(ctx, ref, task)
	switch {
	case err != nil:
		return false, errors.Join(errUnasked, err)
	case runs:
		delete(r.tried, id)
		return false, nil
	}
	times := r.tried[id].times
	r.tried[id] = retry{times: times + 1, next: r.Client.now().Add(min(retryPause<<min(times, 10), retryMost))}
	return true, nil
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

// working reads the tasks that were assigned before a time and have not ended, by conversation. An
// imported conversation never ran here.
func (c *Client) working(ctx context.Context, before time.Time) ([]journal.Ref, map[journal.Ref][]journal.WorkingTask, error) {
	var places []journal.Ref
	of := map[journal.Ref][]journal.WorkingTask{}
	for after := (journal.WorkingTask{}); ; {
		page, err := c.Log.Working(ctx, before, after, journal.PageMaxLimit)
		if err != nil || len(page) == 0 {
			return places, of, err
		}
		for _, t := range page {
			if journal.Imported(t.Conversation) {
				continue
			}
			if of[t.Ref] == nil {
				places = append(places, t.Ref)
			}
			of[t.Ref] = append(of[t.Ref], t)
		}
		after = page[len(page)-1]
	}
}

// mend repairs one conversation. A lost orchestrator is started again: it folds the journal and
// starts its sub-agents. A lost background task is reported to its parent, whose leg starts it
// again. A task that waits for a place to run looks lost too: its parent knows better and does
// nothing.
func (r *Reconciler) mend(ctx context.Context, ref journal.Ref, tasks []journal.WorkingTask) (did Mended, err error) {
	if r.early(ref, host.Root) {
		return did, nil
	}
	lost, err := r.lost(ctx, ref, host.Root)
	if err != nil {
		return did, err
	}
	if lost {
		did.Restarted = 1
		return did, r.Client.restart(ctx, ref)
	}
	for _, t := range tasks {
		if t.Agent == host.Root || !t.Background || r.early(ref, t.Task) {
			continue
		}
		lost, err := r.lost(ctx, ref, t.Task)
		if err != nil {
			return did, err
		}
		if !lost {
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

// Runs reports whether the engine runs a task.
func (c *Client) Runs(ctx context.Context, ref journal.Ref, task string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, leg.TellTimeout)
	defer cancel()
	run, err := c.Engine.DescribeWorkflowExecution(ctx, host.RunID(ref, task), "")
	if err != nil && !notFound(err) {
		return false, fmt.Errorf("ask the engine about %s: %w", task, err)
	}
	return err == nil && run.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// restart starts an orchestrator again that the engine does not run. If it runs after all, nothing
// happens.
func (c *Client) restart(ctx context.Context, ref journal.Ref) error {
	ctx, cancel := context.WithTimeout(ctx, leg.TellTimeout)
	defer cancel()
	options, begin, err := c.beginning(ctx, ref)
	if err != nil {
		return err
	}
	options.ID = host.RunID(ref, host.Root)
	options.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	if _, err := c.Engine.ExecuteWorkflow(ctx, options, workflowAgent, begin); err != nil {
		return fmt.Errorf("start %s again: %w", options.ID, err)
	}
	return nil
}

// reportLost tells the parent of a task to have the engine run it again. It returns how many were
// told: a parent that does not run either is checked by itself.
func (c *Client) reportLost(ctx context.Context, t journal.WorkingTask) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, leg.TellTimeout)
	defer cancel()
	err := leg.Tell(ctx, Runs{c.Engine}, c.Log, t.Ref, t.Parent, leg.SignalCheck)
	if errors.Is(err, leg.ErrNoRun) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("report that %s is lost: %w", t.Task, err)
	}
	return 1, nil
}
