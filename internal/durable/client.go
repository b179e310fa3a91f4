package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Client brings what people want to the agents: a row first, then the engine. What has its row is
// never lost: when the engine cannot be told at once, Sweep tells it later.
type Client struct {
	Log    journal.Log
	Engine Engine
	// Namespace is the engine's; only Promote needs it.
	Namespace string
	Logger    *slog.Logger
	Now       func() time.Time
	// LegEffects is how many local effects a leg of new runs may carry out; zero means any number.
	LegEffects int
	// Local means that whoever serves a workspace runs its agents' workflows too, as on one machine.
	Local bool
	// Fault is told of the points at which tests let a client die; nil outside tests.
	Fault Fault
}

// tellTimeout is how long the engine may take to hear of something before it is left to Sweep. Whoever
// waits has been promised the row, not the engine.
const tellTimeout = 3 * time.Second

// The topics of posts.
const (
	topicSaid    = "said"
	topicDecided = "decided"
	topicCancel  = "cancel"
	topicClose   = "close"
	topicErase   = "erase"
)

// New is a conversation to be opened.
type New struct {
	By        string
	Title     string
	Workspace string
	// Command is a hash of what was asked for, empty where nothing is sent twice.
	Command string
	// PrivateTo is the id of the only person who may see it; empty means everybody in the tenant.
	PrivateTo string
	// Brief and Snapshot are of the orchestrator. The brief's ids are filled in.
	Brief    agent.Brief
	Snapshot string
}

// Open begins a conversation. Doing so twice is the same as once.
func (c *Client) Open(ctx context.Context, place journal.Place, n New) error {
	n.Brief.Conversation, n.Brief.Agent, n.Brief.Task, n.Brief.RoleHash = place.Conversation, Root, Root,
		journal.HashOf(n.Snapshot)
	brief, err := json.Marshal(n.Brief)
	if err != nil {
		return err
	}
	if err := c.Log.Keep(ctx, place, n.Snapshot); err != nil {
		return err
	}
	_, err = c.Log.Append(ctx, place, c.now(),
		journal.Opened{By: n.By, Title: n.Title, Workspace: n.Workspace, Command: n.Command, PrivateTo: n.PrivateTo},
		journal.Assigned{
			In: journal.In{Agent: Root, Task: Root}, Role: n.Brief.Role, RoleHash: n.Brief.RoleHash, Brief: brief,
			MaxIterations: n.Brief.Limits.Iterations, MaxDuration: n.Brief.Limits.Time,
		})
	return err
}

// Message is what a person says. ID is the client's own: the same one is the same message.
type Message struct {
	ID        string
	By        string
	Parts     []chat.Part
	InReplyTo string
	Decline   bool
}

// Say records a message and tells the orchestrator. It returns the number of the message.
func (c *Client) Say(ctx context.Context, place journal.Place, m Message) (int64, error) {
	written, err := c.post(ctx, place, journal.Posted{ID: topicSaid + ":" + m.ID, Topic: topicSaid}, journal.Said{
		ID: m.ID, By: m.By, Parts: m.Parts, InReplyTo: m.InReplyTo, Decline: m.Decline,
	})
	return written.Number, err
}

// Decide records a person's decision on a call that wants approval, and tells the agent.
func (c *Client) Decide(ctx context.Context, place journal.Place, d journal.Decided) error {
	if d.Args != "" {
		var err error
		if d, err = c.propose(ctx, place, d); err != nil {
			return err
		}
	}
	written, err := c.post(ctx, place, journal.Posted{ID: topicDecided + ":" + d.Agent + "#" + d.Call, Topic: topicDecided}, d)
	if !written.Existed || (err != nil && chat.CodeOf(err) != chat.CodeConflict) {
		return err
	}
	// It was said before. That the agent has gone on since changes nothing about it.
	entries, err := c.Log.Find(ctx, place, d.Key())
	if err != nil || len(entries) == 0 {
		return errors.Join(err, journal.NotFound())
	}
	if first, _ := entries[0].Row.(journal.Decided); !decidedSo(first, d) {
		return &chat.Error{Code: chat.CodeConflict, Message: "call " + d.Call + " of " + d.Agent + " was decided otherwise before"}
	}
	return nil
}

// Cancel asks for everything to stop, or for one task and what is below it. ID is the client's own.
func (c *Client) Cancel(ctx context.Context, place journal.Place, id, by, task string) error {
	written, err := c.post(ctx, place, journal.Stop(id, by, task))
	if !written.Existed || (err != nil && chat.CodeOf(err) != chat.CodeConflict) {
		return err
	}
	// It was said before. That what was to stop has stopped since changes nothing about it.
	before, err := c.posted(ctx, place, journal.Stop(id, by, task).ID)
	if err == nil && before.Task != task {
		return &chat.Error{Code: chat.CodeConflict, Message: "cancel " + id + " was for something else before: send this one under an id of its own"}
	}
	return err
}

