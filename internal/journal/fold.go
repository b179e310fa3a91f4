package journal

import "github.com/retinue-dev/retinue/internal/chat"

// Changes are the changes of the tables for a new entry: the definition that every store follows.
// SeqOf returns the number of a key in the list, zero if it is not in it; it is called for the keys
// that LookUp names.
func Changes(ref Ref, e Entry, seqOf func(key string) int64) []Change {
	f := folding{Ref: ref, Entry: e, at: e.At.UnixMilli(), seqOf: seqOf}
	switch r := e.Row.(type) {
	case Opened, Shared, Titled, Archived, MailPosted, MailDelivered:
		return f.conversation()
	case TaskAssigned, StatusChanged, TaskEnded:
		return f.task()
	case MessageReceived:
		return []Change{MessageListed{Seq: e.Seq, Speaker: string(chat.User), InChat: true, At: f.at, Words: Split(Words(r.Parts))}}
	case MessageAdded:
		return f.message(r)
	case ReplyVoided:
		return []Change{ReplyTaken{Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: r.Agent, Turn: int64(r.Turn)}}
	case ModelCalled:
		return f.modelCalled(r)
	case ModelReplied:
		return f.modelReplied(r)
	case ToolStarted:
		return f.toolStarted(r)
	case ToolReturned:
		return f.toolReturned(r)
	case QuestionAsked, QuestionRelayed, QuestionAnswered:
		return f.question()
	case ApprovalRequested, ApprovalDecided, ApprovalClosed, Granted:
		return f.approval()
	case TurnEnded, Stepped, NoteAdded, PatchKept, EditProposed, HostReached, Tainted:
		// They are read from the list.
	case Newer:
		// This build does not know the row. The build that wrote it has folded it.
	}
	return nil
}

// Changes are a plan's changes of the tables, in the order of writing.
func (p Plan) Changes(ref Ref) []Change {
	var all []Change
	for _, n := range p.Insert {
		e := Entry{Seq: n.Seq, Number: n.Number, At: n.At, Row: n.Row}
		all = append(all, Changes(ref, e, p.seqOf)...)
	}
	return all
}

func (p Plan) seqOf(key string) int64 { return p.known[key].Seq }

// folding is one entry on its way into the tables.
type folding struct {
	Ref
	Entry

	at    int64
	seqOf func(key string) int64
}

func (f folding) conversation() []Change {
	t, c := f.Tenant, f.Conversation
	switch r := f.Row.(type) {
	case Opened:
		return []Change{ConversationOpened{
			OpenedBy: r.By, Title: r.Title, Workspace: r.Workspace, At: f.at, PrivateTo: r.PrivateTo, Tenant: t, Conversation: c,
		}}
	case Shared:
		return []Change{ConversationShared{Tenant: t, Conversation: c}}
	case Titled:
		return []Change{ConversationTitled{Title: r.Title, Tenant: t, Conversation: c}}
	case Archived:
		return []Change{ConversationArchived{Tenant: t, Conversation: c}}
	case MailPosted:
		return []Change{MailAdded{
			Tenant: t, Conversation: c, Post: r.ID, Agent: r.To, Seq: f.Seq, Topic: r.Topic, At: f.at,
		}}
	case MailDelivered:
		return []Change{MailRemoved{Tenant: t, Conversation: c, Post: r.ID}}
	default: // Changes sends nothing else here.
		return nil
	}
}

func (f folding) task() []Change {
	t, c := f.Tenant, f.Conversation
	switch r := f.Row.(type) {
	case TaskAssigned:
		return []Change{
			AgentAdded{
				Tenant: t, Conversation: c, Agent: r.Agent, Seq: f.Seq, Parent: r.Parent, Depth: int64(r.Depth),
				Role: r.Role, RoleHash: r.RoleHash, Task: r.Task,
			},
			TaskAdded{
				Tenant: t, Conversation: c, Task: r.Task, Agent: r.Agent, Seq: f.Seq, Parent: r.Parent, Call: r.Call,
				Item: int64(r.Item), TriggerNumber: r.Trigger, Background: r.Background, At: f.at,
			},
		}
	case StatusChanged:
		return []Change{TaskMoved{
			Status: string(r.Status), Reason: string(r.Reason), At: f.at, Tenant: t, Conversation: c, Task: r.Task,
		}}
	case TaskEnded:
		return []Change{TaskFinished{
			Status: string(r.Status), ErrorKind: string(r.ErrorKind), At: f.at, Tenant: t, Conversation: c, Task: r.Task,
		}}
	default: // Changes sends nothing else here.
		return nil
	}
}

// message lists a message of a transcript, with the calls that it opens. A reply may be voided
// before it is recorded.
func (f folding) message(r MessageAdded) []Change {
	m := MessageListed{Seq: f.Seq, Agent: r.Agent, Turn: int64(r.Turn), Speaker: string(r.Message.Speaker), At: f.at}
	if r.Message.Speaker == chat.Assistant {
		m.Words = Split(Words(r.Message.Parts))
		m.InChat = chat.AgentPath(r.Agent).Depth() == 0
		m.Voided = f.seqOf(VoidKey(r.Agent, r.Turn)) != 0
	}
	all := []Change{m}
	for _, p := range r.Message.Parts {
		if p.Kind == chat.PartToolUse {
			turn, item := placeOf(p.Call)
			all = append(all, CallAdded{
				Tenant: f.Tenant, Conversation: f.Conversation, Agent: r.Agent, Turn: turn, Item: item,
				Call: p.Call, Task: r.Task, Seq: f.Seq, Tool: p.Tool, Voided: m.Voided,
			})
		}
	}
	return all
}

