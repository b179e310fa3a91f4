package leg

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// reports is the text about its children for a parent's model, with the taint of the children whose
// words it contains. Call is the spawn call that it answers, empty for notices.
func (l *leg) reports(ctx context.Context, call string, tasks []string, bytes int64) (string, agent.Taint, error) {
	var keys []string
	for _, task := range tasks {
		in := journal.In{Task: task}
		keys = append(keys, journal.TaskAssigned{In: in}.Key(), journal.TaskEnded{In: in}.Key(), journal.PatchKept{In: in}.Key())
	}
	rows, err := l.cache.look(ctx, keys...)
	if err != nil {
		return "", nil, err
	}
	var out []agent.Report
	var taint agent.Taint
	for _, task := range tasks {
		in := journal.In{Task: task}
		a, _ := rows[journal.TaskAssigned{In: in}.Key()].(journal.TaskAssigned)
		r := agent.Report{
			Task: task, Agent: a.Agent, Role: a.Role, Asked: a.Instruction, Earlier: call != "" && a.Call != call,
		}
		if f, ok := rows[journal.TaskEnded{In: in}.Key()].(journal.TaskEnded); ok {
			r.Outcome = &agent.Outcome{}
			if err := json.Unmarshal(f.Outcome, r.Outcome); err != nil {
				return "", nil, fmt.Errorf("read the outcome of %s: %w", task, err)
			}
			taint = taint.With(r.Outcome.Reported())
			if r.Receipt, err = host.ReceiptIn(f); err != nil {
				return "", nil, err
			}
			r.Text = f.Summary
			if r.Outcome.Typed {
				r.Data = f.Result
			}
			if r.Outcome.Failed() {
				r.Text, r.Partial = f.Message, f.Summary
			}
		}
		if r.Patch, err = patchOf(a, rows); err != nil {
			return "", nil, err
		}
		out = append(out, r)
	}
	text, err := agent.RenderReports(out, bytes)
	return text, taint, err
}

// finished is the one end of this task, with the words of its result. Tokens estimates the report.
func (l *leg) finished(ctx context.Context, e agent.Finish) (rows []journal.Row, tokens int64, err error) {
	o := e.Outcome
	row := journal.TaskEnded{In: l.in.In()}
	var claims receipt.Claims
	if o.Call != "" {
		part, err := l.cache.call(ctx, l.in.Agent, o.Call)
		if err != nil {
			return nil, 0, err
		}
		s := submission(part.Args)
		row.Summary, row.Message, row.Result, row.Files = s.text(), s.Error, json.RawMessage(part.Args), s.files()
		if !o.Failed() && l.position.State.Brief.Shaped {
			row.Summary = part.Args
		}
		if !o.Failed() {
			claims = receipt.Read(part.Args)
		}
	}
	if o.Turn != 0 {
		parts, err := l.cache.reply(ctx, l.in.Agent, o.Turn)
		if err != nil {
			return nil, 0, err
		}
		row.Summary = journal.Words(parts)
	}
	switch {
	case o.Partial != "":
		part, err := l.cache.call(ctx, l.in.Agent, o.Partial)
		if err != nil {
			return nil, 0, err
		}
		row.Summary = submission(part.Args).text()
	case o.PartialTurn != 0 && row.Summary == "":
		parts, err := l.cache.reply(ctx, l.in.Agent, o.PartialTurn)
		if err != nil && !host.Refused(err) {
			return nil, 0, err
		}
		row.Summary = journal.Words(parts)
	}
	if row.Receipt, err = l.receipt(ctx, l.in.RunRef, o, claims); err != nil {
		return nil, 0, err
	}
	if tokens, err = reportTokens(row); err != nil {
		return nil, 0, err
	}
	patched, err := l.PatchRows(ctx, l.in.RunRef, l.position.State.Brief, o.Failed())
	if err != nil {
		return nil, 0, err
	}
	rows, err = closed(row, o)
	return append(patched, rows...), tokens, err
}

// endedTask is the end of a child that never ran or did not let go.
func (l *leg) endedTask(ctx context.Context, e agent.EndTask) ([]journal.Row, error) {
	child, err := find[journal.TaskAssigned](ctx, l, journal.TaskAssigned{In: journal.In{Task: e.Task}}.Key())
	if err != nil {
		return nil, err
	}
	if l.tasks == nil { // a step may end a thousand
		if l.tasks, err = l.tasksOf(ctx, l.in.Ref); err != nil {
			return nil, err
		}
	}
	run := l.in.RunRef
	run.Agent, run.Task = child.Agent, child.Task
	return l.closedWith(ctx, run, e.Outcome, l.tasks)
}

// tasksOf is all tasks of a conversation.
func (c *Carrier) tasksOf(ctx context.Context, ref journal.Ref) ([]journal.Task, error) {
	state, err := c.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("read the tasks of %s: %w", ref.Conversation, err)
	}
	return state.Tasks, nil
}

// closedTree ends a task and every open task below it: the engine ends those runs together, and
// none of them can write any more.
func (c *Carrier) closedTree(ctx context.Context, run host.RunRef, o agent.Outcome) ([]journal.Row, error) {
	tasks, err := c.tasksOf(ctx, run.Ref)
	if err != nil {
		return nil, err
	}
	return c.closedWith(ctx, run, o, tasks)
}

