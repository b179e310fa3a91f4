package leg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// posted is the mail that an effect sends, with what else it writes down.
func (l *leg) posted(ctx context.Context, effect agent.Effect) ([]journal.Row, error) {
	switch e := effect.(type) {
	case agent.StopChild:
		return l.post(e, l.child(e.Task).Agent, agent.CancelRequested{At: l.At(), ID: "parent", Reason: e.Reason, By: e.By}, 0)
	case agent.TellParent:
		return l.post(e, l.in.Parent, agent.ChildWaited{At: l.At(), Task: l.in.Task, Reason: e.Reason}, 0)
	case agent.Ask:
		rows, err := l.asked(ctx, e)
		if err != nil {
			return nil, err
		}
		sent, err := l.post(e, host.Root, agent.QuestionAsked{At: l.At(), Question: e.Question, Hash: e.Hash, Relay: e.Relay}, 0)
		return append(rows, sent...), err
	case agent.WithdrawQuestion:
		return l.post(e, host.Root, agent.QuestionWithdrawn{At: l.At(), Question: e.Question}, 0)
	case agent.Reply:
		return l.post(e, e.Agent, agent.Answered{At: l.At(), Question: e.Question, By: e.By, Taint: e.Taint}, e.Seq)
	case agent.Correct:
		return l.post(e, e.Agent, agent.Corrected{At: l.At(), Seq: e.Seq}, e.Seq)
	case agent.Finish:
		return l.finishing(ctx, e)
	default:
		return nil, fmt.Errorf("no mail for %s", agent.EffectName(effect))
	}
}

// post is an event on its way to another agent. Number is the person's message that it brings, if
// it does.
func (l *leg) post(by agent.Effect, to string, e agent.Event, number int64) ([]journal.Row, error) {
	body, err := agent.MarshalEvent(e)
	return []journal.Row{journal.MailPosted{
		ID: l.in.Task + "#" + by.Key(), Topic: TopicAgent, To: to, Event: body, Number: number,
	}}, err
}

// finishing is the end of the task, and tells the agents that must know of it.
func (l *leg) finishing(ctx context.Context, e agent.Finish) ([]journal.Row, error) {
	rows, tokens, err := l.finished(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, number := range e.Unread {
		rows = append(rows, undelivered(l.in.Task, number, l.At()))
	}
	if l.in.Parent != "" && l.in.N >= 0 { // the parent is told of the end of one that it carries
		body, err := agent.MarshalEvent(agent.ChildEnded{At: l.At(), Task: l.in.Task, Outcome: e.Outcome, Tokens: tokens})
		if err != nil {
			return nil, err
		}
		rows = append(rows, endPost(l.in.Task, l.in.Parent, body))
	}
	return rows, nil
}

// undelivered brings a person's words back to the orchestrator, which an agent that has finished
// did not read.
func undelivered(from string, number int64, at agent.At) journal.Row {
	body, _ := agent.MarshalEvent(agent.Undelivered{At: at, Seq: number}) // two numbers
	return journal.MailPosted{ID: fmt.Sprintf("%s#undelivered/%d", from, number), Topic: TopicAgent, To: host.Root, Event: body}
}

// TakenBack takes mail out of a mailbox that nobody reads any more. A person's words in it go back
// to the orchestrator.
func TakenBack(p journal.MailPosted, at agent.At) []journal.Row {
	rows := []journal.Row{journal.MailDelivered{ID: p.ID, Back: true}}
	if p.Number != 0 && p.To != host.Root {
		rows = append(rows, undelivered(p.To, p.Number, at))
	}
	return rows
}

// bring has those look at their mail for whom there is some in rows that were written.
func (l *leg) bring(ctx context.Context, rows []journal.Row) {
	told := map[string]bool{l.in.Agent: true}
	for _, row := range rows {
		p, ok := row.(journal.MailPosted)
		if !ok {
			continue
		}
		l.unread = l.unread || p.To == l.in.Agent
		if told[p.To] || l.listeners.notify(l.in.Ref, p.To) {
			continue
		}
		told[p.To] = true
		name := SignalLook
		if !l.in.Background && p.ID == endPost(l.in.Task, "", nil).ID {
			name = SignalEnded // the parent may wait for others too
		}
		l.telling.Go(func() { l.tellEngine(ctx, l.in.Ref, p.To, name) })
	}
}

// tellEngine makes an agent that runs elsewhere look at its mail. If the engine cannot be told, or
// the agent is gone, a sweep does it later.
func (c *Carrier) tellEngine(ctx context.Context, ref journal.Ref, to string, name Signal) {
	ctx, cancel := context.WithTimeout(ctx, TellTimeout)
	defer cancel()
	err := Tell(ctx, c.Engine, c.Log, ref, to, name)
	if err != nil && !errors.Is(err, ErrNoRun) {
		c.Logger.WarnContext(ctx, "the engine will be told of mail later", "agent", to, "error", err)
	}
}

// endOf is how a task ended, not_found if it has not.
func (l *leg) endOf(ctx context.Context, task string) (agent.ChildEnded, error) {
	row, err := find[journal.TaskEnded](ctx, l, journal.TaskEnded{In: journal.In{Task: task}}.Key())
	if err != nil {
		return agent.ChildEnded{}, err
	}
	return childEnded(row, l.At())
}

// killAll ends the runs of children that did not stop in time. Their books are closed already. An
// agent that has another task by now is left alone: after a crash a leg finds old orders too.
func (l *leg) killAll(ctx context.Context) error {
	for _, e := range slices.Clone(l.todo) {
		kill, ok := e.(agent.KillChild)
		if !ok {
			continue
		}
		l.drop(kill.Key())
		if f, ok := l.running[agent.StartChild{Task: kill.Task}.Key()]; ok {
			f.cancel(errKilled)
			continue
		}
		if err := l.endRuns(ctx, kill.Task); err != nil {
			return err
		}
	}
	return nil
}

// endRuns ends the runs of a task and of those below it.
func (l *leg) endRuns(ctx context.Context, task string) error {
	tasks, err := l.tasksOf(ctx, l.in.Ref)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tasks, func(t journal.Task) bool { return t.ID == task })
	for _, t := range tasks {
		if t.ID != task && (i < 0 || !chat.AgentPath(t.Agent).IsBelow(chat.AgentPath(tasks[i].Agent))) {
			continue
		}
		l.point(host.PointKillChild)
		if err := l.Engine.End(ctx, l.in.Ref, t.ID); err != nil && !errors.Is(err, ErrNoRun) {
			return fmt.Errorf("end the run of %s: %w", t.ID, err)
		}
	}
	return nil
}
