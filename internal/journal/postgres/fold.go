package postgres

import (
	"context"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres/query"
)

// folder brings the tables up to date with new entries, one row after another as View.Apply does.
// Messages, of which there may be many, are gathered and inserted together.
type folder struct {
	ctx          context.Context // it lives for one append
	q            *query.Queries
	tenant       string
	conversation string
	plan         journal.Plan
	messages     query.FoldMessagesParams
}

func fold(ctx context.Context, q *query.Queries, ref journal.Ref, plan journal.Plan) error {
	f := &folder{
		ctx: ctx, q: q, tenant: ref.Tenant, conversation: ref.Conversation, plan: plan,
	}
	for _, e := range plan.Insert {
		if err := f.apply(e); err != nil {
			return err
		}
	}
	return f.flush()
}

func (f *folder) apply(e journal.Numbered) error {
	switch r := e.Row.(type) {
	case journal.Opened, journal.Shared, journal.Titled, journal.Archived, journal.MailPosted, journal.MailDelivered:
		return f.conversationRow(e)
	case journal.TaskAssigned, journal.StatusChanged, journal.TaskEnded:
		return f.taskRow(e)
	case journal.MessageReceived:
		f.message(e, message{speaker: chat.User, chat: true, words: journal.Words(r.Parts)})
	case journal.MessageAdded, journal.ReplyVoided:
		return f.messageRow(e)
	case journal.ModelCalled, journal.ModelReplied:
		return f.modelRow(e)
	case journal.ToolStarted, journal.ToolReturned:
		return f.toolRow(e)
	case journal.QuestionAsked, journal.QuestionRelayed, journal.QuestionAnswered:
		return f.questionRow(e)
	case journal.ApprovalRequested, journal.ApprovalDecided, journal.ApprovalClosed, journal.Granted:
		return f.approvalRow(e)
	case journal.TurnEnded, journal.Stepped, journal.NoteAdded, journal.PatchKept, journal.EditProposed, journal.HostReached, journal.Tainted, journal.Newer:
		// They are read from the list.
	}
	return nil
}

func (f *folder) conversationRow(e journal.Numbered) error {
	switch r := e.Row.(type) {
	case journal.Opened:
		err := f.q.FoldOpened(f.ctx, query.FoldOpenedParams{
			Tenant: f.tenant, Conversation: f.conversation, OpenedBy: r.By, Title: r.Title,
			Workspace: r.Workspace, At: e.At, PrivateTo: r.PrivateTo,
		})
		if err != nil || r.PrivateTo == "" {
			return err
		}
		return f.q.FoldPrivate(f.ctx, query.FoldPrivateParams{Tenant: f.tenant, Conversation: f.conversation, Owner: r.PrivateTo})
	case journal.Shared:
		if err := f.q.FoldShared(f.ctx, query.FoldSharedParams{Tenant: f.tenant, Conversation: f.conversation}); err != nil {
			return err
		}
		return f.q.FoldNotPrivate(f.ctx, query.FoldNotPrivateParams{Tenant: f.tenant, Conversation: f.conversation})
	case journal.Titled:
		return f.q.FoldTitled(f.ctx, query.FoldTitledParams{
			Tenant: f.tenant, Conversation: f.conversation, Title: r.Title,
		})
	case journal.Archived:
		return f.q.FoldArchived(f.ctx, query.FoldArchivedParams{
			Tenant: f.tenant, Conversation: f.conversation,
		})
	case journal.MailPosted:
		return f.q.FoldPosted(f.ctx, query.FoldPostedParams{
			Tenant: f.tenant, Conversation: f.conversation, Post: r.ID, Agent: r.To, Seq: e.Seq, Topic: r.Topic,
			At: e.At,
		})
	case journal.MailDelivered:
		return f.q.FoldDelivered(f.ctx, query.FoldDeliveredParams{
			Tenant: f.tenant, Conversation: f.conversation, Post: r.ID,
		})
	default:
		return nil
	}
}

