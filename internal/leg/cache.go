package leg

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// cache is a leg's copy of the agent's rows. It need not read its own writes again.
type cache struct {
	leg *leg
	// messages is the transcript since it was last shortened, once it is read; fresh are those that
	// the leg itself is adding to it.
	messages []chat.Message
	fresh    []chat.Message
	read     bool
	// rows are those that the leg has made, by key, which it may have to read again: they may be a
	// part of the very append that needs them.
	rows map[string]journal.Row
	task *task
	// spawn is the call whose tasks were handed out last.
	spawn spawn
}

// spawn is a call with the tasks in it, in the model's words.
type spawn struct {
	call  string
	tasks []agent.Assignment
}

// task is the agent's task, its time, and the role of the agent that assigned it.
type task struct {
	journal.TaskAssigned
	at         time.Time
	parentRole string
}

// transcriptPage is how many messages are read at a time.
const transcriptPage = 200

// The beginnings of message ids. The turn or the serial follows.
const (
	replyMark   = journal.ReplyMark
	compactMark = journal.CompactMark
)

// learn puts rows in the cache that are about to be written.
func (d *cache) learn(rows []journal.Row) {
	for _, row := range rows {
		switch r := row.(type) {
		case journal.MessageAdded:
			if r.Agent == d.leg.in.Agent {
				d.fresh = append(d.fresh, r.Message)
			}
		case journal.ToolReturned, journal.TaskAssigned, journal.TaskEnded, journal.QuestionAnswered, journal.ApprovalRequested, journal.PatchKept:
			d.rows[row.Key()] = row
		case journal.ModelReplied:
			if len(r.Parts) > 0 {
				d.rows[row.Key()] = row
			}
		case journal.ReplyVoided:
			voided := replyMark + strconv.Itoa(r.Turn)
			gone := func(m chat.Message) bool { return m.ID == voided }
			d.messages, d.fresh = slices.DeleteFunc(d.messages, gone), slices.DeleteFunc(d.fresh, gone)
		default:
		}
	}
}

// transcript is the model's input.
func (d *cache) transcript(ctx context.Context) ([]chat.Message, error) {
	if !d.read {
		if err := d.load(ctx); err != nil {
			return nil, err
		}
	}
	d.join()
	return d.messages, nil
}

// join adds the leg's later messages to the transcript.
func (d *cache) join() {
	for _, m := range d.fresh {
		switch {
		case slices.ContainsFunc(d.messages, func(o chat.Message) bool { return o.ID == m.ID }):
		case strings.HasPrefix(m.ID, compactMark):
			d.messages = []chat.Message{m}
		default:
			d.messages = append(d.messages, m)
		}
	}
	d.fresh = nil
}

// load reads the transcript from its end back to where it was last shortened.
func (d *cache) load(ctx context.Context) error {
	var out []chat.Message
	page := journal.Page{Limit: transcriptPage}
	for {
		messages, err := d.leg.Log.Transcript(ctx, d.leg.in.Ref, d.leg.in.Agent, page)
		if err != nil {
			return fmt.Errorf("read the transcript of %s: %w", d.leg.in.Agent, err)
		}
		from := 0
		for i, m := range messages {
			if strings.HasPrefix(m.ID, compactMark) {
				from = i
			}
		}
		compacted := len(messages) > 0 && strings.HasPrefix(messages[from].ID, compactMark)
		var part []chat.Message
		for _, m := range messages[from:] {
			part = append(part, m.Message)
		}
		out = append(part, out...)
		if compacted || len(messages) < transcriptPage {
			break
		}
		page.Before = messages[0].Seq
	}
	d.messages, d.read = out, true
	return nil
}

// reply finds the parts of a reply by its turn.
func (d *cache) reply(ctx context.Context, id string, turn int) ([]chat.Part, error) {
	name := replyMark + strconv.Itoa(turn)
	for _, list := range [][]chat.Message{d.fresh, d.messages} {
		if id != d.leg.in.Agent {
			break
		}
		for _, m := range slices.Backward(list) {
			if m.ID == name {
				return m.Parts, nil
			}
		}
	}
	row, err := find[journal.MessageAdded](ctx, d.leg, journal.MessageAdded{
		In: journal.In{Agent: id}, Message: chat.Message{ID: name},
	}.Key())
	return row.Message.Parts, err
}

// call finds a tool_use by the id of its call.
func (d *cache) call(ctx context.Context, id, call string) (chat.Part, error) {
	turn, _, ok := chat.CallID(call).Parse()
	if !ok {
		return chat.Part{}, fmt.Errorf("%q is not the id of a call", call)
	}
	parts, err := d.reply(ctx, id, turn)
	if err != nil {
		return chat.Part{}, err
	}
	i := slices.IndexFunc(parts, func(p chat.Part) bool { return p.Call == call })
	if i < 0 {
		return chat.Part{}, &chat.Error{Code: chat.CodeNotFound, Message: "there is no call " + call + " of agent " + id}
	}
	return parts[i], nil
}

