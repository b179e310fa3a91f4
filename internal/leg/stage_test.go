package leg

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/anthropic"
	"github.com/retinue-dev/retinue/internal/model/scripted"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
)

// stage runs agents without an engine. It is one itself, as far as legs need it (runs_test.go); the
// journal lies in memory, and the model is the scripted one behind a provider's real SDK. Waiting
// for a person takes no time: the stage's clock jumps.
type stage struct {
	*testing.T
	runs
	carrier *Carrier
	log     journal.Log
	model   *scripted.Model
	ref     journal.Ref
	// window is how much the model takes.
	window int64
	// folder is where the files are, and workspace what the agents call it.
	folder, workspace string
	// change makes other roles; nil leaves them as they are.
	change func(name string, r *role.Role)
	// rung are the arguments that the bell was rung with.
	rung []string
}

// newStage makes one for a script of the model. Fault hears of the points that the host comes to;
// it may be nil.
func newStage(t *testing.T, script string, fault host.Fault) *stage {
	t.Helper()
	s := &stage{T: t, log: journaltest.NewMemory(), ref: journal.Ref{Tenant: "t", Conversation: "c"}, window: 100_000}
	s.carrier = New(Options{
		Host: host.Options{
			Log: s.log, Catalog: company{s}, Tools: s.shelf(), Name: "w", Logger: slog.New(slog.DiscardHandler), Now: s.now, Fault: fault,
		},
		Models: s.models(script), Live: live.NewLocal(1), Engine: s,
	})
	return s
}

// models is the scripted model, as a provider's SDK reaches it.
func (s *stage) models(script string) model.Client {
	s.Helper()
	parsed, err := scripted.Parse("script", []byte(script))
	s.must(err)
	s.model, err = scripted.New(parsed, scripted.Options{})
	s.must(err)
	server, err := scripted.Listen("127.0.0.1:0", s.model)
	s.must(err)
	s.Cleanup(func() { _ = server.Close() })
	client, err := anthropic.New(anthropic.Options{Key: "key", BaseURL: server.AnthropicURL()})
	s.must(err)
	return client
}

// shelf has the tools for files, in a folder with two of them.
func (s *stage) shelf() host.Toolbox {
	s.Helper()
	s.folder = s.TempDir()
	dir := s.folder
	for _, name := range []string{"plums.md", "pears.md"} {
		s.must(os.WriteFile(filepath.Join(dir, name), []byte("All about "+name+".\n"), 0o600))
	}
	s.must(os.WriteFile(filepath.Join(dir, "long.md"), []byte(strings.Repeat("All about everything.\n", 500)), 0o600))
	w, err := builtin.Open(dir)
	s.must(err)
	s.Cleanup(func() { _ = w.Close() })
	set, err := tool.NewSet(tool.Options{}, append(append(w.Tools(), w.Writing()...), bell{s})...)
	s.must(err)
	return oneShelf{set}
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// play runs a conversation to its end.
func (s *stage) play(message string, later map[time.Duration]func()) {
	s.Helper()
	s.must(s.run(message, later))
}

// run opens a conversation, has the person do something at some times after its begin, and closes
// it after two days. It returns how the orchestrator's run ended.
func (s *stage) run(message string, later map[time.Duration]func()) error {
	s.Helper()
	s.open()
	s.must(s.Start(s.Context(), Begin{RunRef: host.RunRef{Ref: s.ref, Agent: host.Root, Task: host.Root, Workspace: s.workspace}}, "queue"))
	s.after(0, func() { s.say("m1", message, "") })
	for when, do := range later {
		s.after(when, do)
	}
	s.after(48*time.Hour, func() { s.post(journal.MailPosted{ID: TopicClose + ":ann", Topic: TopicClose, To: host.Root}) })
	return s.carry()
}

// open opens the conversation.
func (s *stage) open() {
	s.Helper()
	cast, err := company{s}.ResolveRole(host.Workspace{}, "lead")
	s.must(err)
	brief, err := json.Marshal(agent.Brief{
		Conversation: s.ref.Conversation, Agent: host.Root, Task: host.Root, RoleHash: journal.HashOf(cast.Snapshot),
		Role: "lead", CanDelegate: true, Delegates: []string{"helper"}, Authority: cast.Spec.Authority, Tools: cast.Spec.Tools,
		Limits: agent.OrchestratorLimits(), Model: cast.Spec.Model,
	})
	s.must(err)
	s.must(s.log.Keep(s.Context(), s.ref, cast.Snapshot))
	s.record(journal.Opened{By: "ann"}, journal.TaskAssigned{
		In: journal.In{Agent: host.Root, Task: host.Root}, Role: "lead", RoleHash: journal.HashOf(cast.Snapshot), Brief: brief,
	})
}

// opened opens the conversation and has the person say something.
func (s *stage) opened(words string) {
	s.Helper()
	s.open()
	s.say("m1", words, "")
}

// record appends rows.
func (s *stage) record(rows ...journal.Row) {
	s.Helper()
	_, err := s.log.Append(s.Context(), s.ref, s.now(), rows...)
	s.must(err)
}

// post records mail with its content, and notifies the agent's leg.
func (s *stage) post(p journal.MailPosted, rows ...journal.Row) {
	s.Helper()
	s.record(append(rows, p)...)
	_ = Tell(s.Context(), s, s.log, s.ref, p.To, SignalLook) // an agent that does not run yet looks when it begins
}

// say has the person say something, in reply to a question if one is named.
func (s *stage) say(id, text, question string) {
	s.Helper()
	s.post(journal.MailPosted{ID: TopicMessage + ":" + id, Topic: TopicMessage, To: host.Root}, journal.MessageReceived{
		ID: id, By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: text}}, InReplyTo: question,
	})
}

