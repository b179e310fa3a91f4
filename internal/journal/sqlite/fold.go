package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

// folder writes changes to the tables.
type folder struct {
	ctx context.Context // it lives for one append
	q   *query.Queries
	ref journal.Ref
}

func fold(ctx context.Context, q *query.Queries, ref journal.Ref, plan journal.Plan) error {
	f := &folder{ctx: ctx, q: q, ref: ref}
	for _, c := range plan.Changes(ref) {
		if err := f.write(c); err != nil {
			return fmt.Errorf("fold %T: %w", c, err)
		}
	}
	return nil
}

func (f *folder) write(c journal.Change) error {
	ctx, q := f.ctx, f.q
	switch c := c.(type) {
	case journal.ConversationOpened:
		return q.ConversationOpened(ctx, query.ConversationOpenedParams(c))
	case journal.ConversationShared:
		return q.ConversationShared(ctx, query.ConversationSharedParams(c))
	case journal.ConversationTitled:
		return q.ConversationTitled(ctx, query.ConversationTitledParams(c))
	case journal.ConversationArchived:
		return q.ConversationArchived(ctx, query.ConversationArchivedParams(c))
	case journal.MailAdded:
		return q.MailAdded(ctx, query.MailAddedParams(c))
	case journal.MailRemoved:
		return q.MailRemoved(ctx, query.MailRemovedParams(c))
	case journal.AgentAdded:
		return q.AgentAdded(ctx, query.AgentAddedParams(c))
	case journal.TaskAdded:
		return q.TaskAdded(ctx, query.TaskAddedParams(c))
	case journal.TaskMoved:
		return q.TaskMoved(ctx, query.TaskMovedParams(c))
	case journal.TaskFinished:
		return q.TaskFinished(ctx, query.TaskFinishedParams(c))
	case journal.UsageAdded:
		return q.UsageAdded(ctx, query.UsageAddedParams(c))
	case journal.LeaseHeld:
		return q.LeaseHeld(ctx, query.LeaseHeldParams(c))
	case journal.LeaseSettled:
		return q.LeaseSettled(ctx, query.LeaseSettledParams(c))
	case journal.MonthSettled:
		return q.MonthSettled(ctx, query.MonthSettledParams(c))
	case journal.MessageListed, journal.ReplyTaken, journal.CallAdded, journal.CallStarted, journal.CallFinished,
		journal.CallHeld, journal.CallReleased, journal.ModelCallAdded, journal.ModelCallFinished:
		return f.transcript(c)
	case journal.QuestionAdded, journal.QuestionShown, journal.QuestionClosed,
		journal.ApprovalAdded, journal.ApprovalAnswered, journal.ApprovalEnded, journal.GrantAdded:
		return f.asked(c)
	}
	return nil
}

// transcript writes the changes of transcripts and of the calls in them.
func (f *folder) transcript(c journal.Change) error {
	ctx, q := f.ctx, f.q
	switch c := c.(type) {
	case journal.MessageListed:
		return f.message(c)
	case journal.ReplyTaken:
		if err := q.ReplyTaken(ctx, query.ReplyTakenParams(c)); err != nil {
			return err
		}
		return q.CallsTaken(ctx, query.CallsTakenParams(c))
	case journal.CallAdded:
		return q.CallAdded(ctx, query.CallAddedParams(c))
	case journal.CallStarted:
		return q.CallStarted(ctx, query.CallStartedParams(c))
	case journal.CallFinished:
		return q.CallFinished(ctx, query.CallFinishedParams(c))
	case journal.CallHeld:
		return q.CallHeld(ctx, query.CallHeldParams(c))
	case journal.CallReleased:
		return q.CallReleased(ctx, query.CallReleasedParams(c))
	case journal.ModelCallAdded:
		return q.ModelCallAdded(ctx, query.ModelCallAddedParams(c))
	case journal.ModelCallFinished:
		return q.ModelCallFinished(ctx, query.ModelCallFinishedParams(c))
	default: // write sends nothing else here.
		return nil
	}
}

// message says where a message is, and makes its words known to Search.
func (f *folder) message(c journal.MessageListed) error {
	var row *int64
	if len(c.Words) > 0 {
		id, err := f.q.InsertWords(f.ctx, strings.Join(c.Words, " "))
		if err != nil {
			return err
		}
		row = &id
	}
	return f.q.MessageListed(f.ctx, query.MessageListedParams{
		Tenant: f.ref.Tenant, Conversation: f.ref.Conversation, Seq: c.Seq, Agent: c.Agent, Turn: c.Turn,
		Speaker: c.Speaker, InChat: c.InChat, Voided: c.Voided, At: c.At, WordRow: row,
	})
}

// asked writes the changes of what waits for a person.
func (f *folder) asked(c journal.Change) error {
	ctx, q := f.ctx, f.q
	switch c := c.(type) {
	case journal.QuestionAdded:
		return q.QuestionAdded(ctx, query.QuestionAddedParams(c))
	case journal.QuestionShown:
		return q.QuestionShown(ctx, query.QuestionShownParams(c))
	case journal.QuestionClosed:
		return q.QuestionClosed(ctx, query.QuestionClosedParams(c))
	case journal.ApprovalAdded:
		return q.ApprovalAdded(ctx, query.ApprovalAddedParams(c))
	case journal.ApprovalAnswered:
		return q.ApprovalAnswered(ctx, query.ApprovalAnsweredParams(c))
	case journal.ApprovalEnded:
		return q.ApprovalEnded(ctx, query.ApprovalEndedParams(c))
	case journal.GrantAdded:
		return q.GrantAdded(ctx, query.GrantAddedParams(c))
	default: // write sends nothing else here.
		return nil
	}
}