func (f *folder) taskRow(e journal.Numbered) error {
	switch r := e.Row.(type) {
	case journal.TaskAssigned:
		err := f.q.FoldAgent(f.ctx, query.FoldAgentParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Seq: e.Seq,
			Parent: r.Parent, Depth: int32(r.Depth), Role: r.Role, RoleHash: r.RoleHash,
			Task: r.Task,
		})
		if err != nil {
			return err
		}
		return f.q.FoldTask(f.ctx, query.FoldTaskParams{
			Tenant: f.tenant, Conversation: f.conversation, Task: r.Task, Agent: r.Agent,
			Seq: e.Seq, Parent: r.Parent, Call: r.Call, Item: int32(r.Item),
			TriggerNumber: r.Trigger, Background: r.Background, At: e.At,
		})
	case journal.StatusChanged:
		return f.q.FoldMoved(f.ctx, query.FoldMovedParams{
			Tenant: f.tenant, Conversation: f.conversation, Task: r.Task,
			Status: string(r.Status), Reason: string(r.Reason), At: e.At,
		})
	case journal.TaskEnded:
		return f.q.FoldFinished(f.ctx, query.FoldFinishedParams{
			Tenant: f.tenant, Conversation: f.conversation, Task: r.Task,
			Status: string(r.Status), ErrorKind: string(r.ErrorKind), At: e.At,
		})
	default:
		return nil
	}
}

func (f *folder) messageRow(e journal.Numbered) error {
	switch r := e.Row.(type) {
	case journal.MessageAdded:
		m := message{agent: r.Agent, turn: r.Turn, speaker: r.Message.Speaker}
		if m.speaker == chat.Assistant {
			m.words = journal.Words(r.Message.Parts)
			m.chat = journal.Depth(r.Agent) == 0
			m.voided = f.plan.Voided(r)
		}
		f.message(e, m)
		for _, p := range r.Message.Parts {
			if p.Kind != chat.PartToolUse {
				continue
			}
			turn, item := call(p.Call)
			err := f.q.FoldToolUse(f.ctx, query.FoldToolUseParams{
				Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Turn: turn,
				Item: item, Call: p.Call, Task: r.Task, Seq: e.Seq, Tool: p.Tool,
				Voided: f.plan.Voided(r),
			})
			if err != nil {
				return err
			}
		}
		return nil
	case journal.ReplyVoided:
		if err := f.flush(); err != nil {
			return err
		}
		err := f.q.FoldVoidedMessage(f.ctx, query.FoldVoidedMessageParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Turn: int32(r.Turn),
		})
		if err != nil {
			return err
		}
		return f.q.FoldVoidedCalls(f.ctx, query.FoldVoidedCallsParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Turn: int32(r.Turn),
		})
	default:
		return nil
	}
}

// call reads a call's turn and its place in the reply off its id.
func call(id string) (turn, item int32) {
	t, i, _ := journal.ParseCall(id)
	return int32(t), int32(i)
}

// message is a line of the table of messages.
type message struct {
	agent        string
	turn         int
	speaker      chat.Speaker
	chat, voided bool
	words        string
}

func (f *folder) message(e journal.Numbered, line message) {
	m := &f.messages
	m.Seqs, m.Agents = append(m.Seqs, e.Seq), append(m.Agents, line.agent)
	m.Turns, m.Speakers = append(m.Turns, int32(line.turn)), append(m.Speakers, string(line.speaker))
	m.InChats, m.Voided = append(m.InChats, line.chat), append(m.Voided, line.voided)
	m.Ats, m.Words = append(m.Ats, e.At), append(m.Words, strings.Join(journal.Split(line.words), " "))
}

// flush inserts the messages gathered so far.
func (f *folder) flush() error {
	if len(f.messages.Seqs) == 0 {
		return nil
	}
	m := f.messages
	m.Tenant, m.Conversation = f.tenant, f.conversation
	f.messages = query.FoldMessagesParams{}
	return f.q.FoldMessages(f.ctx, m)
}

func (f *folder) modelRow(e journal.Numbered) error {
	switch r := e.Row.(type) {
	case journal.ModelCalled:
		err := f.q.FoldRequested(f.ctx, query.FoldRequestedParams{
			Tenant: f.tenant, Conversation: f.conversation, Task: r.Task, Call: r.Call,
			Agent: r.Agent, Seq: e.Seq, RequestType: string(r.Type), Turn: int32(r.Turn),
			Attempt: int32(r.Attempt), Model: r.Model, Prompt: r.Prompt, At: e.At,
		})
		if err != nil {
			return err
		}
		return f.q.Hold(f.ctx, query.HoldParams{
			Tenant: f.tenant, Conversation: f.conversation, Key: e.Key, Seq: e.Seq,
			Agent: r.Agent, Task: r.Task, Tokens: r.HoldTokens, Cost: r.HoldCost,
		})
	case journal.ModelReplied:
		u, request := r.Usage, journal.ModelCalled{In: r.In, Call: r.Call}.Key()
		err := f.q.FoldResponded(f.ctx, query.FoldRespondedParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent,
			Seq: f.plan.SeqOf(request), Status: string(r.Status), ErrorKind: string(r.ErrorKind), Model: r.Model,
			Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
			Reasoning: u.Reasoning, Cost: u.Cost, Unpriced: u.Unpriced, At: e.At,
			FinishedSeq: e.Seq,
		})
		if err != nil {
			return err
		}
		err = f.q.FoldUsage(f.ctx, query.FoldUsageParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Input: u.Input,
			Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
			Reasoning: u.Reasoning, Cost: u.Cost, Unpriced: u.Unpriced,
		})
		if err != nil || r.Unmetered {
			return err
		}
		if change, ok := r.Settles(f.conversation); ok {
			err := f.q.SettleMonth(f.ctx, query.SettleMonthParams{Tenant: f.tenant, Month: r.Month, Change: change})
			if err != nil {
				return err
			}
		}
		return f.settle(request)
	default:
		return nil
	}
}