// Close ends a conversation for good, once everything in it has stopped.
func (c *Client) Close(ctx context.Context, place journal.Place, by string) error {
	_, err := c.post(ctx, place, journal.Posted{ID: topicClose + ":" + by, Topic: topicClose})
	return err
}

// Delete stops everything in a conversation, then removes it. It returns when that is on record. ID is the
// client's own, and is remembered.
func (c *Client) Delete(ctx context.Context, place journal.Place, id, by string) error {
	closing := journal.Posted{ID: topicClose + ":" + by, Topic: topicClose}
	_, err := c.Log.Append(ctx, place, c.now(), journal.Archived{By: by}, closing,
		journal.Posted{ID: journal.Erasure, Topic: topicErase, Command: id})
	if err != nil {
		return err
	}
	c.Fault.at(PointPosted, place, Root)
	err = c.erase(ctx, place) // what never ran needs nobody to stop it
	if errors.Is(err, errRunning) {
		err = c.deliver(ctx, journal.Post{Place: place, ID: closing.ID, Topic: topicClose})
	}
	if err != nil && chat.CodeOf(err) != chat.CodeNotFound {
		c.Logger.WarnContext(ctx, "it will be removed later", "conversation", place.Conversation, "error", err)
	}
	return nil
}

// errRunning says that a conversation is not over, so that it cannot be removed yet.
var errRunning = errors.New("it has not stopped yet")

// erase removes a conversation in which nothing runs any more.
func (c *Client) erase(ctx context.Context, place journal.Place) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	runs, err := c.Runs(ctx, place, Root)
	if err != nil {
		return err
	}
	if runs {
		return errRunning
	}
	return c.Log.Erase(ctx, place)
}

// post records that the engine must be told of something, and tells it. It returns what the first
// row came to.
func (c *Client) post(
	ctx context.Context, place journal.Place, post journal.Posted, rows ...journal.Row,
) (journal.Written, error) {
	if journal.Imported(place.Conversation) && post.Topic != topicClose && post.Topic != topicErase {
		return journal.Written{}, &chat.Error{Code: chat.CodeConflict, Message: "an imported conversation can only be read"}
	}
	c.Fault.at(PointPost, place, Root)
	written, err := c.Log.Append(ctx, place, c.now(), append(rows, post)...)
	if err != nil {
		return journal.Written{}, err
	}
	c.Fault.at(PointPosted, place, Root)
	deliver := c.deliver
	if written[0].Existed {
		deliver = c.redeliver // somebody sends it again, who knows how much later
	}
	err = deliver(ctx, journal.Post{Place: place, ID: post.ID, Topic: post.Topic})
	if chat.CodeOf(err) == chat.CodeConflict {
		return written[0], err
	}
	if err != nil {
		c.Logger.WarnContext(ctx, "the engine will be told later", "conversation", place.Conversation, "error", err)
	}
	return written[0], nil
}

// redeliver delivers a post that may have been delivered before. A cancel that the person has talked
// past is not: it would stop what they asked for since.
func (c *Client) redeliver(ctx context.Context, p journal.Post) error {
	if journal.Imported(p.Conversation) && p.Topic != topicErase {
		return nil // it is being imported, and was told elsewhere
	}
	if p.Topic != topicCancel {
		return c.deliver(ctx, p)
	}
	posted, err := c.Log.Find(ctx, p.Place, journal.Posted{ID: p.ID}.Key())
	if err != nil || len(posted) == 0 {
		return errors.Join(err, journal.NotFound())
	}
	const recent = 16
	last, err := c.Log.Chat(ctx, p.Place, journal.Page{Limit: recent})
	if err != nil {
		return err
	}
	for _, m := range last {
		if m.Number > 0 && m.Seq > posted[0].Seq {
			_, err := c.Log.Append(ctx, p.Place, c.now(), journal.Delivered{ID: p.ID})
			return err
		}
	}
	return c.deliver(ctx, p)
}

// deliver tells the engine of a post and records that it did.
func (c *Client) deliver(ctx context.Context, p journal.Post) error {
	if p.Topic == topicErase {
		return c.erase(ctx, p.Place)
	}
	if journal.Imported(p.Conversation) { // nothing of it was ever begun here
		_, err := c.Log.Append(ctx, p.Place, c.now(), journal.Delivered{ID: p.ID})
		return err
	}
	to, event, err := c.event(ctx, p)
	if err != nil {
		return err
	}
	body, err := agent.MarshalEvent(event)
	if err != nil {
		return err
	}
	told := c.tell(ctx, p.Place, to, body)
	if told != nil && !notFound(told) {
		return fmt.Errorf("tell the engine: %w", told)
	}
	c.Fault.at(PointTold, p.Place, Root)
	if _, err := c.Log.Append(ctx, p.Place, c.now(), journal.Delivered{ID: p.ID}); err != nil {
		return err
	}
	c.Fault.at(PointDelivered, p.Place, Root)
	if told != nil {
		return &chat.Error{Code: chat.CodeConflict, Message: "the agent has finished"}
	}
	return nil
}

