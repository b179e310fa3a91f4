package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/tool"
)

// stand is a host with a conversation in memory, in which one agent has four tools: look reads, put
// writes and names its binding, ring must not happen twice, and build can be probed.
type stand struct {
	*testing.T
	*Host
	run   RunRef
	brief agent.Brief
	// ran are the calls that ran, by tool and arguments.
	ran []string
	// give is the result of every call, and met is called with each, as code inside a tool.
	give tool.Result
	met  func(tool.Call) error
	// binding is the binding of a call, or the error of finding it; happened and told are the
	// answer of a probe.
	binding  string
	unbound  error
	happened tool.Happened
	told     tool.Result
	// policy is what the rules say of each tool, and listed those that the operator listed.
	policy map[string]agent.Policy
	listed map[string]bool
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{
		T: t, give: tool.Result{Text: "done"}, binding: "as it was", policy: map[string]agent.Policy{}, listed: map[string]bool{},
		run: RunRef{Ref: journal.Ref{Tenant: "t", Conversation: "c"}, Agent: Root, Task: Root},
	}
	tools := []string{"build", "look", "put", "ring"}
	var set []tool.Tool
	for _, d := range []tool.Definition{
		{Name: "build", Class: chat.ClassReconcilable, Writes: true},
		{Name: "look", Class: chat.ClassPure},
		{Name: "put", Class: chat.ClassIdempotent, Writes: true},
		{Name: "ring", Class: chat.ClassOnce, Writes: true},
	} {
		d.Description, d.Schema = "Does it.", json.RawMessage(`{"type": "object", "properties": {"at": {"type": "string"}}}`)
		set = append(set, thing{stand: s, d: d})
	}
	s.Host = New(Options{
		Log: journaltest.NewMemory(), Catalog: standRules{stand: s}, Tools: standTools{s.must(tool.NewSet(tool.Options{}, set...))}, Name: "w",
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.UnixMilli(1_800_000_000_000) },
		Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret]") },
	})
	hash, err := s.Keep(t.Context(), s.run.Ref, "the role")
	if err != nil {
		t.Fatal(err)
	}
	s.brief = agent.Brief{
		Conversation: "c", Agent: Root, Task: Root, RoleHash: hash, Tools: tools, Authority: agent.Authority{Tools: tools, Write: true},
	}
	s.record(journal.Opened{By: "ann"}, journal.TaskAssigned{In: s.run.In(), Role: "lead"})
	return s
}

func (s *stand) must(set *tool.Set, err error) *tool.Set {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	return set
}

// record appends rows.
func (s *stand) record(rows ...journal.Row) {
	s.Helper()
	if _, err := s.Host.Log.Append(s.Context(), s.run.Ref, s.Now(), rows...); err != nil {
		s.Fatal(err)
	}
}

// permit is the call 1.0 of a tool, as the core orders it.
func (s *stand) permit(name, args string) Permit {
	s.Helper()
	set, err := s.Set(s.Context(), s.run)
	d, ok := s.must(set, err).Find(name)
	if !ok {
		s.Fatal("no tool " + name)
	}
	return Permit{
		RunRef: s.run, Brief: s.brief,
		Run:  agent.RunTool{Call: "1.0", Tool: name, Class: d.Class, Hash: agent.Digest(name, args).Hash},
		Part: chat.Part{Kind: chat.PartToolUse, Call: "1.0", Tool: name, Args: args},
	}
}

// approve records the request for a call, the person's yes and the end of the approval.
func (s *stand) approve(p Permit, scope agent.Scope) {
	s.Helper()
	s.record(s.approval(p, scope)...)
}

// approval are its rows: the request, the decision and the end.
func (s *stand) approval(p Permit, scope agent.Scope) []journal.Row {
	hash := p.Run.Hash
	if p.Run.Bound != "" {
		hash = p.Run.Bound
	}
	return []journal.Row{
		journal.ApprovalRequested{In: p.In(), Call: p.Run.Call, Tool: p.Run.Tool, Hash: hash, Pattern: p.Run.Tool + " *"},
		journal.ApprovalDecided{In: p.In(), Call: p.Run.Call, Hash: hash, Allow: true, Scope: string(scope), By: "ann"},
		journal.ApprovalClosed{In: p.In(), Call: p.Run.Call, Status: string(agent.ApprovalApproved), Scope: string(scope), By: "ann"},
	}
}

// same complains about a difference.
func (s *stand) same(what string, want, got any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// refusal complains if an error is not the refusal that a model reads.
func (s *stand) refusal(what string, err error, want string) {
	s.Helper()
	if chat.CodeOf(err) != chat.CodeInvalid || Said(err) != want {
		s.Errorf("%s: %v, want the refusal %q", what, err, want)
	}
}

// thing is a tool of a stand.
type thing struct {
	stand *stand
	d     tool.Definition
}

func (t thing) Definition() tool.Definition { return t.d }

func (t thing) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	t.stand.ran = append(t.stand.ran, t.d.Name+" "+string(call.Args))
	if t.stand.met != nil {
		if err := t.stand.met(call); err != nil {
			return tool.Result{}, err
		}
	}
	return t.stand.give, nil
}

func (t thing) About(tool.Call) tool.About { return tool.About{Pattern: t.d.Name + " *"} }

func (t thing) Binding(context.Context, tool.Call) (string, error) {
	return t.stand.binding, t.stand.unbound
}

func (t thing) Probe(context.Context, tool.Call) (tool.Result, tool.Happened, error) {
	return t.stand.told, t.stand.happened, nil
}

// standTools has the same tools for all agents.
type standTools struct{ set *tool.Set }

// standRules are the rules of the one role.
type standRules struct {
	Catalog
	stand *stand
}

func (t standTools) Tools(Workspace, string) (*tool.Set, error) { return t.set, nil }

func (r standRules) Verdict(snapshot, name string, _ []tool.Matter) (agent.Policy, error) {
	if snapshot != "the role" {
		r.stand.Errorf("asked about %s by the rules of %q", name, snapshot)
	}
	return r.stand.policy[name], nil
}

func (r standRules) Sink(name string, _ []tool.Matter) bool { return r.stand.listed[name] }

func (standRules) Strange(path string) bool { return strings.HasPrefix(path, "vendor/") }