func (f *folder) settle(key string) error {
	return f.q.Settle(f.ctx, query.SettleParams{
		Tenant: f.tenant, Conversation: f.conversation, Key: key,
	})
}

func (f *folder) toolRow(e journal.Numbered) error {
	switch r := e.Row.(type) {
	case journal.ToolStarted:
		turn, item := call(r.Call)
		err := f.q.FoldStarted(f.ctx, query.FoldStartedParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Turn: turn, Item: item,
			Attempt: int32(r.Attempt), At: e.At,
		})
		if err != nil {
			return err
		}
		return f.q.Hold(f.ctx, query.HoldParams{
			Tenant: f.tenant, Conversation: f.conversation,
			Key: journal.LeaseKey(r.Agent, r.Call), Seq: e.Seq, Agent: r.Agent, Task: r.Task,
			Holder: r.Worker,
		})
	case journal.ToolReturned:
		turn, item := call(r.Call)
		err := f.q.FoldResulted(f.ctx, query.FoldResultedParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Turn: turn, Item: item,
			Result: string(r.Status), At: e.At, Duration: r.Duration,
		})
		if err != nil || r.Status == journal.CallIndeterminate {
			return err
		}
		return f.settle(journal.LeaseKey(r.Agent, r.Call))
	default:
		return nil
	}
}

func (f *folder) questionRow(e journal.Numbered) error {
	switch r := e.Row.(type) {
	case journal.QuestionAsked:
		return f.q.FoldAsked(f.ctx, query.FoldAskedParams{
			Tenant: f.tenant, Conversation: f.conversation, Question: r.Question, Seq: e.Seq,
			Agent: r.Agent, Task: r.Task, Call: r.Call, At: e.At, Until: r.Until,
		})
	case journal.QuestionRelayed:
		return f.q.FoldRelayed(f.ctx, query.FoldRelayedParams{
			Tenant: f.tenant, Conversation: f.conversation, Question: r.Question,
		})
	case journal.QuestionAnswered:
		return f.q.FoldAnswered(f.ctx, query.FoldAnsweredParams{
			Tenant: f.tenant, Conversation: f.conversation, Question: r.Question, AnsweredBy: r.By,
		})
	default:
		return nil
	}
}

func (f *folder) approvalRow(e journal.Numbered) error {
	switch r := e.Row.(type) {
	case journal.ApprovalRequested:
		err := f.q.FoldWanted(f.ctx, query.FoldWantedParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Call: r.Call,
			Seq: e.Seq, Task: r.Task, Tool: r.Tool, Hash: r.Hash, At: e.At, Until: r.Until,
		})
		if err != nil {
			return err
		}
		turn, item := call(r.Call)
		return f.q.FoldCallWanted(f.ctx, query.FoldCallWantedParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Turn: turn, Item: item,
		})
	case journal.ApprovalDecided:
		return f.q.FoldDecided(f.ctx, query.FoldDecidedParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Call: r.Call,
			Allow: r.Allow, Scope: r.Scope, DecidedBy: r.By, Edited: r.Args != "",
		})
	case journal.ApprovalClosed:
		err := f.q.FoldClosed(f.ctx, query.FoldClosedParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Call: r.Call,
			Status: r.Status, Scope: r.Scope, DecidedBy: r.By,
		})
		if err != nil {
			return err
		}
		turn, item := call(r.Call)
		return f.q.FoldCallClosed(f.ctx, query.FoldCallClosedParams{
			Tenant: f.tenant, Conversation: f.conversation, Agent: r.Agent, Turn: turn, Item: item,
		})
	case journal.Granted:
		return f.q.FoldGranted(f.ctx, query.FoldGrantedParams{
			Tenant: f.tenant, Conversation: f.conversation, Seq: e.Seq, Tool: r.Tool,
			Pattern: r.Pattern,
		})
	default:
		return nil
	}
}