// event makes what an agent is told out of what was recorded, and says which agent.
func (c *Client) event(ctx context.Context, p journal.Post) (string, agent.Event, error) {
	_, id, _ := strings.Cut(p.ID, ":")
	at := agent.At{At: c.now().UnixMilli()}
	switch p.Topic {
	case topicSaid:
		said, err := c.said(ctx, p.Place, id)
		said.At = at
		return Root, said, err
	case topicDecided:
		entries, err := c.Log.Find(ctx, p.Place, "decide/"+id)
		if err != nil || len(entries) == 0 {
			return "", nil, fmt.Errorf("read decision %s: %w", id, errors.Join(err, journal.NotFound()))
		}
		d, _ := entries[0].Row.(journal.Decided)
		call, err := edited(d)
		return d.Agent, agent.Decided{
			At: at, Call: d.Call, Hash: d.Hash, Allow: d.Allow, Scope: agent.Scope(d.Scope), By: d.By, Edited: call,
		}, err
	case topicCancel:
		stop, err := c.posted(ctx, p.Place, p.ID)
		if task := stop.Task; task != "" && task != Root {
			return task[:max(0, strings.LastIndexByte(task, '/'))], agent.ChildCancelRequested{At: at, Task: task, By: stop.By}, err
		}
		return Root, agent.CancelRequested{At: at, ID: id, Reason: agent.CancelUser, By: stop.By}, err
	case topicClose:
		return Root, agent.CloseRequested{At: at, By: id}, nil
	}
	return "", nil, fmt.Errorf("post %s has the unknown topic %q", p.ID, p.Topic)
}

// posted reads a post.
func (c *Client) posted(ctx context.Context, place journal.Place, id string) (journal.Posted, error) {
	entries, err := c.Log.Find(ctx, place, journal.Posted{ID: id}.Key())
	if err != nil || len(entries) == 0 {
		return journal.Posted{}, fmt.Errorf("read post %s: %w", id, errors.Join(err, journal.NotFound()))
	}
	post, _ := entries[0].Row.(journal.Posted) // nothing else has this key
	return post, nil
}

// said is what the orchestrator is told of a message. In a conversation that is being removed it is told
// of none: each would begin a run that has to be stopped again.
func (c *Client) said(ctx context.Context, place journal.Place, id string) (agent.Said, error) {
	var out agent.Said
	entries, err := c.Log.Find(ctx, place, journal.Said{ID: id}.Key(), journal.ErasureKey())
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.Posted:
			return out, &chat.Error{Code: chat.CodeConflict, Message: "the conversation is being deleted"}
		case journal.Said:
			out = agent.Said{
				Seq: e.Number, InReplyTo: r.InReplyTo, Decline: r.Decline, Tokens: tokens(journal.Words(r.Parts)),
			}
		default: // nothing else was asked for
		}
	}
	if err != nil || out.Seq == 0 {
		return out, fmt.Errorf("read message %s: %w", id, errors.Join(err, journal.NotFound()))
	}
	return out, nil
}

// tell signals an agent. The orchestrator's run is started if there is none.
func (c *Client) tell(ctx context.Context, place journal.Place, to string, event json.RawMessage) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	if to != Root {
		return c.Engine.SignalWorkflow(ctx, WorkflowID(place, to), "", signalMail, Mail{Event: event})
	}
	options, begin, err := c.beginning(ctx, place)
	if err != nil {
		return err
	}
	_, err = c.Engine.SignalWithStartWorkflow(ctx, WorkflowID(place, Root), signalMail, Mail{Event: event}, options, workflowAgent, begin)
	return err
}

// beginning is what the orchestrator's run is started with.
func (c *Client) beginning(ctx context.Context, place journal.Place) (client.StartWorkflowOptions, Begin, error) {
	opened, queue, err := c.home(ctx, place)
	if err != nil {
		return client.StartWorkflowOptions{}, Begin{}, err
	}
	// The mail of a run has other numbers than that of an earlier one, which are on record.
	number := int(c.now().UnixMilli())
	return client.StartWorkflowOptions{
		TaskQueue: queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowTaskTimeout: taskTimeout, Priority: fair(place.Tenant),
	}, Begin{
		Whose:      Whose{Place: place, Agent: Root, Task: Root, Workspace: opened.Workspace},
		LegEffects: c.LegEffects, Apart: true, Posted: number, Told: number,
	}, nil
}

// home is how a conversation began, and where its workflows are carried out.
func (c *Client) home(ctx context.Context, place journal.Place) (journal.Opened, string, error) {
	entries, err := c.Log.Find(ctx, place, journal.Opened{}.Key())
	if err != nil || len(entries) == 0 {
		return journal.Opened{}, "", errors.Join(err, journal.NotFound())
	}
	opened, _ := entries[0].Row.(journal.Opened) // nothing else has this key
	if c.Local {
		return opened, Workspace{Tenant: place.Tenant, Name: opened.Workspace}.queue(), nil
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
	return c.list(ctx, "ExecutionStatus = 'Running'")
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
