package agent

import (
	"reflect"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
)

// The calls that the tests begin with. Each may run.
func freeCall() Facts {
	return Facts{
		Run:  RunTool{Call: "1.0", Tool: "read_file", Class: chat.ClassIdempotent, Hash: "h"},
		Task: "main/1", Tool: "read_file", Class: chat.ClassIdempotent, Args: `{"path":"a"}`, Hash: "h", Permitted: true,
	}
}

func approvedOnce() Facts {
	return Facts{
		Run:  RunTool{Call: "1.0", Tool: "shell", Class: chat.ClassOnce, Hash: "h", Bound: "b", Approved: true},
		Task: "main/1", Tool: "shell", Class: chat.ClassOnce, Writes: true, Args: `{"command":"make"}`, Hash: "h", Bound: "b", Permitted: true,
		Approval: Approval{
			Task: "main/1", Tool: "shell", Hash: "b", Allowed: true, Scope: ScopeOnce, By: "ann", Heard: true,
			Status: ApprovalApproved, ClosedScope: ScopeOnce, ClosedBy: "ann", ClosedTask: "main/1",
		},
	}
}

func coveredByAnother() Facts {
	f := approvedOnce()
	f.Run.By, f.Pattern, f.Bound = "0.0", "make *", ""
	f.Approval.Pattern, f.Approval.Hash = "make *", "of another"
	f.Approval.Scope, f.Approval.ClosedScope = ScopeTask, ScopeTask
	return f
}

func editedByThePerson() Facts {
	f := approvedOnce()
	f.Run.Edited, f.Args = true, `{"command":"make test"}`
	f.Approval.Args, f.Approval.Edited = f.Args, &Call{Hash: "h", Bound: "b"}
	f.Approval.Hash = "of the model's own"
	return f
}

