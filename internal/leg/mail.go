package leg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// mailPoll is how soon a leg that was told of mail looks for more. The engine tells it once, so it
// keeps looking, less and less often, up to mailSlow.
const mailPoll, mailSlow = 250 * time.Millisecond, 4 * time.Second

// TellTimeout is how long the engine may take to hear of something before it is left to a sweep.
// The sender has been promised the row, not the engine.
const TellTimeout = 3 * time.Second

// The topics of mail. Journals know their names.
const (
	TopicMessage = "message"
	TopicDecided = "decided"
	TopicCancel  = "cancel"
	TopicClose   = "close"
	TopicErase   = "erase"
	// TopicAgent is the topic of events from one agent to another.
	TopicAgent = "agent"
)

// errNewer begins the messages about rows that this build does not know.
var errNewer = errors.New("a newer build has to")

// readMail reads and handles the mail that has arrived.
func (l *leg) readMail(ctx context.Context) error {
	l.unread, l.held = false, false
	mail, err := l.mail(ctx)
	if l.family.leaveTo(err) {
		return nil
	}
	if err != nil || len(mail) == 0 {
		return err
	}
	return l.takeAll(ctx, mail)
}

// mail reads what waits for the agent, as events.
func (l *leg) mail(ctx context.Context) (out []completion, err error) {
	var entries []journal.Entry
	err = l.Patiently(ctx, func() (err error) { entries, err = l.Log.Mail(ctx, l.in.Ref, l.in.Agent); return err })
	if err != nil {
		return nil, fmt.Errorf("read the mail of %s: %w", l.in.Agent, err)
	}
	for _, e := range entries {
		post, _ := e.Row.(journal.MailPosted) // nothing else is mail
		event, err := l.event(ctx, post)
		if err != nil {
			return nil, fmt.Errorf("read mail %s: %w", post.ID, err)
		}
		out = append(out, completion{event: event, mail: &post})
	}
	return out, nil
}

// event turns a post into an event for the core. Nil means that the post is no longer of interest.
func (l *leg) event(ctx context.Context, p journal.MailPosted) (agent.Event, error) {
	id := p.About()
	switch p.Topic {
	case TopicMessage:
		return l.messageEvent(ctx, id)
	case TopicDecided:
		call := chat.ParseCallRef(id)
		decided := journal.ApprovalDecided{In: journal.In{Agent: string(call.Agent)}, Call: string(call.Call)}
		entries, err := l.Log.Find(ctx, l.in.Ref, decided.Key())
		if err != nil || len(entries) == 0 {
			return nil, errors.Join(err, journal.NotFound())
		}
		d, _ := entries[0].Row.(journal.ApprovalDecided)
		edited, err := host.Edited(d)
		return agent.Decided{
			At: l.At(), Call: d.Call, Hash: d.Hash, Allow: d.Allow, Scope: agent.Scope(d.Scope), By: d.By, Edited: edited,
		}, err
	case TopicCancel:
		if p.Task != "" && p.Task != host.Root {
			return agent.ChildCancelRequested{At: l.At(), Task: p.Task, By: p.By}, nil
		}
		return agent.CancelRequested{At: l.At(), ID: id, Reason: agent.CancelUser, By: p.By}, nil
	case TopicClose:
		return agent.CloseRequested{At: l.At(), By: p.By}, nil
	case TopicAgent:
		e, err := agent.UnmarshalEvent(p.Event)
		if err != nil {
			return nil, fmt.Errorf("%w read it: %w", errNewer, err)
		}
		return e, nil
	}
	return nil, fmt.Errorf("%w read it: the topic %q is unknown", errNewer, p.Topic)
}

// messageEvent is the event of a message for the orchestrator. In a conversation that is being
// removed it has none: each would begin a turn that has to be stopped again.
func (l *leg) messageEvent(ctx context.Context, id string) (agent.Event, error) {
	entries, err := l.Log.Find(ctx, l.in.Ref, journal.MessageReceived{ID: id}.Key(), journal.ErasureKey())
	var out agent.Event
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.MailPosted:
			return nil, nil //nolint:nilnil // it is of no interest any more
		case journal.MessageReceived:
			out = agent.Said{
				At: l.At(), Seq: e.Number, InReplyTo: r.InReplyTo, Decline: r.Decline, Tokens: host.Tokens(journal.Words(r.Parts)),
			}
		default: // nothing else was asked for
		}
	}
	if err != nil || out == nil {
		return nil, fmt.Errorf("read message %s: %w", id, errors.Join(err, journal.NotFound()))
	}
	return out, nil
}

// refuse are the rows for mail that the core refuses. Mail that it may take later waits.
func (l *leg) refuse(post *journal.MailPosted, why error) []journal.Row {
	switch {
	case post == nil:
		return nil
	case unsettled(why):
		l.held = true
		return nil
	case l.position.State.Phase != agent.Done:
		return []journal.Row{journal.MailDelivered{ID: post.ID}}
	}
	return TakenBack(*post, l.At())
}

// told is the workflow's message about time.
func (l *leg) told() (out []completion) {
	if wake, now := l.position.State.Wake, max(l.At().At, l.in.Tick); wake != 0 && wake <= now {
		out = append(out, completion{event: agent.Ticked{At: agent.At{At: now}}})
	}
	if l.in.Long {
		out = append(out, completion{event: agent.CancelRequested{At: l.At(), ID: "history", Reason: agent.CancelHistory}})
	}
	return out
}

// child names a child's run.
func (l *leg) child(task string) host.RunRef {
	w := l.in.RunRef
	w.Agent, w.Task = task, task
	if agent, ok := l.position.State.Open()[task]; ok {
		w.Agent = agent
	}
	return w
}
