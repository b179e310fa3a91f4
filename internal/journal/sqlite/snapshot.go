package sqlite

import (
	"context"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
	"github.com/retinue-dev/retinue/internal/journal/tables"
)

// Snapshot implements journal.Reader.
func (l *Log) Snapshot(ctx context.Context, ref journal.Ref) (out journal.Snapshot, err error) {
	err = l.read(ctx, "read snapshot", ref, func(q *query.Queries, c query.Conversation) error {
		out.Conversation = conversation(c)
		return fill(ctx, q, ref, &out)
	})
	return out, err
}

// fill reads the lists of a snapshot.
func fill(ctx context.Context, q *query.Queries, ref journal.Ref, out *journal.Snapshot) error {
	of := query.AgentsOfParams{Tenant: ref.Tenant, Conversation: ref.Conversation}
	agents, err := q.AgentsOf(ctx, of)
	if err != nil {
		return err
	}
	tasks, err := q.TasksOf(ctx, query.TasksOfParams(of))
	if err != nil {
		return err
	}
	questions, err := q.QuestionsOf(ctx, query.QuestionsOfParams(of))
	if err != nil {
		return err
	}
	approvals, err := q.ApprovalsOf(ctx, query.ApprovalsOfParams(of))
	if err != nil {
		return err
	}
	grants, err := q.GrantsOf(ctx, query.GrantsOfParams(of))
	if err != nil {
		return err
	}
	leases, err := q.OpenLeasesOf(ctx, query.OpenLeasesOfParams(of))
	if err != nil {
		return err
	}
	out.Agents = tables.All(agents, func(r query.Agent) journal.Agent { return tables.Agent(r).Agent() })
	journal.AddUp(out.Agents)
	out.Tasks = tables.All(tasks, func(r query.Task) journal.Task { return tables.Task(r).Task() })
	out.Questions = tables.All(questions, func(r query.Question) journal.Question { return tables.Question(r).Question() })
	out.Approvals = tables.All(approvals, func(r query.Approval) journal.Approval { return tables.Approval(r).Approval() })
	out.Grants = tables.All(grants, func(r query.Grant) journal.Grant { return tables.Grant(r).Grant() })
	out.Leases = tables.All(leases, func(r query.Lease) journal.Lease { return tables.Lease(r).Lease() })
	return nil
}

func conversation(c query.Conversation) journal.Conversation {
	return tables.Conversation(c).Conversation()
}
