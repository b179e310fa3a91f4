package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// ReceiptIn reads the receipt of a task that has ended, if one was written.
func ReceiptIn(row journal.TaskEnded) (*receipt.Receipt, error) {
	if len(row.Receipt) == 0 {
		return nil, nil
	}
	var r receipt.Receipt
	if err := json.Unmarshal(row.Receipt, &r); err != nil {
		return nil, fmt.Errorf("read the receipt of %s: %w", row.Task, err)
	}
	return &r, nil
}

// Evidence holds the known effects of a task: the facts of its calls, and those of the tasks that
// it delegated. Its steps name the calls, and mostly one more read finds their results.
func (h *Host) Evidence(ctx context.Context, run RunRef) (receipt.Evidence, error) {
	steps, err := h.Log.Steps(ctx, run.Ref, run.Task, 0)
	if err != nil {
		return receipt.Evidence{}, fmt.Errorf("read the steps of %s: %w", run.Task, err)
	}
	d, err := taskEvidenceOf(run, steps)
	if err != nil {
		return receipt.Evidence{}, err
	}
	found := map[string]journal.Entry{}
	for keys := range slices.Chunk(d.keys(run), findMost) {
		entries, err := h.Log.Find(ctx, run.Ref, keys...)
		if err != nil {
			return receipt.Evidence{}, fmt.Errorf("read what %s did: %w", run.Task, err)
		}
		for _, e := range entries {
			if row, ok := e.Row.(journal.ToolReturned); ok {
				row.Text = "" // it may be long, and there may be many
				e.Row = row
			}
			found[e.Row.Key()] = e
		}
	}
	return d.evidence(run, found)
}

// findMost is how many rows are looked for at a time.
const findMost = 200

// taskEvidence are the calls of a task and the tasks that it may have handed on.
type taskEvidence struct {
	calls []callEvidence
	tasks []string
}

type callEvidence struct {
	id     string
	writes bool
	class  chat.EffectClass
	// facts is how many it left, as the core was told.
	facts int
	// lost means that nobody knows whether it happened.
	lost bool
}

func taskEvidenceOf(run RunRef, steps []journal.Stepped) (taskEvidence, error) {
	var d taskEvidence
	done := map[string]agent.ToolDone{}
	for _, step := range steps {
		event, err := agent.UnmarshalEvent(step.Event)
		if err != nil {
			return d, fmt.Errorf("read a step of %s: %w", run.Task, err)
		}
		switch e := event.(type) {
		case agent.Replied:
			for i, c := range e.Calls {
				d.add(run, fmt.Sprintf("%d.%d", e.Turn, i), c)
			}
		case agent.ToolDone:
			done[e.Call] = e
		default:
		}
	}
	for i := range d.calls {
		c := &d.calls[i]
		c.facts, c.lost = done[c.id].Facts, done[c.id].Result == agent.ToolIndeterminate
	}
	return d, nil
}

func (d *taskEvidence) add(run RunRef, id string, c agent.Call) {
	switch c.Kind {
	case agent.CallTool:
		d.calls = append(d.calls, callEvidence{id: id, writes: c.Writes, class: c.Class})
	case agent.CallSpawn, agent.CallResume:
		for i := range c.Items {
			d.tasks = append(d.tasks, fmt.Sprintf("%s/%s.%d", run.Agent, id, i))
		}
	case agent.CallSubmit, agent.CallSubmitError, agent.CallAsk, agent.CallReply:
	}
}

// keys name the rows that tell how it all ended.
func (d taskEvidence) keys(run RunRef) []string {
	var out []string
	for _, c := range d.calls {
		if c.writes || c.facts > 0 {
			out = append(out, journal.ToolReturned{In: run.In(), Call: c.id}.Key())
		}
		if c.writes {
			out = append(out, started(run.In(), c.id))
		}
	}
	for _, task := range d.tasks {
		below := journal.In{Task: task}
		out = append(out, journal.TaskAssigned{In: below}.Key(), journal.TaskEnded{In: below}.Key())
	}
	return out
}

func started(in journal.In, call string) string {
	return journal.ToolStarted{In: in, Call: call, Attempt: 1}.Key()
}

// evidence adds up the facts of the rows.
func (d taskEvidence) evidence(run RunRef, found map[string]journal.Entry) (receipt.Evidence, error) {
	var sum receipt.Evidence
	for _, c := range d.calls {
		_, began := found[started(run.In(), c.id)]
		entry, ended := found[journal.ToolReturned{In: run.In(), Call: c.id}.Key()]
		row, _ := entry.Row.(journal.ToolReturned) // nothing else has this key
		var facts tool.Facts
		if len(row.Facts) > 0 {
			if err := json.Unmarshal(row.Facts, &facts); err != nil {
				return sum, fmt.Errorf("read the facts of call %s: %w", c.id, err)
			}
		}
		sum.Add(factual(facts, entry.Seq))
		if began && c.writes && (!ended || c.unclear(row.Status, facts)) {
			sum.Perhaps++
		}
	}
	for _, task := range d.tasks {
		below := journal.In{Task: task}
		if _, assigned := found[journal.TaskAssigned{In: below}.Key()]; !assigned {
			continue
		}
		row, _ := found[journal.TaskEnded{In: below}.Key()].Row.(journal.TaskEnded)
		r, err := ReceiptIn(row)
		switch {
		case err != nil:
			return sum, err
		case r == nil:
			sum.Perhaps++ // it has not ended, or its effects were not checked
		default:
			sum.Add(r.Facts)
		}
	}
	return sum, nil
}

// unclear reports whether a call that may change things can have done more than its facts say.
// Tools whose effects nobody can repeat or look up, and that tell none, may have done anything.
func (c callEvidence) unclear(status journal.CallStatus, facts tool.Facts) bool {
	switch status {
	case journal.CallCompleted, journal.CallFailed:
		return c.lost || (facts.Empty() && c.class != chat.ClassIdempotent && c.class != chat.ClassReconcilable)
	case journal.CallDenied, journal.CallSkipped:
		return false
	case journal.CallTimedOut:
		return facts.Empty() // else the tool has checked its own effects
	case journal.CallCancelled, journal.CallIndeterminate, journal.CallPending, journal.CallWaiting,
		journal.CallRunning:
	}
	return true
}

// factual turns a tool's facts into those of receipts.
func factual(f tool.Facts, at int64) receipt.Evidence {
	e := receipt.Evidence{Partial: f.Partial}
	for _, w := range f.Wrote {
		e.Changed = append(e.Changed, receipt.Change{Path: w.Path, Before: w.Before, After: w.After, First: at, Last: at})
	}
	for _, r := range f.Read {
		e.Read = append(e.Read, receipt.File{Path: r.Path, Hash: r.Hash})
	}
	for _, c := range f.Commands {
		command := receipt.Command{Line: c.Line, Exit: c.Exit, Signal: c.Signal, At: at}
		if c.Tests != nil {
			command.Tests = &receipt.Tests{Passed: c.Tests.Passed, Failed: c.Tests.Failed, Skipped: c.Tests.Skipped}
		}
		e.Commands = append(e.Commands, command)
	}
	for _, p := range f.Fetched {
		e.Pages = append(e.Pages, receipt.Page{URL: p.URL, Status: p.Status})
	}
	return e
}
