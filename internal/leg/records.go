package leg

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// records makes the rows that effects order, in their order. They are in the cache at once, since
// later rows of the same step may need them.
func (l *leg) records(ctx context.Context, effects []agent.Effect) ([]journal.Row, error) {
	var out []journal.Row
	l.tasks = nil
	for _, e := range effects {
		if !written(e) {
			continue
		}
		rows, err := l.rowsOf(ctx, e, effects)
		if err != nil {
			return nil, fmt.Errorf("write down %s: %w", e.Key(), err)
		}
		l.cache.learn(rows)
		out = append(out, rows...)
	}
	return out, nil
}

// rowsOf makes the rows of one effect; beside are the effects of the same step.
func (l *leg) rowsOf(ctx context.Context, effect agent.Effect, beside []agent.Effect) ([]journal.Row, error) {
	in := l.in.In()
	switch e := effect.(type) {
	case agent.Append:
		return l.appended(ctx, e)
	case agent.Settle:
		return l.settled(ctx, e)
	case agent.Enlist:
		return l.enlisted(ctx, e)
	case agent.EndTask:
		return l.endedTask(ctx, e)
	case agent.OpenApproval:
		return l.wanted(ctx, e)
	case agent.CloseApproval:
		return []journal.Row{journal.ApprovalClosed{
			In: in, Call: e.Call, Status: string(e.Status), Scope: string(e.Scope), By: e.By,
		}}, nil
	case agent.Grant:
		wanted, err := find[journal.ApprovalRequested](ctx, l, journal.ApprovalRequested{In: in, Call: e.Call}.Key())
		return []journal.Row{journal.Granted{In: in, Call: e.Call, Tool: wanted.Tool, Pattern: wanted.Pattern}}, err
	case agent.Relay:
		return []journal.Row{journal.QuestionRelayed{In: in, Question: e.Question}}, nil
	case agent.CloseQuestion:
		return l.closedQuestion(ctx, e, beside)
	case agent.Note:
		return []journal.Row{journal.NoteAdded{
			In: in, Serial: e.Serial, Note: string(e.Kind), Question: e.Question, Number: e.Seq,
		}}, nil
	case agent.Void:
		return []journal.Row{journal.ReplyVoided{In: in, Turn: e.Turn}}, nil
	case agent.EndTurn:
		return []journal.Row{journal.TurnEnded{
			In: in, Serial: e.Serial, Turn: e.Turn, Status: e.Status, ErrorKind: e.Kind, Reason: e.Reason, By: e.By,
			Cut: e.Cut,
		}}, nil
	default:
		return l.posted(ctx, effect)
	}
}

// appended is a message from the user's side: results, messages, notices and notes.
func (l *leg) appended(ctx context.Context, e agent.Append) ([]journal.Row, error) {
	var parts, images []chat.Part
	var rows []journal.Row
	for i := range e.Results {
		call := fmt.Sprintf("%d.%d", e.Turn, i)
		r, err := l.cache.outcome(ctx, call)
		if err != nil {
			return nil, err
		}
		parts = append(parts, chat.Part{
			Kind: chat.PartToolResult, Call: call, Text: r.Text, Failed: r.Status != journal.CallCompleted,
		})
		for _, hash := range r.Images {
			images = append(images, chat.Part{Kind: chat.PartImage, Call: call, Image: hash})
		}
	}
	parts = append(parts, images...)
	for _, number := range e.Reads {
		said, err := l.cache.said(ctx, number)
		if err != nil {
			return nil, err
		}
		parts = append(parts, said...)
	}
	if len(e.Notices) > 0 {
		text, taint, err := l.reports(ctx, "", e.Notices, e.Cap)
		if err != nil {
			return nil, err
		}
		rows = host.Tainted(l.in.In(), "", taint)
		parts = append(parts, chat.Part{Kind: chat.PartText, Text: text})
	}
	for _, note := range e.Notes {
		parts = append(parts, chat.Part{Kind: chat.PartText, Text: note})
	}
	in := l.in.In()
	return append(rows, journal.MessageAdded{In: in, Message: chat.Message{
		ID: messageID(in, "m", e.Serial), Speaker: chat.User, Parts: parts,
	}, Reads: e.Reads}), nil
}

// settled is the result of a call that no tool gave.
func (l *leg) settled(ctx context.Context, e agent.Settle) ([]journal.Row, error) {
	row := journal.ToolReturned{In: l.in.In(), Call: e.Call, Status: callKind(e.Status), Text: e.Text, Reason: string(e.Reason)}
	var taint agent.Taint
	if e.Edited {
		args, err := l.given(ctx, e.Call)
		if err != nil {
			return nil, err
		}
		row.Text += " " + agent.EditedText(args)
	}
	switch {
	case len(e.Tasks) > 0:
		var err error
		if row.Text, taint, err = l.reports(ctx, e.Call, e.Tasks, e.Cap); err != nil {
			return nil, err
		}
	case e.Question != "":
		answer, err := find[journal.QuestionAnswered](ctx, l, journal.QuestionAnswered{Question: e.Question}.Key())
		if err != nil {
			return nil, err
		}
		row.Text, taint = answer.Text, host.TaintOf(answer.Sources)
	case e.Receipt:
		list, err := l.contradictions(ctx, e.Call)
		if err != nil {
			return nil, err
		}
		row.Text += list
	case e.Status == agent.CallFailed, e.Status == agent.CallTimedOut:
		// The lost worker may have recorded the result first, or the tool its effects until its
		// time was over; then that record stands.
		rows, err := l.cache.look(ctx, row.Key())
		if err != nil {
			return nil, err
		}
		if first, ok := rows[row.Key()].(journal.ToolReturned); ok {
			row = first
		} else if e.Unknown {
			row.Status = journal.CallIndeterminate
		}
	case e.Status == agent.CallDenied && (e.Reason == "" || e.Reason == agent.DeniedByPerson):
		entries, err := l.Log.Find(ctx, l.in.Ref, journal.ApprovalDecided{In: l.in.In(), Call: e.Call}.Key())
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if d, _ := entry.Row.(journal.ApprovalDecided); d.Reason != "" {
				row.Text += " Their reason: " + d.Reason
			}
		}
	}
	return append([]journal.Row{row}, host.Tainted(l.in.In(), e.Call, taint)...), nil
}

