package durable

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

// permit is a call that is about to run, with all that says whether it may.
type permit struct {
	Whose
	brief agent.Brief
	run   agent.RunTool
	part  chat.Part
	// probed means that its tool says it has not happened, whoever began it.
	probed bool
}

func (p permit) result() journal.Resulted { return journal.Resulted{In: p.in(), Call: p.run.Call} }

// started is the record that the call begins, which is also the use of its approval.
func (p permit) started(worker string) journal.Started {
	return journal.Started{In: p.in(), Call: p.run.Call, Attempt: 1, Worker: worker, Class: string(p.run.Class)}
}

// authorise decides just before a call runs whether it may. The core decided so before, but a person
// may have taken days to answer: files, programs, rules and links may be others by now.
//
// A call that has begun and not ended passes. That it began is recorded only after it passed here, so
// the approval was good and this is still its one use: the worker that began it is lost, and what
// differs may be its own doing. What becomes of it is for its class to say. One that is idempotent
// gives the same again; one that can be reconciled is probed first, and comes here anew if it has not
// happened; any other is never run again.
func (h *Host) authorise(ctx context.Context, p permit) (agent.DenialReason, error) {
	if p.run.Tool == agent.ToolTranscript {
		return "", nil
	}
	set, err := h.set(ctx, p.Whose)
	if err != nil {
		return "", err
	}
	d, ok := set.Find(p.part.Tool)
	switch {
	case !ok:
		return "", nil // running it says so
	case d.Name != p.run.Tool, d.Class != p.run.Class, p.run.Hash != "" && agent.Digest(p.part.Tool, p.part.Args).Hash != p.run.Hash:
		return agent.DeniedChanged, nil
	}
	reason, err := h.objection(ctx, p, set, d)
	if reason == "" || err != nil || p.probed {
		return reason, err
	}
	rows, err := h.Log.Find(ctx, p.Place, p.started("").Key(), p.result().Key())
	if err != nil {
		return "", fmt.Errorf("look whether call %s has begun: %w", p.run.Call, err)
	}
	if !recorded(rows, journal.KindStarted) || p.over(rows) {
		return reason, nil
	}
	return "", nil
}

// over reports whether the rows hold a result that ends the call for good: it never began, or it is one
// that would be run again. Others that began are answered with the result on record.
func (p permit) over(rows []journal.Entry) bool {
	return recorded(rows, journal.KindResulted) && (p.run.Class.Repeatable() || !recorded(rows, journal.KindStarted))
}

func recorded(rows []journal.Entry, kind journal.Kind) bool {
	return slices.ContainsFunc(rows, func(e journal.Entry) bool { return e.Row.Kind() == kind })
}

// objection is why a call may not run as things are, or nothing.
func (h *Host) objection(ctx context.Context, p permit, set *tool.Set, d tool.Definition) (agent.DenialReason, error) {
	if !p.brief.Permits(d.Name, d.Writes, d.Network) {
		return agent.DeniedByPolicy, nil
	}
	call := h.toolCall(ctx, p.Whose, p.part)
	about := set.About(call)
	policy, err := h.verdict(ctx, p.Place, p.brief.RoleHash, d, about)
	if err != nil {
		return "", err
	}
	barred, err := h.barred(ctx, p, d, about)
	switch {
	case err != nil:
		return "", err
	case policy == agent.PolicyDeny:
		return agent.DeniedByPolicy, nil
	case p.run.Approved:
		return h.unapproved(ctx, p, set, call, about, barred)
	case barred, asks(policy, d):
		return agent.DeniedUnapproved, nil
	}
	return "", nil
}

