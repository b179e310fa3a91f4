package durable

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/leg"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/anthropic"
	"github.com/retinue-dev/retinue/internal/model/scripted"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
)

// stage runs agents without an engine's server. The SDK's test suite carries the workflows, the
// journal lies in memory, and the model is the scripted one behind a provider's real SDK. Waiting
// for a person takes no time: the suite's clock jumps.
type stage struct {
	*testing.T
	env     *testsuite.TestWorkflowEnvironment
	carrier *leg.Carrier
	does    *activities
	client  *Client
	log     journal.Log
	model   *scripted.Model
	ref     journal.Ref
	// window is how much the model takes.
	window int64
	// rung are the arguments that the bell was rung with.
	rung []string

	mu sync.Mutex
	// running are the workflows that have been started and have not ended.
	running map[string]bool
}

// newStage makes one for a script of the model. host.Fault hears of the points that the host comes
// to; it may be nil.
func newStage(t *testing.T, script string, fault host.Fault) *stage {
	t.Helper()
	s := &stage{T: t, log: journaltest.NewMemory(), ref: journal.Ref{Tenant: "t", Conversation: "c"}, window: 100_000}
	quiet := slog.New(slog.DiscardHandler)
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(log.NewStructuredLogger(quiet))
	s.env = suite.NewTestWorkflowEnvironment()
	s.env.SetTestTimeout(time.Minute)
	s.env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&waiting{}}})
	s.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: director, TaskQueue: controlQueue})
	s.carrier = leg.New(leg.Options{
		Host: host.Options{
			Log: s.log, Catalog: company{s}, Tools: s.shelf(), Name: "w", Logger: quiet, Now: s.env.Now, Fault: fault,
		},
		Models: s.models(script), Live: live.NewLocal(1), Engine: Runs{playedEngine{stage: s}},
	})
	s.client = &Client{Log: s.log, Engine: playedEngine{stage: s}, Logger: quiet, Now: s.env.Now}
	s.does = &activities{engine: playedEngine{stage: s}, carrier: s.carrier}
	s.env.RegisterActivityWithOptions(s.does.leg, activity.RegisterOptions{Name: activityLeg})
	s.env.RegisterActivityWithOptions(s.does.recordBroken, activity.RegisterOptions{Name: activityRecordBroken})
	s.env.RegisterWorkflowWithOptions(s.does.agent, workflow.RegisterOptions{Name: workflowAgent})
	s.env.RegisterWorkflowWithOptions(s.direct, workflow.RegisterOptions{Name: director})
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
	dir := s.TempDir()
	for _, name := range []string{"plums.md", "pears.md"} {
		s.must(os.WriteFile(filepath.Join(dir, name), []byte("All about "+name+".\n"), 0o600))
	}
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
// it after two days. It returns how the orchestrator's workflow ended.
func (s *stage) run(message string, later map[time.Duration]func()) error {
	s.Helper()
	s.open()
	at := func(when time.Duration, do func()) { s.env.RegisterDelayedCallback(do, when) }
	at(0, func() { s.say("m1", message, "") })
	for when, do := range later {
		at(when, do)
	}
	at(48*time.Hour, func() { s.must(s.client.Close(s.Context(), s.ref, "ann")) })
	_, begin, err := s.client.beginning(s.Context(), s.ref)
	s.must(err)
	s.running = map[string]bool{host.RunID(s.ref, host.Root): true}
	s.env.ExecuteWorkflow(director, begin)
	return s.env.GetWorkflowError()
}

// open opens the conversation.
func (s *stage) open() {
	s.Helper()
	cast, err := company{s}.ResolveRole(host.Workspace{}, "lead")
	s.must(err)
	s.must(s.client.Open(s.Context(), s.ref, New{By: "ann", Snapshot: cast.Snapshot, Brief: agent.Brief{
		Role: "lead", CanDelegate: true, Delegates: []string{"helper"}, Authority: cast.Spec.Authority, Tools: cast.Spec.Tools,
		Limits: agent.OrchestratorLimits(), Model: cast.Spec.Model,
	}}))
}

// director is the workflow that starts the others, which is how the suite runs several.
const director = "director"

// order is an order for the director: to start an agent, or to signal one.
type order struct {
	Begin  *leg.Begin
	ID     string
	Signal string
}

