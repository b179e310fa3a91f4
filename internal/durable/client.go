package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// Client brings people's requests to the agents: it posts mail in the journal and then has the
// engine tell the agent to look. Mail that has its row is never lost: when the engine cannot be
// told at once, a Sweeper tells it later.
type Client struct {
	Log    journal.Log
	Engine Engine
	// Namespace is the engine's.
	Namespace string
	Logger    *slog.Logger
	Now       func() time.Time
	// LegEffects is how many local effects a leg of new runs may carry out; zero means any number.
	LegEffects int
	// Local means that the worker of a workspace runs its agents' workflows too, as on one machine.
	Local bool
	// Fault is told of the points at which tests let a client die; nil outside tests.
	Fault host.Fault
}

// New is a conversation to be opened.
type New struct {
	By        string
	Title     string
	Workspace string
	// Command is a hash of the request, empty where nothing is sent twice.
	Command string
	// PrivateTo is the id of the only person who may see it; empty means everybody in the tenant.
	PrivateTo string
	// Brief and Snapshot are of the orchestrator. The brief's ids are filled in.
	Brief    agent.Brief
	Snapshot string
}

// Open begins a conversation. Doing so twice is the same as once.
func (c *Client) Open(ctx context.Context, ref journal.Ref, n New) error {
	n.Brief.Conversation, n.Brief.Agent, n.Brief.Task, n.Brief.RoleHash = ref.Conversation, host.Root, host.Root,
		journal.HashOf(n.Snapshot)
	brief, err := json.Marshal(n.Brief)
	if err != nil {
		return err
	}
	if err := c.Log.Keep(ctx, ref, n.Snapshot); err != nil {
		return err
	}
	_, err = c.Log.Append(ctx, ref, c.now(),
		journal.Opened{By: n.By, Title: n.Title, Workspace: n.Workspace, Command: n.Command, PrivateTo: n.PrivateTo},
		journal.TaskAssigned{
			In: journal.In{Agent: host.Root, Task: host.Root}, Role: n.Brief.Role, RoleHash: n.Brief.RoleHash, Brief: brief,
			MaxIterations: n.Brief.Limits.Iterations, MaxDuration: n.Brief.Limits.Time,
		})
	return err
}

// Message is a person's message. ID is the client's own: the same one is the same message.
type Message struct {
	ID        string
	By        string
	Parts     []chat.Part
	InReplyTo string
	Decline   bool
}

// Say records a message and tells the orchestrator. It returns the number of the message.
func (c *Client) Say(ctx context.Context, ref journal.Ref, m Message) (int64, error) {
	written, err := c.post(ctx, ref, journal.Mail(leg.TopicMessage, m.ID, host.Root), journal.MessageReceived{
		ID: m.ID, By: m.By, Parts: m.Parts, InReplyTo: m.InReplyTo, Decline: m.Decline,
	})
	return written.Number, err
}

// Decide records a person's decision on a call that wants approval, and tells the agent.
func (c *Client) Decide(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) error {
	if d.Args != "" {
		var err error
		if d, err = c.propose(ctx, ref, d); err != nil {
			return err
		}
	}
	post := journal.Mail(leg.TopicDecided, chat.RefOf(d.Agent, d.Call).String(), d.Agent)
	written, err := c.post(ctx, ref, post, d)
	if !written.Existed || (err != nil && chat.CodeOf(err) != chat.CodeConflict) {
		return err
	}
	// It was said before. The agent's progress since then does not change that.
	entries, err := c.Log.Find(ctx, ref, d.Key())
	if err != nil || len(entries) == 0 {
		return errors.Join(err, journal.NotFound())
	}
	if first, _ := entries[0].Row.(journal.ApprovalDecided); !decidedSo(first, d) {
		return &chat.Error{Code: chat.CodeConflict, Message: "call " + d.Call + " of " + d.Agent + " was decided otherwise before"}
	}
	return nil
}

// Cancel stops everything, or one task and those below it. ID is the client's own.
func (c *Client) Cancel(ctx context.Context, ref journal.Ref, id, by, task string) error {
	stop := journal.Stop(id, by, task)
	stop.To = cmp.Or(string(chat.AgentPath(task).Parent()), host.Root)
	written, err := c.post(ctx, ref, stop)
	if !written.Existed || (err != nil && chat.CodeOf(err) != chat.CodeConflict) {
		return err
	}
	// It was said before. The target may have stopped since, and this changes nothing.
	before, err := c.posted(ctx, ref, stop.ID)
	if err == nil && before.Task != task {
		return &chat.Error{Code: chat.CodeConflict, Message: "cancel " + id + " was for something else before: send this one under an id of its own"}
	}
	return err
}

// closing asks the orchestrator to end the conversation for good.
func closing(by string) journal.MailPosted {
	post := journal.Mail(leg.TopicClose, by, host.Root)
	post.By = by
	return post
}

// Close ends a conversation for good, once everything in it has stopped.
func (c *Client) Close(ctx context.Context, ref journal.Ref, by string) error {
	_, err := c.post(ctx, ref, closing(by))
	return err
}

