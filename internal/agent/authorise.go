package agent

import (
	"cmp"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Facts are known of a call just before it runs: the order for it, the call as it would run now,
// and the records of it.
type Facts struct {
	// Run is the order, and Task is whose.
	Run  RunTool
	Task string
	// Tool, Class, Writes and Network are of the tool as it is now.
	Tool            string
	Class           chat.EffectClass
	Writes, Network bool
	// Args are the call's arguments, and Hash is their hash. Pattern is the call's pattern, and
	// Bound identifies its effect now; it is empty if the effect is unknown.
	Args, Hash, Pattern, Bound string
	// Permitted means that the brief gives its agent the tool. Policy is the verdict of the rules
	// now. Barred means that the agent has read a stranger's text, so that only a person's decision
	// on this very call permits it.
	Permitted bool
	Policy    Policy
	Barred    bool
	// Began and Ended are on record. Probed means that the tool says the call has not happened, no
	// matter who began it.
	Began, Ended, Probed bool
	// Approval is of the call, or of the one whose approval covers it. Without one on record it is
	// empty.
	Approval Approval
}

// Approval is the record of a person's approval: the call they were shown, their decision, and how
// the core judged it.
type Approval struct {
	// The person was shown a call of a task, with this hash. A wider yes covers the calls that fit
	// the pattern.
	Task, Tool, Hash, Pattern string
	// Allowed means that a person's decision to allow it is on record and on the audit trail. Scope is
	// how far it goes, By who decided, and Heard that the core closed the approval after that and not
	// before.
	Allowed bool
	Scope   Scope
	By      string
	Heard   bool
	// Args are those that the person gave the call, if any, and Edited is the call with them.
	Args   string
	Edited *Call
	// The core closed the approval of a task so.
	Status      ApprovalStatus
	ClosedScope Scope
	ClosedBy    string
	ClosedTask  string
}

// Authorise says why a call may not run, or nothing. Step decided that it may, but a person may
// have taken days to answer: files, programs, rules and links may be others by now. It also trusts
// nothing that only the engine says.
//
// A call that began and did not end passes. Its beginning is recorded only after it passed here, so
// the approval was good and this is still its one use: the worker that began it is lost, and any
// difference may be its own doing. The call's class decides the next step. An idempotent call is
// repeated. A reconcilable one is probed first, and comes here again if it has not happened. Any
// other is never run again.
func Authorise(f Facts) DenialReason {
	if f.Tool != f.Run.Tool || f.Class != f.Run.Class || f.Run.Hash != "" && f.Hash != f.Run.Hash {
		return DeniedChanged
	}
	reason := f.objection()
	if f.Began && !f.Probed && !f.over() {
		return ""
	}
	return reason
}

// over reports whether a result on record ends the call for good: the call never began, or it is
// one that would be run again. Others that began are answered with that result.
func (f Facts) over() bool { return f.Ended && (f.Run.Class.Repeatable() || !f.Began) }

// objection is why a call may not run as things are, or nothing.
func (f Facts) objection() DenialReason {
	switch {
	case !f.Permitted, f.Policy == PolicyDeny:
		return DeniedByPolicy
	case f.Run.Approved:
		return f.unapproved()
	case f.Barred, Call{Policy: f.Policy, Writes: f.Writes, Network: f.Network}.Asks():
		return DeniedUnapproved
	}
	return ""
}

// unapproved returns the fault of a call's approval, or nothing. An approval for one call is for
// exactly the call that the person saw, or for the arguments that they gave it instead. A wider one
// is for every call that fits the pattern they were shown. For a barred call no approval is wide.
func (f Facts) unapproved() DenialReason {
	a, run := f.Approval, f.Run
	wide := !f.Barred && (a.Scope == ScopeTask || a.Scope == ScopeChat)
	switch {
	case !a.Allowed, a.Task != f.Task, a.Tool != run.Tool, !a.closed(f.Task), f.over():
		return DeniedUnapproved
	case wide && run.Edited, !wide && run.By != "", !wide && !a.gives(f):
		return DeniedUnapproved
	case wide && a.Pattern != "" && a.Pattern == f.Pattern:
		return ""
	case wide:
		return DeniedChanged
	case !run.Edited && a.Hash != cmp.Or(run.Bound, run.Hash):
		return DeniedUnapproved
	case run.Bound == "" && f.Barred:
		return DeniedUnapproved
	case run.Bound != "" && run.Bound != f.Bound:
		return DeniedChanged
	}
	return ""
}

// closed reports whether the core closed the approval of a task as the person decided, after they
// did. An approval that was closed before was closed by somebody else.
func (a Approval) closed(task string) bool {
	return a.Heard && a.Status == ApprovalApproved && a.ClosedScope == a.Scope && a.ClosedBy == a.By && a.ClosedTask == task
}

// gives reports whether the arguments that the call is about to run with are those of the decision:
// the person's, or the model's if the person gave none.
func (a Approval) gives(f Facts) bool {
	if a.Args == "" {
		return !f.Run.Edited
	}
	return f.Run.Edited && a.Edited != nil && a.Args == f.Args && a.Edited.Bound == f.Run.Bound && a.Edited.Hash == f.Run.Hash
}