// placeOf reads the turn and the place in the reply off a call's id.
func placeOf(call string) (turn, item int64) {
	t, i, _ := chat.CallID(call).Parse()
	return int64(t), int64(i)
}

func (f folding) modelCalled(r ModelCalled) []Change {
	t, c := f.Tenant, f.Conversation
	return []Change{
		ModelCallAdded{
			Tenant: t, Conversation: c, Task: r.Task, Call: r.Call, Agent: r.Agent, Seq: f.Seq, RequestType: string(r.Type),
			Turn: int64(r.Turn), Attempt: int64(r.Attempt), Model: r.Model, Prompt: r.Prompt, At: f.at,
		},
		LeaseHeld{
			Tenant: t, Conversation: c, Key: r.Key(), Seq: f.Seq, Agent: r.Agent, Task: r.Task,
			Tokens: r.HoldTokens, Cost: r.HoldCost,
		},
	}
}

// modelReplied ends a call. One of unknown use keeps its reservation.
func (f folding) modelReplied(r ModelReplied) []Change {
	t, c, u := f.Tenant, f.Conversation, r.Usage
	request := ModelCalled{In: r.In, Call: r.Call}.Key()
	all := []Change{
		ModelCallFinished{
			Status: string(r.Status), ErrorKind: string(r.ErrorKind), Model: r.Model,
			Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
			Cost: u.Cost, Unpriced: u.Unpriced, At: f.at, FinishedSeq: f.Seq,
			Tenant: t, Conversation: c, Agent: r.Agent, Seq: f.seqOf(request),
		},
		UsageAdded{
			Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
			Cost: u.Cost, Unpriced: u.Unpriced, Tenant: t, Conversation: c, Agent: r.Agent,
		},
	}
	if r.Unmetered {
		return all
	}
	if change, ok := r.Settles(c); ok {
		all = append(all, MonthSettled{Change: change, Tenant: t, Month: r.Month})
	}
	return append(all, LeaseSettled{Tenant: t, Conversation: c, Key: request})
}

func (f folding) toolStarted(r ToolStarted) []Change {
	turn, item := placeOf(r.Call)
	return []Change{
		CallStarted{
			Attempt: int64(r.Attempt), At: f.at, Tenant: f.Tenant, Conversation: f.Conversation, Agent: r.Agent,
			Turn: turn, Item: item,
		},
		LeaseHeld{
			Tenant: f.Tenant, Conversation: f.Conversation, Key: LeaseKey(r.Agent, r.Call), Seq: f.Seq,
			Agent: r.Agent, Task: r.Task, Holder: r.Worker,
		},
	}
}

// toolReturned ends a call. The lease of one that may have happened and may not stays.
func (f folding) toolReturned(r ToolReturned) []Change {
	turn, item := placeOf(r.Call)
	all := []Change{CallFinished{
		Result: string(r.Status), At: f.at, Duration: r.Duration, Tenant: f.Tenant, Conversation: f.Conversation,
		Agent: r.Agent, Turn: turn, Item: item,
	}}
	if r.Status == CallIndeterminate {
		return all
	}
	return append(all, LeaseSettled{Tenant: f.Tenant, Conversation: f.Conversation, Key: LeaseKey(r.Agent, r.Call)})
}

func (f folding) question() []Change {
	t, c := f.Tenant, f.Conversation
	switch r := f.Row.(type) {
	case QuestionAsked:
		return []Change{QuestionAdded{
			Tenant: t, Conversation: c, Question: r.Question, Seq: f.Seq, Agent: r.Agent, Task: r.Task, Call: r.Call,
			At: f.at, Until: r.Until,
		}}
	case QuestionRelayed:
		return []Change{QuestionShown{Tenant: t, Conversation: c, Question: r.Question}}
	case QuestionAnswered:
		return []Change{QuestionClosed{AnsweredBy: r.By, Tenant: t, Conversation: c, Question: r.Question}}
	default: // Changes sends nothing else here.
		return nil
	}
}

func (f folding) approval() []Change {
	t, c := f.Tenant, f.Conversation
	switch r := f.Row.(type) {
	case ApprovalRequested:
		turn, item := placeOf(r.Call)
		return []Change{
			ApprovalAdded{
				Tenant: t, Conversation: c, Agent: r.Agent, Call: r.Call, Seq: f.Seq, Task: r.Task, Tool: r.Tool,
				Hash: r.Hash, At: f.at, Until: r.Until,
			},
			CallHeld{Tenant: t, Conversation: c, Agent: r.Agent, Turn: turn, Item: item},
		}
	case ApprovalDecided:
		return []Change{ApprovalAnswered{
			Allow: r.Allow, Scope: r.Scope, DecidedBy: r.By, Edited: r.Args != "",
			Tenant: t, Conversation: c, Agent: r.Agent, Call: r.Call,
		}}
	case ApprovalClosed:
		turn, item := placeOf(r.Call)
		return []Change{
			ApprovalEnded{
				Status: r.Status, Scope: r.Scope, DecidedBy: r.By, Tenant: t, Conversation: c, Agent: r.Agent, Call: r.Call,
			},
			CallReleased{Tenant: t, Conversation: c, Agent: r.Agent, Turn: turn, Item: item},
		}
	case Granted:
		return []Change{GrantAdded{Tenant: t, Conversation: c, Seq: f.Seq, Tool: r.Tool, Pattern: r.Pattern}}
	default: // Changes sends nothing else here.
		return nil
	}
}