// Delete stops everything in a conversation, then removes it. It returns when that is on record. ID
// is the client's own, and is remembered.
func (c *Client) Delete(ctx context.Context, ref journal.Ref, id, by string) error {
	_, err := c.Log.Append(ctx, ref, c.now(), journal.Archived{By: by}, closing(by),
		journal.MailPosted{ID: journal.Erasure, Topic: leg.TopicErase, Command: id})
	if err != nil {
		return err
	}
	c.Fault.At(host.PointPosted, ref, host.Root)
	err = c.erase(ctx, ref) // a task that never ran need not be stopped
	if errors.Is(err, errRunning) {
		err = c.tell(ctx, ref, host.Root)
	}
	if err != nil && chat.CodeOf(err) != chat.CodeNotFound {
		c.Logger.WarnContext(ctx, "it will be removed later", "conversation", ref.Conversation, "error", err)
	}
	return nil
}

// errRunning says that a conversation is not over, so that it cannot be removed yet.
var errRunning = errors.New("it has not stopped yet")

// erase removes a conversation in which nothing runs any more.
func (c *Client) erase(ctx context.Context, ref journal.Ref) error {
	ctx, cancel := context.WithTimeout(ctx, leg.TellTimeout)
	defer cancel()
	runs, err := c.Runs(ctx, ref, host.Root)
	if err != nil {
		return err
	}
	if runs {
		return errRunning
	}
	return c.Log.Erase(ctx, ref)
}

// post records mail for an agent and has the agent look. It returns the result of writing the first
// row.
func (c *Client) post(ctx context.Context, ref journal.Ref, post journal.MailPosted, rows ...journal.Row) (journal.Written, error) {
	if journal.Imported(ref.Conversation) && post.Topic != leg.TopicClose {
		return journal.Written{}, &chat.Error{Code: chat.CodeConflict, Message: "an imported conversation can only be read"}
	}
	c.Fault.At(host.PointPost, ref, host.Root)
	written, err := c.Log.Append(ctx, ref, c.now(), append(rows, post)...)
	if err != nil {
		return journal.Written{}, err
	}
	c.Fault.At(host.PointPosted, ref, host.Root)
	if written[0].Existed {
		// The message is sent again, possibly much later. The agent may have read it long ago.
		waiting, err := c.waiting(ctx, ref, post)
		if err != nil || !waiting {
			return written[0], err
		}
	}
	err = c.deliver(ctx, journal.Post{Ref: ref, ID: post.ID, Topic: post.Topic, To: post.To})
	if chat.CodeOf(err) == chat.CodeConflict {
		return written[0], err
	}
	if err != nil {
		c.Logger.WarnContext(ctx, "the engine will be told later", "conversation", ref.Conversation, "error", err)
	}
	return written[0], nil
}

// waiting reports whether mail waits to be read.
func (c *Client) waiting(ctx context.Context, ref journal.Ref, post journal.MailPosted) (bool, error) {
	mail, err := c.Log.Mail(ctx, ref, post.To)
	return slices.ContainsFunc(mail, func(e journal.Entry) bool { return e.Row.Key() == post.Key() }), err
}

// deliver makes an agent look at its mail, or obeys a command that is for the server itself.
func (c *Client) deliver(ctx context.Context, p journal.Post) error {
	switch {
	case p.Topic == leg.TopicErase:
		return c.erase(ctx, p.Ref)
	case journal.Imported(p.Conversation): // nothing of it was ever begun here
		_, err := c.Log.Append(ctx, p.Ref, c.now(), journal.MailDelivered{ID: p.ID})
		return err
	}
	if err := c.erasing(ctx, p); err != nil {
		return err
	}
	err := c.tell(ctx, p.Ref, p.To)
	c.Fault.At(host.PointTold, p.Ref, host.Root)
	if notFound(err) {
		if err = c.takeBack(ctx, p); err != nil {
			return err
		}
		err = c.tellAbove(ctx, p.Ref, p.To)
	}
	if err != nil {
		return fmt.Errorf("tell the engine: %w", err)
	}
	return nil
}

// erasing refuses messages in a conversation that is being removed: each would begin a run that has
// to be stopped again.
func (c *Client) erasing(ctx context.Context, p journal.Post) error {
	if p.Topic != leg.TopicMessage {
		return nil
	}
	entries, err := c.Log.Find(ctx, p.Ref, journal.ErasureKey())
	if err == nil && len(entries) > 0 {
		err = &chat.Error{Code: chat.CodeConflict, Message: "the conversation is being deleted"}
	}
	return err
}

// tellAbove has an agent look that has no run of its name: one that was resumed, or one that the
// leg of an agent above carries.
func (c *Client) tellAbove(ctx context.Context, ref journal.Ref, to string) error {
	for to != host.Root {
		task, err := leg.TaskOf(ctx, c.Log, ref, to)
		if err != nil {
			return err
		}
		if task != "" && task != to {
			if err := c.tell(ctx, ref, task); !notFound(err) {
				return err
			}
		}
		to = cmp.Or(string(chat.AgentPath(to).Parent()), host.Root)
		if err := c.tell(ctx, ref, to); !notFound(err) {
			return err
		}
	}
	return nil
}