// closedWith is closedTree for a caller that has read the tasks of the conversation.
func (c *Carrier) closedWith(ctx context.Context, run host.RunRef, o agent.Outcome, tasks []journal.Task) ([]journal.Row, error) {
	end := journal.TaskEnded{In: run.In(), Message: "The run was ended from outside before it handed in a result."}
	var err error
	if end.Receipt, err = c.receipt(ctx, run, o, receipt.Claims{}); err != nil {
		return nil, err
	}
	rows, err := closed(end, o)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if !chat.AgentPath(t.Agent).IsBelow(chat.AgentPath(run.Agent)) || t.Status.Terminal() {
			continue
		}
		below, err := closed(journal.TaskEnded{In: journal.In{Agent: t.Agent, Task: t.ID}}, agent.Outcome{
			Status: o.Status, Kind: o.Kind, Reason: o.Reason, By: o.By,
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, below...)
		task := run
		task.Agent, task.Task = t.Agent, t.ID
		rows = append(rows, c.LatePatches(ctx, task)...)
	}
	return append(rows, c.LatePatches(ctx, run)...), nil
}

// closed fills in the core's decisions.
func closed(row journal.TaskEnded, o agent.Outcome) ([]journal.Row, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	row.Status, row.ErrorKind, row.Reason, row.Iterations, row.Outcome = o.Status, o.Kind, o.Reason, o.Iterations, body
	return []journal.Row{row}, nil
}

// submitted is what submit_result and submit_error carry.
type submitted struct {
	Summary     string          `json:"summary"`
	Result      string          `json:"result"`
	Details     json.RawMessage `json:"details"`
	Error       string          `json:"error"`
	Partial     string          `json:"partial"`
	Modified    []string        `json:"files_modified"`
	Created     []string        `json:"files_created"`
	TestsRun    json.Number     `json:"tests_run"`
	TestsPassed json.Number     `json:"tests_passed"`
	Warnings    []string        `json:"warnings"`
	Suggestions []string        `json:"suggestions"`
}

// submission reads what can be read of a submit call's arguments.
func submission(args string) submitted {
	var s submitted
	if json.Unmarshal([]byte(args), &s) != nil {
		var short struct {
			Summary, Result, Error, Partial string
		}
		_ = json.Unmarshal([]byte(args), &short) // A field that does not fit stays empty; the row has it whole.
		s = submitted{Summary: short.Summary, Result: short.Result, Error: short.Error, Partial: short.Partial}
	}
	return s
}

func (s submitted) files() []string { return append(append([]string{}, s.Modified...), s.Created...) }

// text is the submission as a parent reads it.
func (s submitted) text() string {
	parts := []string{s.Summary, s.Result, s.Partial, detailText(s.Details)}
	for _, list := range []struct {
		name  string
		items []string
	}{
		{"Files modified", s.Modified},
		{"Files created", s.Created},
		{"Warnings", s.Warnings},
		{"Suggestions", s.Suggestions},
	} {
		if len(list.items) > 0 {
			parts = append(parts, list.name+": "+strings.Join(list.items, "; "))
		}
	}
	if s.TestsRun != "" && s.TestsRun != "0" {
		parts = append(parts, fmt.Sprintf("Tests: %s of %s passed", s.TestsPassed, s.TestsRun))
	}
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

// detailText is a text as it is, and anything else as JSON.
func detailText(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// closeBooks records the end of a task whose run could not do so: it never started, or somebody
// ended it from outside. Earlier records stand.
func (l *leg) closeBooks(ctx context.Context, run host.RunRef, o agent.Outcome) (agent.ChildEnded, error) {
	rows, err := l.closedTree(ctx, run, o)
	if err != nil {
		return agent.ChildEnded{}, err
	}
	if _, err := l.Log.Append(ctx, run.Ref, l.Now(), rows...); err != nil {
		return agent.ChildEnded{}, err
	}
	return l.endOf(ctx, run.Task)
}

// childEnded is the event of a task's end for its parent.
func childEnded(row journal.TaskEnded, at agent.At) (out agent.ChildEnded, err error) {
	out = agent.ChildEnded{At: at, Task: row.Task}
	if out.Tokens, err = reportTokens(row); err != nil {
		return out, err
	}
	return out, json.Unmarshal(row.Outcome, &out.Outcome)
}

// RecordBroken records that a run broke. An orchestrator's turn has failed, and the open tasks
// below it end with it; the parent of a sub-agent is told.
func (c *Carrier) RecordBroken(ctx context.Context, in BrokenRun) error {
	if in.Parent != "" {
		return c.sendEnd(ctx, in, lostOutcome())
	}
	kind := chat.KindInternal
	rows, err := c.closedTree(ctx, in.RunRef, agent.Outcome{Status: kind.Status(), Kind: kind, Reason: "broken"})
	if err != nil {
		return err
	}
	rows[0] = journal.TurnEnded{
		In: in.In(), Serial: brokenSerial + in.N, Status: kind.Status(), ErrorKind: kind, Reason: "broken",
	}
	_, err = c.Log.Append(ctx, in.Ref, c.Now(), rows...)
	return err
}

// brokenSerial sets the ends of broken turns apart from those that the core numbers.
const brokenSerial = 1 << 30