// direct runs the orchestrator, and the agents that are to have a run of their own until the
// orchestrator has ended. The suite takes signals for one workflow only from other goroutines, so
// it brings those for the others.
func (s *stage) direct(ctx workflow.Context, root leg.Begin) error {
	var err error
	over := false
	selector := workflow.NewSelector(ctx)
	start := func(in leg.Begin, end func(error)) {
		id := host.RunID(in.Ref, in.Task)
		child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id}), workflowAgent, in)
		_ = child.GetChildWorkflowExecution().Get(ctx, nil) // before that the suite takes no signal for it
		selector.AddFuture(child, func(f workflow.Future) {
			s.runs(id, false)
			end(f.Get(ctx, nil))
		})
	}
	start(root, func(e error) { err, over = e, true })
	selector.AddReceive(workflow.GetSignalChannel(ctx, director), func(c workflow.ReceiveChannel, _ bool) {
		var o order
		switch c.ReceiveAsync(&o); {
		case o.Begin != nil:
			start(*o.Begin, func(error) {}) // its parent learns of it by mail
		default:
			workflow.SignalExternalWorkflow(ctx, o.ID, "", o.Signal, nil)
		}
	})
	for !over {
		selector.Select(ctx)
	}
	return err
}

// runs notes whether a workflow runs, and reports whether it did before.
func (s *stage) runs(id string, now bool) (before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.running[id]
	s.running[id] = now
	return before
}

// look has the orchestrator look at its mail.
func (s *stage) look() {
	s.env.SignalWorkflow(director, order{ID: host.RunID(s.ref, host.Root), Signal: signalLook})
}

// decide has the person decide about a call.
func (s *stage) decide(w journal.ApprovalRequested, allow bool) {
	s.Helper()
	s.must(s.client.Decide(s.Context(), s.ref, journal.ApprovalDecided{
		In: w.In, Call: w.Call, Hash: w.Hash, Allow: allow, Scope: string(agent.ScopeOnce), By: "ann",
	}))
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

// say has the person say something, in reply to a question if one is named.
func (s *stage) say(id, text, question string) {
	s.Helper()
	_, err := s.client.Say(s.Context(), s.ref, Message{
		ID: id, By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: text}}, InReplyTo: question,
	})
	s.must(err)
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

// waiting makes the suite wait for a leg that is cancelled, as an engine does. By itself the suite
// continues the workflow at once, and two legs run. The leg is notified in any case.
type waiting struct {
	interceptor.WorkerInterceptorBase
}

func (*waiting) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &waitingIn{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type waitingIn struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (w *waitingIn) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return w.Next.Init(&waitingOut{interceptor.WorkflowOutboundInterceptorBase{Next: next}})
}

type waitingOut struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (w *waitingOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	uncancelled, _ := workflow.NewDisconnectedContext(ctx)
	return w.Next.ExecuteActivity(uncancelled, name, args...)
}

// playedEngine is the suite as an engine's client.
type playedEngine struct {
	client.Client
	stage *stage
}

func (e playedEngine) RecordActivityHeartbeat(context.Context, []byte, ...any) error { return nil }

func (e playedEngine) SignalWorkflow(_ context.Context, id, _, signal string, _ any) error {
	e.stage.mu.Lock()
	runs := e.stage.running[id]
	e.stage.mu.Unlock()
	if !runs {
		return serviceerror.NewNotFound("it does not run")
	}
	e.stage.env.SignalWorkflow(director, order{ID: id, Signal: signal})
	return nil
}

func (e playedEngine) SignalWithStartWorkflow(
	context.Context, string, string, any, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	e.stage.look()
	return nil, nil //nolint:nilnil // nobody looks at it
}

// ExecuteWorkflow starts an agent that does not run, or has arguments looked at.
func (e playedEngine) ExecuteWorkflow(ctx context.Context, _ client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	if begin, ok := args[0].(leg.Begin); ok {
		if !e.stage.runs(host.RunID(begin.Ref, begin.Task), true) {
			e.stage.env.SignalWorkflow(director, order{Begin: &begin})
		}
		return nil, nil //nolint:nilnil // nobody looks at it
	}
	in, _ := args[0].(leg.ReviewInput)
	out, err := e.stage.does.review(ctx, in)
	return reviewRun{out: out}, err
}

func (e playedEngine) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if e.stage.env.IsWorkflowCompleted() {
		return nil, serviceerror.NewNotFound("it has ended")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
	}, nil
}

type reviewRun struct {
	client.WorkflowRun
	out leg.Reviewed
}

func (r reviewRun) Get(_ context.Context, into any) error {
	out, _ := into.(*leg.Reviewed)
	*out = r.out
	return nil
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

func (company) role(name string) role.Role {
	tools := []string{"read_file", "ring", "write_file"}
	return role.Role{
		Name: name, Description: name, Prompt: "You are " + name + ".", Tools: tools,
		Authority: agent.Authority{Tools: tools, Write: true}, Limits: agent.DefaultLimits(), CanAsk: true,
	}
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
	r, err := role.Thaw([]byte(snapshot))
	if err != nil {
		return agent.PolicyAsk, err
	}
	list := make([]role.Matter, len(matters))
	for i, m := range matters {
		list[i] = role.Matter(m)
	}
	return r.Judge(name, list), nil
}

func (company) Output(string) (*host.Output, error)                 { return nil, nil } //nolint:nilnil // anything goes
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