// takeBack takes mail out of a mailbox that nobody reads any more. One of an agent that the engine
// has not started yet stays.
func (c *Client) takeBack(ctx context.Context, p journal.Post) error {
	if task, err := leg.TaskOf(ctx, c.Log, p.Ref, p.To); err != nil || task != "" {
		return err
	}
	if taken, err := c.taken(ctx, p); taken || err != nil {
		return err
	}
	posted, err := c.posted(ctx, p.Ref, p.ID)
	if err != nil {
		return err
	}
	rows := leg.TakenBack(posted, agent.At{At: c.now().UnixMilli()})
	if _, err := c.Log.Append(ctx, p.Ref, c.now(), rows...); err != nil {
		return err
	}
	if len(rows) > 1 {
		err = c.tell(ctx, p.Ref, host.Root)
	}
	return errors.Join(leg.ErrGone, err)
}

// taken reports whether the agent took the mail in before it finished.
func (c *Client) taken(ctx context.Context, p journal.Post) (bool, error) {
	entries, err := c.Log.Find(ctx, p.Ref, journal.MailDelivered{ID: p.ID}.Key())
	if err != nil || len(entries) == 0 {
		return false, err
	}
	delivered, _ := entries[0].Row.(journal.MailDelivered) // nothing else has this key
	return !delivered.Back, nil
}

// posted reads a post.
func (c *Client) posted(ctx context.Context, ref journal.Ref, id string) (journal.MailPosted, error) {
	entries, err := c.Log.Find(ctx, ref, journal.MailPosted{ID: id}.Key())
	if err != nil || len(entries) == 0 {
		return journal.MailPosted{}, fmt.Errorf("read post %s: %w", id, errors.Join(err, journal.NotFound()))
	}
	post, _ := entries[0].Row.(journal.MailPosted) // nothing else has this key
	return post, nil
}

// tell has an agent look at its mail. The orchestrator's run is started if there is none.
func (c *Client) tell(ctx context.Context, ref journal.Ref, to string) error {
	ctx, cancel := context.WithTimeout(ctx, leg.TellTimeout)
	defer cancel()
	if to != host.Root {
		return c.Engine.SignalWorkflow(ctx, host.RunID(ref, to), "", signalLook, nil)
	}
	options, begin, err := c.beginning(ctx, ref)
	if err != nil {
		return err
	}
	_, err = c.Engine.SignalWithStartWorkflow(ctx, host.RunID(ref, host.Root), signalLook, nil, options, workflowAgent, begin)
	return err
}

// beginning is the input of the orchestrator's run.
func (c *Client) beginning(ctx context.Context, ref journal.Ref) (client.StartWorkflowOptions, leg.Begin, error) {
	opened, queue, err := c.home(ctx, ref)
	if err != nil {
		return client.StartWorkflowOptions{}, leg.Begin{}, err
	}
	return client.StartWorkflowOptions{
		TaskQueue: queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowTaskTimeout: taskTimeout, Priority: fair(ref.Tenant),
	}, leg.Begin{
		RunRef:     host.RunRef{Ref: ref, Agent: host.Root, Task: host.Root, Workspace: opened.Workspace},
		LegEffects: c.LegEffects,
	}, nil
}

// home is how a conversation began, and where its workflows are carried out.
func (c *Client) home(ctx context.Context, ref journal.Ref) (journal.Opened, string, error) {
	entries, err := c.Log.Find(ctx, ref, journal.Opened{}.Key())
	if err != nil || len(entries) == 0 {
		return journal.Opened{}, "", errors.Join(err, journal.NotFound())
	}
	opened, _ := entries[0].Row.(journal.Opened) // nothing else has this key
	if c.Local {
		return opened, queueOf(host.Workspace{Tenant: ref.Tenant, Name: opened.Workspace}), nil
	}
	return opened, controlQueue, nil
}

func (c *Client) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// Ready complains when the engine cannot be reached or does not have the namespace.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.Engine.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.Namespace})
	return err
}

// Running lists the agents whose runs the engine has open, as it knows them; that may be a little
// behind. An orchestrator's run stays open between turns.
func (c *Client) Running(ctx context.Context) ([]string, error) {
	return c.list(ctx, "ExecutionStatus = 'Running' and WorkflowType = '"+workflowAgent+"'")
}

// list finds workflows by a query in the engine's own language.
func (c *Client) list(ctx context.Context, query string) ([]string, error) {
	var out []string
	var page []byte
	for {
		answer, err := c.Engine.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: query, NextPageToken: page,
		})
		if err != nil {
			return nil, fmt.Errorf("list open runs: %w", err)
		}
		for _, e := range answer.GetExecutions() {
			out = append(out, e.GetExecution().GetWorkflowId())
		}
		if page = answer.GetNextPageToken(); len(page) == 0 {
			return out, nil
		}
	}
}