// cancel has the person stop a task, or everything.
func (s *stage) cancel(task string) {
	s.Helper()
	stop := journal.Stop("x", "ann", task)
	stop.To = host.Root
	s.post(stop)
}

// decide has the person decide about a call, with other arguments if given.
func (s *stage) decide(w journal.ApprovalRequested, allow bool, args string) {
	s.Helper()
	d := journal.ApprovalDecided{In: w.In, Call: w.Call, Hash: w.Hash, Allow: allow, Scope: string(agent.ScopeOnce), By: "ann", Args: args}
	if args != "" {
		reviewed := s.review(w, args)
		if reviewed.Problem != "" {
			s.Fatal(reviewed.Problem)
		}
		var err error
		d.Edited, err = json.Marshal(reviewed.Call)
		s.must(err)
	}
	s.post(journal.MailPosted{ID: TopicDecided + ":" + w.Agent + "#" + w.Call, Topic: TopicDecided, To: w.Agent}, d)
}

// review has arguments looked at that the person would give a call.
func (s *stage) review(w journal.ApprovalRequested, args string) Verdict {
	s.Helper()
	edit := journal.HashOf(args)
	s.record(journal.EditProposed{In: w.In, Call: w.Call, Edit: edit, Args: args, By: "ann"})
	out, err := s.carrier.Review(s.Context(), ReviewInput{RunRef: host.RunRef{Ref: s.ref, Agent: w.Agent, Task: w.Task}, Call: w.Call, Edit: edit})
	s.must(err)
	verdict, err := out.Verdict(s.Context(), s.log, s.ref)
	s.must(err)
	return verdict
}

// allow has the person allow all calls that wait, with other arguments if given.
func (s *stage) allow(args string) {
	s.Helper()
	for _, w := range rowsOf[journal.ApprovalRequested](s) {
		s.decide(w, true, args)
	}
}

// ends is how a call ended, as often as it did.
func (s *stage) ends(agent, call string) (out []journal.CallStatus) {
	s.Helper()
	for _, r := range rowsOf[journal.ToolReturned](s) {
		if r.Agent == agent && r.Call == call {
			out = append(out, r.Status)
		}
	}
	return out
}