// TestAuthorise changes one thing about a call that may run, and checks the verdict.
func TestAuthorise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		from   func() Facts
		change func(*Facts)
		want   DenialReason
	}{
		{"a rule denies it", freeCall, func(f *Facts) { f.Policy = PolicyDeny }, DeniedByPolicy},
		{"its role lost the tool", freeCall, func(f *Facts) { f.Permitted = false }, DeniedByPolicy},
		{"a rule asks", freeCall, func(f *Facts) { f.Policy = PolicyAsk }, DeniedUnapproved},
		{"the tool writes now", freeCall, func(f *Facts) { f.Writes = true }, DeniedUnapproved},
		{"the tool reaches the network now", freeCall, func(f *Facts) { f.Network = true }, DeniedUnapproved},
		{"a rule allows what writes", freeCall, func(f *Facts) { f.Writes, f.Policy = true, PolicyAllow }, ""},
		{"a rule allows it, and a stranger spoke", freeCall, func(f *Facts) { f.Policy, f.Barred = PolicyAllow, true }, DeniedUnapproved},
		{"the name leads to another tool", freeCall, func(f *Facts) { f.Tool = "shell" }, DeniedChanged},
		{"the tool has another class", freeCall, func(f *Facts) { f.Class = chat.ClassOnce }, DeniedChanged},
		{"other arguments", freeCall, func(f *Facts) { f.Hash = "other" }, DeniedChanged},
		{"it began, and a rule asks now", freeCall, func(f *Facts) { f.Policy, f.Began = PolicyAsk, true }, ""},
		{"it ended, and a rule asks now", freeCall, func(f *Facts) { f.Policy, f.Began, f.Ended = PolicyAsk, true, true }, DeniedUnapproved},
		{"it began with other arguments", freeCall, func(f *Facts) { f.Began, f.Hash = true, "other" }, DeniedChanged},

		{"a rule denies what was allowed", approvedOnce, func(f *Facts) { f.Policy = PolicyDeny }, DeniedByPolicy},
		{"a stranger spoke after the yes", approvedOnce, func(f *Facts) { f.Barred = true }, ""},
		{"a stranger spoke, and the yes bound nothing", approvedOnce, func(f *Facts) {
			f.Barred, f.Run.Bound, f.Approval.Hash = true, "", "h"
		}, DeniedUnapproved},
		{"nothing was bound", approvedOnce, func(f *Facts) { f.Run.Bound, f.Approval.Hash = "", "h" }, ""},
		{"a file has changed", approvedOnce, func(f *Facts) { f.Bound = "other" }, DeniedChanged},
		{"what it would do cannot be found out", approvedOnce, func(f *Facts) { f.Bound = "" }, DeniedChanged},
		{"the order is for something else", approvedOnce, func(f *Facts) { f.Run.Bound, f.Bound = "other", "other" }, DeniedUnapproved},
		{"the order says that it covers another call", approvedOnce, func(f *Facts) { f.Run.By = "0.0" }, DeniedUnapproved},
		{"the order says that it was edited", approvedOnce, func(f *Facts) { f.Run.Edited = true }, DeniedUnapproved},
		{"it ended before it began", approvedOnce, func(f *Facts) { f.Ended = true }, DeniedUnapproved},
		{"it began, and a file has changed", approvedOnce, func(f *Facts) { f.Began, f.Bound = true, "other" }, ""},
		{"it did not happen, and a file has changed", approvedOnce, func(f *Facts) { f.Began, f.Probed, f.Bound = true, true, "other" }, DeniedChanged},
		{"the core says another person", approvedOnce, func(f *Facts) { f.Approval.ClosedBy = "bob" }, DeniedUnapproved},
		{"the core says more than the person", approvedOnce, func(f *Facts) { f.Approval.ClosedScope = ScopeChat }, DeniedUnapproved},
		{"the core says no", approvedOnce, func(f *Facts) { f.Approval.Status = ApprovalExpired }, DeniedUnapproved},
		{"another task's approval", approvedOnce, func(f *Facts) { f.Approval.Task = "main/2" }, DeniedUnapproved},

		{"allowed for the chat", coveredByAnother, func(f *Facts) { f.Approval.Scope, f.Approval.ClosedScope = ScopeChat, ScopeChat }, ""},
		{"it is like something else now", coveredByAnother, func(f *Facts) { f.Pattern = "sh *" }, DeniedChanged},
		{"it is like nothing", coveredByAnother, func(f *Facts) { f.Pattern, f.Approval.Pattern = "", "" }, DeniedChanged},
		{"a stranger spoke", coveredByAnother, func(f *Facts) { f.Barred = true }, DeniedUnapproved},
		{"the yes was for the other call only", coveredByAnother, func(f *Facts) {
			f.Approval.Scope, f.Approval.ClosedScope = ScopeOnce, ScopeOnce
		}, DeniedUnapproved},
		{"the order says that it was edited, widely", coveredByAnother, func(f *Facts) { f.Run.Edited = true }, DeniedUnapproved},

		{"the model's arguments after all", editedByThePerson, func(f *Facts) { f.Run.Edited = false }, DeniedUnapproved},
		{"neither the model's nor the person's", editedByThePerson, func(f *Facts) { f.Args = `{}` }, DeniedUnapproved},
		{"bound to something else", editedByThePerson, func(f *Facts) { f.Approval.Edited.Bound = "other" }, DeniedUnapproved},
		{"with the hash of something else", editedByThePerson, func(f *Facts) { f.Approval.Edited.Hash = "other" }, DeniedUnapproved},
		{"a file has changed since the edit", editedByThePerson, func(f *Facts) { f.Bound = "other" }, DeniedChanged},
	} {
		f := c.from()
		if got := Authorise(f); got != "" {
			t.Errorf("before %q: %s", c.name, got)
		}
		c.change(&f)
		if got := Authorise(f); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAnApprovalNeedsEachOfItsFacts takes away one thing after another that is on record of an
// approval.
func TestAnApprovalNeedsEachOfItsFacts(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func() Facts{"once": approvedOnce, "covered": coveredByAnother, "edited": editedByThePerson} {
		for i := range reflect.TypeFor[Approval]().NumField() {
			f := from()
			field := reflect.ValueOf(&f.Approval).Elem().Field(i)
			what := reflect.TypeFor[Approval]().Field(i).Name
			if field.IsZero() || what == "Hash" && name != "once" { // of the other call, and of the model's own arguments
				continue
			}
			field.SetZero()
			if Authorise(f) == "" {
				t.Errorf("%s: the call runs without %s", name, what)
			}
		}
	}
}