// given is one task of a spawn call.
func (d *cache) given(part chat.Part, item int) agent.Assignment {
	if d.spawn.call != part.Call {
		tasks, _ := agent.Assignments(part.Tool, part.Args)
		d.spawn = spawn{call: part.Call, tasks: tasks}
	}
	if tasks := d.spawn.tasks; item < len(tasks) && strings.TrimSpace(tasks[item].Task) != "" {
		return tasks[item]
	}
	return agent.Assignment{Task: part.Args}
}

// outcome is the result of a call.
func (d *cache) outcome(ctx context.Context, call string) (journal.ToolReturned, error) {
	return find[journal.ToolReturned](ctx, d.leg, journal.ToolReturned{In: d.leg.in.In(), Call: call}.Key())
}

// side is the result of a side turn.
func (d *cache) side(ctx context.Context, side int) ([]chat.Part, error) {
	row, err := find[journal.ModelReplied](ctx, d.leg, journal.ModelReplied{In: d.leg.in.In(), Call: sideCall(side)}.Key())
	return row.Parts, err
}

// assignment is the task that the leg runs.
func (d *cache) assignment(ctx context.Context) (task, error) {
	if d.task != nil {
		return *d.task, nil
	}
	in := d.leg.in
	own := journal.TaskAssigned{In: in.In()}.Key()
	keys := []string{own}
	if parent := chat.AgentPath(in.Agent).Parent(); parent != "" {
		keys = append(keys, journal.TaskAssigned{In: journal.In{Task: string(parent)}}.Key())
	}
	entries, err := d.leg.Log.Find(ctx, in.Ref, keys...)
	if err != nil {
		return task{}, fmt.Errorf("read task %s: %w", in.Task, err)
	}
	var t task
	for _, e := range entries {
		switch row, _ := e.Row.(journal.TaskAssigned); row.Key() {
		case own:
			t.TaskAssigned, t.at = row, e.At
		default:
			t.parentRole = row.Role
		}
	}
	if t.Task == "" {
		return t, &chat.Error{Code: chat.CodeNotFound, Message: "there is no task " + in.Task}
	}
	d.task = &t
	return t, nil
}

// said finds a person's message by its number. It is nearly always among the last.
func (d *cache) said(ctx context.Context, number int64) ([]chat.Part, error) {
	for page := (journal.Page{Limit: 16}); ; page.Limit = transcriptPage {
		messages, err := d.leg.Log.Chat(ctx, d.leg.in.Ref, page)
		if err != nil {
			return nil, fmt.Errorf("read message %d: %w", number, err)
		}
		for _, m := range messages {
			if m.Number == number {
				return m.Parts, nil
			}
		}
		if len(messages) < page.Limit {
			return nil, &chat.Error{Code: chat.CodeNotFound, Message: fmt.Sprintf("there is no message %d", number)}
		}
		page.Before = messages[0].Seq
	}
}

// look finds rows by key, in the cache or in the journal. Those that do not exist are left out.
func (d *cache) look(ctx context.Context, keys ...string) (map[string]journal.Row, error) {
	out := map[string]journal.Row{}
	var missing []string
	for _, key := range keys {
		if row, ok := d.rows[key]; ok {
			out[key] = row
		} else {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	entries, err := d.leg.Log.Find(ctx, d.leg.in.Ref, missing...)
	if err != nil {
		return nil, fmt.Errorf("read row %s: %w", missing[0], err)
	}
	for _, e := range entries {
		out[e.Row.Key()] = e.Row
	}
	return out, nil
}

// find reads one row that must exist.
func find[R journal.Row](ctx context.Context, l *leg, key string) (R, error) {
	rows, err := l.cache.look(ctx, key)
	row, ok := rows[key].(R)
	if err == nil && !ok {
		err = &chat.Error{Code: chat.CodeNotFound, Message: "there is no row " + key}
	}
	return row, err
}

// messageID names a message from the user's side. A resumed agent's serials begin again with each
// task.
func messageID(in journal.In, mark string, serial int) string {
	id := mark
	if serial > 0 {
		id += strconv.Itoa(serial)
	}
	if in.Task != in.Agent {
		id += "@" + chat.AgentPath(in.Task).Name()
	}
	return id
}

// asker is the agent whose question this is.
func asker(question string) string { return string(chat.ParseCallRef(question).Agent) }

// callKind is how a settled call is shown.
func callKind(s agent.CallStatus) journal.CallStatus { return journal.CallStatus(s) }
