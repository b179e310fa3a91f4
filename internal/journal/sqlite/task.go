package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

// Tasks implements journal.Lists.
func (l *Log) Tasks(ctx context.Context, tenant string, asked journal.TaskQuery) (out []journal.TaskLine, err error) {
	place, err := asked.After()
	if err != nil {
		return nil, err
	}
	params := query.NewestTasksParams{
		Tenant: tenant, Before: place.At.UnixMilli(), BeforeConversation: place.Conversation, BeforeTask: place.Task,
		Conversation: asked.Conversation, Status: string(asked.Status), Role: asked.Role, OpenedBy: asked.By,
		MinCost: asked.MinCost, Count: int64(journal.Page{Limit: asked.Limit}.Size()),
	}
	err = l.view(ctx, "list tasks", func(q *query.Queries) error {
		list := q.NewestTasks
		if asked.Status != "" && !asked.Status.Terminal() { // those that go on are few and have an index of their own
			list = func(ctx context.Context, p query.NewestTasksParams) ([]query.NewestTasksRow, error) {
				rows, err := q.OpenTasks(ctx, query.OpenTasksParams(p))
				return each(rows, func(r query.OpenTasksRow) query.NewestTasksRow { return query.NewestTasksRow(r) }), err
			}
		}
		rows, err := list(ctx, params)
		if err != nil {
			return err
		}
		for _, r := range rows {
			line, err := taskLine(r)
			if err != nil {
				return err
			}
			out = append(out, line)
		}
		return nil
	})
	return out, err
}

func taskLine(r query.NewestTasksRow) (journal.TaskLine, error) {
	out := journal.TaskLine{
		Task: task(r.Task), Conversation: r.Task.ConversationID, Title: r.Title, By: r.OpenedBy, Role: r.Role, Cost: r.Cost,
	}
	if err := json.Unmarshal([]byte(r.Begun), &out.Begun); err != nil {
		return out, fmt.Errorf("begin of task %s: %w", out.ID, err)
	}
	if r.Ended != "" {
		if err := json.Unmarshal([]byte(r.Ended), &out.Ended); err != nil {
			return out, fmt.Errorf("end of task %s: %w", out.ID, err)
		}
	}
	return out, nil
}

// Runs implements journal.Lists.
func (l *Log) Runs(ctx context.Context, tenant string, since time.Time) (out []journal.RoleRuns, err error) {
	err = l.view(ctx, "sum runs", func(q *query.Queries) error {
		rows, err := q.RoleRunsSince(ctx, query.RoleRunsSinceParams{Tenant: tenant, Since: since.UnixMilli()})
		out = each(rows, func(r query.RoleRunsSinceRow) journal.RoleRuns {
			return journal.RoleRuns{
				Role: r.Role, Runs: r.Runs, Completed: r.Completed, Cost: r.Cost, Questions: r.Questions, Duration: r.Took,
			}
		})
		return err
	})
	return out, err
}
