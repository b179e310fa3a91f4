package host

import (
	"context"
	"errors"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

const atPlums = `{"at":"plums"}`

// TestAuthorise has one call about to run, with something else on record or in force each time.
func TestAuthorise(t *testing.T) {
	approved := func(scope agent.Scope) func(*stand, *Permit) {
		return func(s *stand, p *Permit) {
			p.Run.Approved = true
			s.approve(*p, scope)
		}
	}
	bound := func(s *stand, p *Permit) {
		set, _ := s.Set(s.Context(), s.run)
		var err error
		p.Run.Approved = true
		p.Run.Bound, err = s.Bound(s.Context(), s.brief, set, p.Run.Tool, s.ToolCall(s.Context(), s.run, p.Part))
		if err != nil || p.Run.Bound == "" {
			s.Fatalf("bound to %q, %v", p.Run.Bound, err)
		}
		s.approve(*p, agent.ScopeOnce)
	}
	tainted := func(s *stand, p *Permit) {
		s.record(journal.Tainted{In: p.In(), Sources: []journal.Source{{Kind: "web", Name: "example.com"}}})
	}
	for name, c := range map[string]struct {
		tool   string
		record []func(*stand, *Permit)
		want   agent.DenialReason
	}{
		"what reads needs nobody":  {tool: "look"},
		"what writes needs a yes":  {want: agent.DeniedUnapproved},
		"a rule allows it":         {record: []func(*stand, *Permit){func(s *stand, _ *Permit) { s.policy["put"] = agent.PolicyAllow }}},
		"a rule denies what reads": {tool: "look", record: []func(*stand, *Permit){func(s *stand, _ *Permit) { s.policy["look"] = agent.PolicyDeny }}, want: agent.DeniedByPolicy},
		"a rule denies what a person allowed": {
			record: []func(*stand, *Permit){approved(agent.ScopeOnce), func(s *stand, _ *Permit) { s.policy["put"] = agent.PolicyDeny }}, want: agent.DeniedByPolicy,
		},
		"the agent has no such tool": {
			tool: "look", record: []func(*stand, *Permit){func(_ *stand, p *Permit) { p.Brief.Tools = []string{"put"} }}, want: agent.DeniedByPolicy,
		},
		"a rule allows it to an agent that read a page": {
			record: []func(*stand, *Permit){tainted, func(s *stand, _ *Permit) { s.policy["put"] = agent.PolicyAllow }}, want: agent.DeniedUnapproved,
		},
		"the operator listed it for such agents": {
			record: []func(*stand, *Permit){tainted, func(s *stand, _ *Permit) { s.policy["put"], s.listed["put"] = agent.PolicyAllow, true }},
		},
		"a person allowed it":        {record: []func(*stand, *Permit){approved(agent.ScopeOnce)}},
		"the engine says it alone":   {record: []func(*stand, *Permit){func(_ *stand, p *Permit) { p.Run.Approved = true }}, want: agent.DeniedUnapproved},
		"the trail has no such yes":  {record: []func(*stand, *Permit){approved(agent.ScopeOnce), func(s *stand, _ *Permit) { s.Witness = witness{} }}, want: agent.DeniedUnapproved},
		"the trail has the same yes": {record: []func(*stand, *Permit){approved(agent.ScopeOnce), func(s *stand, _ *Permit) { s.Witness = witness{on: true} }}},
		"a person was shown another call": {
			record: []func(*stand, *Permit){func(s *stand, p *Permit) {
				p.Run.Approved = true
				s.approve(s.permit("put", `{"at":"pears"}`), agent.ScopeOnce)
			}}, want: agent.DeniedUnapproved,
		},
		"a person said no, the engine yes": {record: []func(*stand, *Permit){decided(func(d *journal.ApprovalDecided) { d.Allow = false })}, want: agent.DeniedUnapproved},
		"nobody said it":                   {record: []func(*stand, *Permit){decided(func(d *journal.ApprovalDecided) { d.By = "" })}, want: agent.DeniedUnapproved},
		"a person decided about another":   {record: []func(*stand, *Permit){decided(func(d *journal.ApprovalDecided) { d.Hash = "other" })}, want: agent.DeniedUnapproved},
		"the approval was closed before": {
			record: []func(*stand, *Permit){func(s *stand, p *Permit) {
				p.Run.Approved = true
				rows := s.approval(*p, agent.ScopeOnce)
				s.record(rows[0], rows[2], rows[1])
			}}, want: agent.DeniedUnapproved,
		},
		"the arguments are others now": {
			record: []func(*stand, *Permit){approved(agent.ScopeOnce), func(_ *stand, p *Permit) { p.Part.Args = `{"at":"pears"}` }}, want: agent.DeniedChanged,
		},
		"it would do the same still":      {record: []func(*stand, *Permit){bound}},
		"it would do something else now":  {record: []func(*stand, *Permit){bound, func(s *stand, _ *Permit) { s.binding = "changed" }}, want: agent.DeniedChanged},
		"its tool would refuse it now":    {record: []func(*stand, *Permit){bound, func(s *stand, _ *Permit) { s.unbound = &chat.Error{Code: chat.CodeInvalid, Message: "no"} }}, want: agent.DeniedChanged},
		"what it would do nobody can say": {record: []func(*stand, *Permit){bound, func(s *stand, _ *Permit) { s.unbound = errors.New("disk") }}, want: agent.DeniedChanged},
		"it ended already": {
			record: []func(*stand, *Permit){approved(agent.ScopeOnce), func(s *stand, p *Permit) {
				s.record(journal.ToolReturned{In: p.In(), Call: p.Run.Call, Status: journal.CallCompleted})
			}}, want: agent.DeniedUnapproved,
		},
		"it began under rules that allowed it": {record: []func(*stand, *Permit){func(s *stand, p *Permit) { s.record(p.Started("w")) }}},
		"all like it are allowed in the chat": {
			record: []func(*stand, *Permit){granted(agent.ScopeChat)},
		},
		"the row that says so is older than the decision": {
			record: []func(*stand, *Permit){func(s *stand, p *Permit) {
				s.record(journal.Granted{In: p.In(), Call: "0.0", Tool: p.Run.Tool, Pattern: p.Run.Tool + " *"})
				earlier := *p
				earlier.Run.Call = "0.0"
				s.approve(earlier, agent.ScopeChat)
			}}, want: agent.DeniedUnapproved,
		},
		"only one like it was allowed, the row says more": {
			record: []func(*stand, *Permit){granted(agent.ScopeOnce)}, want: agent.DeniedUnapproved,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			if c.tool == "" {
				c.tool = "put"
			}
			p := s.permit(c.tool, atPlums)
			for _, do := range c.record {
				do(s, &p)
			}
			got, err := s.Authorise(t.Context(), p)
			if got != c.want || err != nil {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
}

// decided records an approval with another decision.
func decided(change func(*journal.ApprovalDecided)) func(*stand, *Permit) {
	return func(s *stand, p *Permit) {
		p.Run.Approved = true
		rows := s.approval(*p, agent.ScopeOnce)
		d, _ := rows[1].(journal.ApprovalDecided)
		closed, _ := rows[2].(journal.ApprovalClosed)
		change(&d)
		closed.By = d.By
		rows[1], rows[2] = d, closed
		s.record(rows...)
	}
}

// granted records that an earlier call was allowed as far as a scope goes, and that all like it
// are.
func granted(scope agent.Scope) func(*stand, *Permit) {
	return func(s *stand, p *Permit) {
		earlier := *p
		earlier.Run.Call = "0.0"
		s.approve(earlier, scope)
		s.record(journal.Granted{In: p.In(), Call: "0.0", Tool: p.Run.Tool, Pattern: p.Run.Tool + " *"})
	}
}

// TestAuthoriseWithoutTheTrail tries a call while nobody can look at the audit trail: it does not
// pass.
func TestAuthoriseWithoutTheTrail(t *testing.T) {
	s := newStand(t)
	p := s.permit("put", atPlums)
	p.Run.Approved = true
	s.approve(p, agent.ScopeOnce)
	gone := &chat.Error{Code: chat.CodeDenied, Message: "the trail is closed"}
	s.Witness = witness{err: gone}
	if reason, err := s.Authorise(t.Context(), p); reason != "" || !errors.Is(err, gone) {
		t.Errorf("%q, %v", reason, err)
	}
	end := s.RunApproved(t.Context(), p)
	row, _ := end.Rows[0].(journal.ToolReturned)
	s.same("the result", journal.ToolReturned{
		In: p.In(), Call: "1.0", Status: journal.CallFailed, Text: "Not carried out: whether it may be could not be found out: the trail is closed",
	}, row)
	s.same("the calls that ran", []string(nil), s.ran)
}

// TestEditedIsWhatThePersonGave reads decisions with and without arguments of the person's.
func TestEditedIsWhatThePersonGave(t *testing.T) {
	s := newStand(t)
	if call, err := Edited(journal.ApprovalDecided{}); call != nil || err != nil {
		t.Errorf("a plain yes gives %+v, %v", call, err)
	}
	call, err := Edited(journal.ApprovalDecided{Args: atPlums, Edited: []byte(`{"tool":"put","hash":"h"}`)})
	if err != nil {
		t.Fatal(err)
	}
	s.same("the call", &agent.Call{Tool: "put", Hash: "h"}, call)
	if call, err := Edited(journal.ApprovalDecided{Args: atPlums, Edited: []byte(`[]`)}); call != nil || err == nil {
		t.Errorf("what cannot be read gives %+v, %v", call, err)
	}
}

// witness is a trail on which every decision is, or none.
type witness struct {
	on  bool
	err error
}

func (w witness) Witnessed(context.Context, journal.Ref, journal.ApprovalDecided) (bool, error) {
	return w.on, w.err
}