// unapproved says what is wrong with the approval of a call, or nothing. One for this call alone is for
// exactly what the person was shown, or for the arguments that they gave it instead; a wider one is for
// whatever fits the pattern that they were shown, unless the call is barred: then it is for the call that was shown. An
// approval that the core closed before the person decided was closed by somebody else.
func (h *Host) unapproved(
	ctx context.Context, p permit, set *tool.Set, call tool.Call, about tool.About, barred bool,
) (agent.DenialReason, error) {
	wanted := journal.Wanted{In: p.in(), Call: cmp.Or(p.run.By, p.run.Call)}
	decided := journal.Decided{In: p.in(), Call: wanted.Call}
	closed := journal.Closed{In: p.in(), Call: wanted.Call}
	entries, err := h.Log.Find(ctx, p.Place, wanted.Key(), decided.Key(), closed.Key(), p.started("").Key(), p.result().Key())
	if err != nil {
		return "", fmt.Errorf("look for the approval of call %s: %w", p.run.Call, err)
	}
	var said, heard int64 // when the person decided, and when the core heard of it
	for _, e := range entries {
		switch row := e.Row.(type) {
		case journal.Wanted:
			wanted = row
		case journal.Decided:
			decided, said = row, e.Seq
		case journal.Closed:
			closed, heard = row, e.Seq
		default: // nothing else was asked for
		}
	}
	allowed, err := h.allows(ctx, p.Place, decided, wanted.Hash)
	if err != nil {
		return "", err
	}
	wide := !barred && (agent.Scope(decided.Scope) == agent.ScopeTask || agent.Scope(decided.Scope) == agent.ScopeChat)
	switch {
	case !allowed, heard < said, agent.ApprovalStatus(closed.Status) != agent.ApprovalApproved, closed.Scope != decided.Scope, closed.By != decided.By,
		closed.Task != p.Task, wanted.Task != p.Task,
		wanted.Tool != p.run.Tool, p.run.By != "" && !wide, p.over(entries), p.run.Edited && wide, !wide && !gives(decided, p):
		return agent.DeniedUnapproved, nil
	case wide && wanted.Pattern != "" && wanted.Pattern == about.Pattern:
		return "", nil
	case p.run.By != "" || wide:
		return agent.DeniedChanged, nil
	case !p.run.Edited && wanted.Hash != cmp.Or(p.run.Bound, p.run.Hash):
		return agent.DeniedUnapproved, nil
	case p.run.Bound == "" && barred:
		return agent.DeniedUnapproved, nil
	case p.run.Bound == "":
		return "", nil // asked about by a build that bound nothing
	}
	bound, err := h.bound(ctx, p.brief, set, p.run.Tool, call)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil || bound != p.run.Bound:
		return agent.DeniedChanged, nil
	}
	return "", nil
}

// allows reports whether a row is a person's decision to allow what they were shown, and is on the audit trail. That the
// engine says so, in a signal or in what the core made of one, does not count.
func (h *Host) allows(ctx context.Context, place journal.Place, d journal.Decided, shown string) (bool, error) {
	if !d.Allow || d.By == "" || d.Hash == "" || d.Hash != shown {
		return false, nil
	}
	if h.Witness == nil {
		return true, nil
	}
	on, err := h.Witness.Witnessed(ctx, place, d)
	if err != nil {
		return false, fmt.Errorf("look for the decision on call %s on the audit trail: %w", d.Call, err)
	}
	return on, nil
}

// granted reports whether a person has allowed, for the whole conversation, all calls of a tool that fit a pattern.
func (h *Host) granted(ctx context.Context, place journal.Place, tool, pattern string) (bool, error) {
	grants, err := h.Log.Find(ctx, place, journal.Granted{Tool: tool, Pattern: pattern}.Key())
	if err != nil || len(grants) == 0 {
		return false, err
	}
	grant, _ := grants[0].Row.(journal.Granted) // nothing else has this key
	wanted, decided, said := journal.Wanted{In: grant.In, Call: grant.Call}, journal.Decided{In: grant.In, Call: grant.Call}, int64(0)
	rows, err := h.Log.Find(ctx, place, wanted.Key(), decided.Key())
	if err != nil {
		return false, err
	}
	for _, e := range rows {
		switch row := e.Row.(type) {
		case journal.Wanted:
			wanted = row
		case journal.Decided:
			decided, said = row, e.Seq
		default: // nothing else was asked for
		}
	}
	if grants[0].Seq < said || wanted.Tool != tool || wanted.Pattern != pattern || agent.Scope(decided.Scope) != agent.ScopeChat {
		return false, nil
	}
	return h.allows(ctx, place, decided, wanted.Hash)
}

// bound identifies what a call would do as things are. That a tool would refuse it is a part of that.
func (h *Host) bound(ctx context.Context, brief agent.Brief, set *tool.Set, name string, call tool.Call) (string, error) {
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
func (h *Host) admit(ctx context.Context, p permit) (end landing, begin bool) {
	var reason agent.DenialReason
	err := h.patiently(ctx, func() (err error) {
		reason, err = h.authorise(ctx, p)
		return err
	})
	done := agent.ToolDone{At: h.at(), Call: p.run.Call, Result: agent.ToolCancelled}
	switch {
	case ctx.Err() != nil:
		return landing{event: done}, false
	case err != nil:
		text := "Not carried out: whether it may be could not be found out: " + said(err)
		return h.land(ctx, p, tool.Result{Text: text, End: tool.EndFailed}, nil, h.Now()), false
	case reason != "":
		done.Result, done.Reason = agent.ToolDenied, reason
		return landing{event: done}, false
	}
	return landing{}, true
}
