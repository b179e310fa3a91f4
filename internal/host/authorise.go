package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Permit is a call that is about to run, with all that says whether it may.
type Permit struct {
	RunRef
	Brief agent.Brief
	Run   agent.RunTool
	Part  chat.Part
	// probed means that its tool says it has not happened, no matter who began it.
	probed bool
}

func (p Permit) result() journal.ToolReturned {
	return journal.ToolReturned{In: p.In(), Call: p.Run.Call}
}

// Started is the record that the call begins, which is also the use of its approval.
func (p Permit) Started(worker string) journal.ToolStarted {
	return journal.ToolStarted{In: p.In(), Call: p.Run.Call, Attempt: 1, Worker: worker, Class: string(p.Run.Class)}
}

// Authorise gathers the facts of a call that is about to run, and asks agent.Authorise.
func (h *Host) Authorise(ctx context.Context, p Permit) (agent.DenialReason, error) {
	if p.Run.Tool == agent.ToolTranscript {
		return "", nil
	}
	set, err := h.Set(ctx, p.RunRef)
	if err != nil {
		return "", err
	}
	d, ok := set.Find(p.Part.Tool)
	if !ok {
		return "", nil // running it says so
	}
	f, err := h.facts(ctx, p, set, d)
	if err != nil {
		return "", err
	}
	reason := agent.Authorise(f)
	if reason == "" || p.Run.Approved {
		return reason, nil
	}
	// Most calls need no approval and are fine. Only now are earlier calls looked up.
	rows, err := h.Log.Find(ctx, p.Ref, p.Started("").Key(), p.result().Key())
	if err != nil {
		return "", fmt.Errorf("look whether call %s has begun: %w", p.Run.Call, err)
	}
	f.Began, f.Ended = recorded(rows, journal.KindToolStarted), recorded(rows, journal.KindToolReturned)
	return agent.Authorise(f), nil
}

func recorded(rows []journal.Entry, kind journal.Kind) bool {
	return slices.ContainsFunc(rows, func(e journal.Entry) bool { return e.Row.Kind() == kind })
}

// facts gathers the known facts of a call.
func (h *Host) facts(ctx context.Context, p Permit, set *tool.Set, d tool.Definition) (f agent.Facts, err error) {
	call := h.ToolCall(ctx, p.RunRef, p.Part)
	about := set.About(call)
	f = agent.Facts{
		Run: p.Run, Task: p.Task, Tool: d.Name, Class: d.Class, Writes: d.Writes, Network: d.Network, Args: p.Part.Args,
		Hash: agent.Digest(p.Part.Tool, p.Part.Args).Hash, Pattern: about.Pattern,
		Permitted: p.Brief.Permits(d.Name, d.Writes, d.Network), Probed: p.probed,
	}
	if f.Policy, err = h.Verdict(ctx, p.Ref, p.Brief.RoleHash, d, about); err != nil {
		return f, err
	}
	if f.Barred, err = h.barred(ctx, p, d, about); err != nil || !p.Run.Approved {
		return f, err
	}
	if err = h.approval(ctx, p, &f); err != nil {
		return f, err
	}
	if p.Run.Bound != "" && p.Run.By == "" {
		f.Bound, err = h.Bound(ctx, p.Brief, set, p.Run.Tool, call)
		if err != nil && ctx.Err() == nil {
			f.Bound, err = "", nil // the call's effect cannot be found out, so it is not the approved one
		}
	}
	return f, err
}