// wanted is a call that waits for a person, and what the person may approve with it.
func (l *leg) wanted(ctx context.Context, e agent.OpenApproval) ([]journal.Row, error) {
	part, err := l.cache.call(ctx, l.in.Agent, e.Call)
	if err != nil {
		return nil, err
	}
	row := journal.ApprovalRequested{
		In: l.in.In(), Call: e.Call, Tool: e.Tool, Hash: e.Hash, Until: e.Until, Show: json.RawMessage(part.Args),
		Sources: host.SourcesOf(e.Taint),
	}
	if e.Pattern == "" && e.Tool != agent.ToolMerge {
		return []journal.Row{row}, nil
	}
	run := l.in.RunRef.Within(&l.position.State)
	set, err := l.Describing(run)
	if err != nil {
		return nil, err
	}
	about := set.About(l.ToolCall(ctx, run, part))
	row.Pattern = about.Pattern
	if e.Tool == agent.ToolMerge {
		row.Show, err = mergeShown(part, about)
	}
	return []journal.Row{row}, err
}

// enlisted is a child with its first message.
func (l *leg) enlisted(ctx context.Context, e agent.Enlist) ([]journal.Row, error) {
	part, err := l.cache.call(ctx, l.in.Agent, e.Call)
	if err != nil {
		return nil, err
	}
	a := l.cache.given(part, e.Item)
	mine, err := l.cache.assignment(ctx)
	if err != nil {
		return nil, err
	}
	brief, err := json.Marshal(e.Brief)
	if err != nil {
		return nil, err
	}
	in := journal.In{Agent: e.Brief.Agent, Task: e.Brief.Task}
	trigger := mine.Trigger
	if l.in.Agent == host.Root {
		trigger = l.position.State.Inbox.Heard
	}
	return append([]journal.Row{
		journal.TaskAssigned{
			In: in, Parent: l.in.Agent, Call: e.Call, Item: e.Item, Trigger: trigger, Depth: e.Brief.Depth,
			Role: e.Brief.Role, RoleHash: e.Brief.RoleHash, Background: a.Background, Instruction: a.Task,
			Criteria: a.Criteria, Files: a.Files, MaxIterations: e.Brief.Limits.Iterations,
			MaxDuration: e.Brief.Limits.Time, Brief: brief,
		},
		journal.MessageAdded{In: in, Message: chat.Message{
			ID: messageID(in, "a", 0), Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: a.Task}},
		}},
	}, host.Tainted(in, "", e.Brief.Taint)...), nil
}

// asked is a question in the agent's words.
func (l *leg) asked(ctx context.Context, e agent.Ask) ([]journal.Row, error) {
	part, err := l.cache.call(ctx, l.in.Agent, e.Call)
	if err != nil {
		return nil, err
	}
	var args struct {
		Question  string   `json:"question"`
		Questions []string `json:"questions"`
		Options   []string `json:"options"`
	}
	if err := json.Unmarshal([]byte(part.Args), &args); err != nil {
		return nil, err
	}
	text := strings.TrimSpace(strings.Join(append([]string{args.Question}, args.Questions...), "\n"))
	return []journal.Row{journal.QuestionAsked{
		In: l.in.In(), Question: e.Question, Call: e.Call, Text: text, Options: args.Options, Until: e.Until,
	}}, nil
}

// closedQuestion is the end of a question, with the answer that goes out in the same step.
func (l *leg) closedQuestion(
	ctx context.Context, e agent.CloseQuestion, beside []agent.Effect,
) ([]journal.Row, error) {
	row := journal.QuestionAnswered{In: l.in.In(), Question: e.Question, By: string(e.By)}
	for _, other := range beside {
		if reply, ok := other.(agent.Reply); ok && reply.Question == e.Question {
			text, err := l.answer(ctx, reply)
			if err != nil {
				return nil, err
			}
			row.Text, row.Number, row.Sources = text, reply.Seq, host.SourcesOf(reply.Taint)
		}
	}
	return []journal.Row{row}, nil
}

// answer finds the words of an answer where the reply says they are.
func (l *leg) answer(ctx context.Context, r agent.Reply) (string, error) {
	switch {
	case r.Earlier != "":
		earlier, err := find[journal.QuestionAnswered](ctx, l, journal.QuestionAnswered{Question: r.Earlier}.Key())
		return earlier.Text, err
	case r.Side != 0:
		parts, err := l.cache.side(ctx, r.Side)
		if err != nil {
			return "", err
		}
		for _, p := range parts {
			if p.Kind == chat.PartToolUse && p.Tool == agent.ToolReply {
				return replyText(p.Args), nil
			}
		}
		return "", nil
	case r.Call != "":
		part, err := l.cache.call(ctx, l.in.Agent, r.Call)
		return replyText(part.Args), err
	case r.Seq != 0:
		parts, err := l.cache.said(ctx, r.Seq)
		return journal.Words(parts), err
	}
	return "", nil
}

func replyText(args string) string {
	var call struct {
		Answer string `json:"answer"`
	}
	if json.Unmarshal([]byte(args), &call) != nil {
		return ""
	}
	return call.Answer
}