// says complains if the orchestrator has answered otherwise. Replies that only call tools are no
// answers.
func (s *stage) says(want ...string) {
	s.Helper()
	messages, err := s.log.Chat(s.Context(), s.ref, journal.Page{})
	s.must(err)
	var got []string
	for _, m := range messages {
		if text := journal.Words(m.Parts); m.Speaker == chat.Assistant && text != "" {
			got = append(got, text)
		}
	}
	if !slices.Equal(got, want) {
		s.Errorf("the orchestrator says %q, want %q", got, want)
	}
}

// rowsOf are the rows of a kind, in order.
func rowsOf[R journal.Row](s *stage) (out []R) {
	s.Helper()
	for after := int64(0); ; {
		page, err := s.log.Entries(s.Context(), s.ref, after, journal.PageMaxLimit)
		s.must(err)
		if len(page) == 0 {
			return out
		}
		for _, e := range page {
			after = e.Seq
			if row, ok := e.Row.(R); ok {
				out = append(out, row)
			}
		}
	}
}

// bell is a tool whose calls must not happen twice.
type bell struct{ stage *stage }

func (bell) Definition() tool.Definition {
	return tool.Definition{
		Name: "ring", Description: "Rings a bell.", Class: chat.ClassOnce, Writes: true,
		Schema: json.RawMessage(`{"type": "object", "properties": {"tone": {"type": "string"}}, "required": ["tone"]}`),
	}
}

func (b bell) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	b.stage.rung = append(b.stage.rung, string(call.Args))
	return tool.Result{Text: "rung", End: tool.EndOK}, nil
}

// oneShelf has the same tools for all agents.
type oneShelf struct{ set *tool.Set }

func (o oneShelf) Tools(host.Workspace, string) (*tool.Set, error) { return o.set, nil }

// company has two roles: lead, who hands work out, and helper, who reads and writes.
type company struct{ stage *stage }

func (c company) role(name string) role.Role {
	tools := []string{"read_file", "ring", "write_file"}
	r := role.Role{
		Name: name, Description: name, Prompt: "You are " + name + ".", Tools: tools,
		Authority: agent.Authority{Tools: tools, Write: true}, Limits: agent.DefaultLimits(), CanAsk: true,
	}
	if c.stage.change != nil {
		c.stage.change(name, &r)
	}
	return r
}

func (c company) ResolveRole(_ host.Workspace, name string) (host.ResolvedRole, error) {
	if !slices.Contains([]string{"lead", "helper"}, name) {
		return host.ResolvedRole{}, &chat.Error{Code: chat.CodeNotFound, Message: "no role " + name}
	}
	r := c.role(name)
	snapshot, err := r.Snapshot()
	spec := r.Spec()
	spec.Model = agent.Model{Name: "test-model", Window: c.stage.window, MaxOutput: 1000}
	return host.ResolvedRole{Spec: spec, Snapshot: string(snapshot)}, err
}

func (company) Script(s host.PromptInput) (host.Prompt, error) {
	return host.Prompt{System: []model.Instruction{{Text: "You are " + s.Brief.Role + "."}}}, nil
}

func (company) Verdict(snapshot, name string, matters []tool.Matter) (agent.Policy, error) {
	return rules{on: &grounds{}}.Verdict(snapshot, name, matters)
}

func (company) Output(snapshot string) (*host.Output, error) {
	r, err := role.Thaw([]byte(snapshot))
	if err != nil {
		return nil, err
	}
	o, err := r.Output()
	if err != nil || o == nil {
		return nil, err
	}
	return &host.Output{Schema: o.Schema, Closed: o.Open == "", Check: o.Check}, nil
}

func (company) Sink(string, []tool.Matter) bool                     { return false }
func (company) Strange(string) bool                                 { return false }
func (company) Compaction([]string) (string, error)                 { return "Sum it up.", nil }
func (company) Resolution(i host.OpenQuestion) (string, error)      { return "Answer " + i.ID, nil }
func (company) Routing(string, []host.OpenQuestion) (string, error) { return "Whose is it?", nil }

// visits counts how often points are come to, from any goroutine.
type visits struct {
	mu sync.Mutex
	n  map[host.Point]int
}

func (v *visits) count(p host.Point) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.n == nil {
		v.n = map[host.Point]int{}
	}
	v.n[p]++
	return v.n[p]
}