// approval reads the records of a call's approval, and whether the call began and ended.
func (h *Host) approval(ctx context.Context, p Permit, f *agent.Facts) error {
	wanted := journal.ApprovalRequested{In: p.In(), Call: cmp.Or(p.Run.By, p.Run.Call)}
	decided := journal.ApprovalDecided{In: p.In(), Call: wanted.Call}
	closed := journal.ApprovalClosed{In: p.In(), Call: wanted.Call}
	entries, err := h.Log.Find(ctx, p.Ref, wanted.Key(), decided.Key(), closed.Key(), p.Started("").Key(), p.result().Key())
	if err != nil {
		return fmt.Errorf("look for the approval of call %s: %w", p.Run.Call, err)
	}
	var said, heard int64 // when the person decided, and when the core heard of it
	for _, e := range entries {
		switch row := e.Row.(type) {
		case journal.ApprovalRequested:
			wanted = row
		case journal.ApprovalDecided:
			decided, said = row, e.Seq
		case journal.ApprovalClosed:
			closed, heard = row, e.Seq
		default: // whether the call began and ended
		}
	}
	f.Began, f.Ended = recorded(entries, journal.KindToolStarted), recorded(entries, journal.KindToolReturned)
	f.Approval = agent.Approval{
		Task: wanted.Task, Tool: wanted.Tool, Hash: wanted.Hash, Pattern: wanted.Pattern,
		Scope: agent.Scope(decided.Scope), By: decided.By, Heard: heard > said, Args: decided.Args,
		Status: agent.ApprovalStatus(closed.Status), ClosedScope: agent.Scope(closed.Scope), ClosedBy: closed.By, ClosedTask: closed.Task,
	}
	if f.Approval.Edited, err = Edited(decided); err != nil {
		f.Approval.Edited = nil // a decision that nobody can read gives no arguments
	}
	f.Approval.Allowed, err = h.allows(ctx, p.Ref, decided, wanted.Hash)
	return err
}

// allows reports whether a row is a person's decision to allow the call that they saw, and is on
// the audit trail. A claim of the engine, in a signal or in the core's state after one, does not
// count.
func (h *Host) allows(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided, shown string) (bool, error) {
	if !d.Allow || d.By == "" || d.Hash == "" || d.Hash != shown {
		return false, nil
	}
	if h.Witness == nil {
		return true, nil
	}
	on, err := h.Witness.Witnessed(ctx, ref, d)
	if err != nil {
		return false, fmt.Errorf("look for the decision on call %s on the audit trail: %w", d.Call, err)
	}
	return on, nil
}

// granted reports whether a person has allowed, for the whole conversation, all calls of a tool
// that fit a pattern.
func (h *Host) granted(ctx context.Context, ref journal.Ref, tool, pattern string) (bool, error) {
	grants, err := h.Log.Find(ctx, ref, journal.Granted{Tool: tool, Pattern: pattern}.Key())
	if err != nil || len(grants) == 0 {
		return false, err
	}
	grant, _ := grants[0].Row.(journal.Granted) // nothing else has this key
	wanted, decided, said := journal.ApprovalRequested{In: grant.In, Call: grant.Call}, journal.ApprovalDecided{In: grant.In, Call: grant.Call}, int64(0)
	rows, err := h.Log.Find(ctx, ref, wanted.Key(), decided.Key())
	if err != nil {
		return false, err
	}
	for _, e := range rows {
		switch row := e.Row.(type) {
		case journal.ApprovalRequested:
			wanted = row
		case journal.ApprovalDecided:
			decided, said = row, e.Seq
		default: // nothing else was asked for
		}
	}
	if grants[0].Seq < said || wanted.Tool != tool || wanted.Pattern != pattern || agent.Scope(decided.Scope) != agent.ScopeChat {
		return false, nil
	}
	return h.allows(ctx, ref, decided, wanted.Hash)
}

// Bound identifies the effect that a call would have now. A refusal by the tool is such an effect.
func (h *Host) Bound(ctx context.Context, brief agent.Brief, set *tool.Set, name string, call tool.Call) (string, error) {
	binding, err := set.Binding(ctx, call)
	var refusal *chat.Error
	switch {
	case errors.As(err, &refusal):
		return agent.Bound(brief, name, string(call.Args), "refused "+refusal.Message), nil
	case err != nil:
		return "", err
	}
	return agent.Bound(brief, name, string(call.Args), "bound "+binding), nil
}

// admit is authorise for a call that somebody waits for: if it may not run, it ends here.
func (h *Host) admit(ctx context.Context, p Permit) (end End, begin bool) {
	var reason agent.DenialReason
	err := h.Patiently(ctx, func() (err error) {
		reason, err = h.Authorise(ctx, p)
		return err
	})
	done := agent.ToolDone{At: h.At(), Call: p.Run.Call, Result: agent.ToolCancelled}
	switch {
	case ctx.Err() != nil:
		return End{Event: done}, false
	case err != nil:
		text := "Not carried out: whether it may be could not be found out: " + Said(err)
		return h.land(ctx, p, tool.Result{Text: text, End: tool.EndFailed}, nil, h.Now()), false
	case reason != "":
		done.Result, done.Reason = agent.ToolDenied, reason
		return End{Event: done}, false
	}
	return End{}, true
}
