package leg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/model"
)

// begin makes the first event of a task out of what its parent wrote down.
func (l *leg) begin(ctx context.Context) (agent.Begun, error) {
	t, err := l.cache.assignment(ctx)
	if err != nil {
		return agent.Begun{}, err
	}
	e := agent.Begun{At: l.At(), Tokens: host.Tokens(t.Instruction)}
	if err := json.Unmarshal(t.Brief, &e.Brief); err != nil {
		return e, fmt.Errorf("read the brief of %s: %w", l.in.Task, err)
	}
	if l.in.Slots > 0 {
		e.Brief.Limits.Slots, e.Brief.Limits.Time = l.in.Slots, l.in.Time
	}
	if e.Brief.Resumed {
		calls, err := l.Log.ModelCalls(ctx, l.in.Ref, l.in.Agent, journal.Page{Limit: 1})
		if err != nil {
			return e, err
		}
		for _, c := range calls {
			e.From = c.Turn
		}
	}
	script, err := l.prompt(ctx, e.Brief)
	if err != nil {
		return e, err
	}
	for _, s := range script.System {
		e.Tokens += host.Tokens(s.Text)
	}
	e.Tokens += l.offeredTokens(ctx, e.Brief)
	return e, nil
}

// offeredTokens estimates the size of an agent's tool descriptions in its context. They are sent
// with every call, and often are most of the first one.
func (l *leg) offeredTokens(ctx context.Context, brief agent.Brief) (sum int64) {
	names := agent.Offer(agent.State{Brief: brief}, agent.TurnNormal)
	offered, err := l.offer(ctx, brief, names)
	if err != nil { // the call itself will say so
		offered = offerOwn(names)
	}
	for _, t := range offered {
		sum += host.Tokens(t.Name) + host.Tokens(t.Description) + host.Tokens(string(t.Schema))
	}
	return sum
}

// prompt is the agent's prompt before its transcript.
func (l *leg) prompt(ctx context.Context, brief agent.Brief) (host.Prompt, error) {
	t, err := l.cache.assignment(ctx)
	if err != nil {
		return host.Prompt{}, err
	}
	snapshot, err := l.Text(ctx, l.in.Ref, brief.RoleHash)
	if err != nil {
		return host.Prompt{}, fmt.Errorf("read the role of %s: %w", l.in.Task, err)
	}
	return l.Catalog.Script(host.PromptInput{
		Workspace: l.in.At(), Tree: host.TreeName(l.in.Ref, brief.Tree), Snapshot: snapshot, Brief: brief, ParentRole: t.parentRole, Task: t.Instruction,
		Criteria: t.Criteria, Files: t.Files, Began: t.at,
	})
}

// prepare readies a local effect: it returns the rows to write first, and how to begin.
func (l *leg) prepare(ctx context.Context, effect agent.Effect) ([]journal.Row, func(), error) {
	switch e := effect.(type) {
	case agent.CallModel:
		return l.prepareModel(ctx, e)
	case agent.CallSide:
		return l.prepareSide(ctx, e)
	case agent.RunTool:
		return l.prepareTool(ctx, e)
	case agent.StartChild:
		return nil, l.prepareChild(ctx, e), nil
	default:
		return nil, nil, fmt.Errorf("no way to carry out %s in a leg", agent.EffectName(effect))
	}
}

// launch begins a local effect.
func (l *leg) launch(ctx context.Context, effect agent.Effect, run func(context.Context) completion) func() {
	return func() { l.inBackground(ctx, effect.Key(), effect, run) }
}

// inBackground runs an effect beside the leg, which handles its end.
func (l *leg) inBackground(ctx context.Context, key string, effect agent.Effect, run func(context.Context) completion) {
	flying, cancel := context.WithCancelCause(ctx)
	l.running[key] = &effectRun{effect: effect, began: l.Now(), cancel: cancel}
	l.flying.Go(func() {
		defer cancel(nil)
		end := completion{err: fmt.Errorf("%s panicked", key)}
		defer func() {
			if p := recover(); p != nil { // the worker has other agents too
				l.Logger.ErrorContext(ctx, "an effect panicked", "agent", l.in.Agent, "effect", key, "panic", p, "stack", string(debug.Stack()))
			}
			end.key = key
			l.hand(ctx, end)
		}()
		end = run(flying)
	})
}

// hand passes an event to the leg, if the leg still runs.
func (l *leg) hand(ctx context.Context, end completion) {
	select {
	case l.landed <- end:
	case <-ctx.Done():
	}
}

// end is an effect that is over before it began.
func (l *leg) end(effect agent.Effect, event agent.Event) func() {
	return func() {
		l.running[effect.Key()] = &effectRun{effect: effect, cancel: func(error) {}}
		l.landed <- completion{key: effect.Key(), event: event}
	}
}

// callName names a model call. One that an earlier leg may have made gets another name, since that
// call's use is unknown. The earlier leg recorded the request before it sent it, so a call without
// a row was never made.
func (l *leg) callName(ctx context.Context, e agent.CallModel) (string, error) {
	first := callOf(e)
	if !l.doubtful[e.Key()] {
		return first, nil
	}
	key := journal.ModelCalled{In: l.in.In(), Call: first}.Key()
	rows, err := l.cache.look(ctx, key)
	if err != nil || rows[key] == nil {
		return first, err
	}
	return first + "~" + l.family.watch.Name, nil
}

// callOf names a model call when it is made first.
func callOf(e agent.CallModel) string { return fmt.Sprintf("%d.%d", e.Turn, e.Attempt) }

func (l *leg) prepareModel(ctx context.Context, e agent.CallModel) ([]journal.Row, func(), error) {
	failed := agent.ModelFailed{At: l.At(), Turn: e.Turn, Attempt: e.Attempt, Kind: chat.KindInternal}
	req, err := l.request(ctx, e)
	if err != nil && !host.Refused(err) {
		return nil, nil, err
	}
	if err != nil {
		l.Logger.ErrorContext(ctx, "cannot make a request", "agent", l.in.Agent, "turn", e.Turn, "error", err)
		return nil, l.end(e, failed), nil
	}
	prompt, err := l.keepPrompt(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	name, err := l.callName(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	row := journal.ModelCalled{
		In: l.in.In(), Call: name, Type: l.requestType(e.Kind),
		Turn: e.Turn, Attempt: e.Attempt, Model: req.Model, Prompt: prompt, ContextTokens: l.position.State.Context,
		HoldTokens: e.HoldTokens, HoldCost: e.HoldCost,
	}
	pays := l.newCallBudget(e, e.HoldCost+l.position.State.Cost.Left())
	if err := l.payLost(ctx, e, row, pays); err != nil {
		return nil, nil, err
	}
	l.pays, req.Budget, req.Before = pays, pays, l.counted()
	brief := l.position.State.Brief
	return []journal.Row{row}, l.launch(ctx, e, func(ctx context.Context) completion {
		reply, responded, failure := l.generate(ctx, req, row.Call, replyMark+strconv.Itoa(e.Turn))
		responded = pays.on(responded)
		if failure != nil {
			failed := failed
			failed.At, failed.Kind, failed.Usage = l.At(), failure.Kind, responded.Usage
			failed.RetryAfter, failed.Waited = failure.RetryAfter.Milliseconds(), failure.Waited.Milliseconds()
			return pays.charge(completion{event: failed, rows: []journal.Row{responded}})
		}
		if e.Kind == agent.TurnCompact {
			return pays.charge(l.compacted(ctx, e, brief, req, reply, responded))
		}
		l.count(req.Counted(reply))
		return pays.charge(l.replied(ctx, e, brief, reply, responded))
	}), nil
}

func (l *leg) requestType(kind agent.TurnKind) journal.RequestType {
	switch {
	case kind == agent.TurnCompact:
		return journal.RequestCompaction
	case l.position.State.Progress.Iterations == 0:
		return journal.RequestPrompt
	default:
		return journal.RequestContinuation
	}
}

// request is everything that the model is sent.
func (l *leg) request(ctx context.Context, e agent.CallModel) (model.Request, error) {
	brief := l.position.State.Brief
	script, err := l.prompt(ctx, brief)
	if err != nil {
		return model.Request{}, err
	}
	messages, err := l.cache.transcript(ctx)
	if err != nil {
		return model.Request{}, err
	}
	messages = slices.Clone(messages)
	if e.Kind == agent.TurnCompact {
		text, err := l.Catalog.Compaction(e.Pins)
		if err != nil {
			return model.Request{}, err
		}
		messages = append(messages, chat.Message{
			ID: "ask", Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: text}},
		})
	}
	offered, err := l.offer(ctx, brief, agent.Offer(l.position.State, e.Kind))
	if err != nil {
		return model.Request{}, err
	}
	transcript, images, err := l.illustrate(ctx, chat.Join(messages))
	return model.Request{
		Model: brief.Model.Name, System: script.System, Tools: offered, Transcript: transcript, Images: images,
		Turn: e.Turn, MaxOutput: e.MaxOutput, Temperature: script.Temperature, Effort: script.Effort,
		Caller: l.caller(),
	}, err
}

func (l *leg) caller() model.Caller {
	return model.Caller{
		Tenant: l.in.Ref.Tenant, Conversation: l.in.Ref.Conversation, Agent: l.in.Agent,
		Background: l.in.Agent != host.Root,
	}
}

// keepPrompt stores the instructions of a request and returns their hash.
func (l *leg) keepPrompt(ctx context.Context, req model.Request) (string, error) {
	var texts []string
	for _, s := range req.System {
		texts = append(texts, s.Text)
	}
	return l.Keep(ctx, l.in.Ref, strings.Join(texts, "\n\n"))
}

// generate makes a model call and reports its usage. Deltas go out while it runs.
func (l *leg) generate(
	ctx context.Context, req model.Request, call, message string,
) (model.Reply, journal.ModelReplied, *model.Error) {
	began := l.Now()
	var told func(model.Delta)
	if message != "" {
		feed, take := live.NewFeed(l.Live, live.Delta{
			Topic: topic(l.in.Ref), Agent: l.in.Agent, Message: message, Began: began.UnixNano(),
		}), 0
		told = func(d model.Delta) {
			if d.Attempt > take {
				take = d.Attempt
				feed.Restart(l.Now().UnixNano())
			}
			feed.Write(d.Part, d.Kind, d.Tool, d.Text)
		}
	}
	l.point(host.PointModelCall)
	ctx, ended := l.Observer.Model(ctx, l.in.RunRef, req)
	reply, err := l.Models.Generate(ctx, req, told)
	l.point(host.PointModelCalled)
	row := journal.ModelReplied{In: l.in.In(), Call: call, Duration: l.Now().Sub(began).Milliseconds()}
	if err == nil {
		row.Status, row.Stop, row.Model, row.Provider = chat.StatusCompleted, string(reply.Stop), reply.Name, reply.ID
		row.First, row.Waited = reply.First.Milliseconds(), reply.Waited.Milliseconds()
		row.Usage, row.Unmetered = total(reply.Usage, reply.Estimated, reply.Tries)
		row.Tries = triesOf(reply.Tries)
		if row.Model == "" {
			row.Model = reply.Model
		}
		ended(reply, nil)
		return reply, row, nil
	}
	var failure *model.Error
	if !errors.As(err, &failure) {
		failure = &model.Error{Kind: chat.KindInternal, Message: "the model's adapter failed", Cause: err}
	}
	ended(model.Reply{}, failure)
	row.Status, row.ErrorKind, row.Message = failure.Kind.Status(), failure.Kind, failure.Message
	row.Waited, row.RetryAfter = failure.Waited.Milliseconds(), failure.RetryAfter.Milliseconds()
	row.Usage, row.Unmetered = total(failure.Usage, failure.Unmetered, failure.Tries)
	row.Tries = triesOf(failure.Tries)
	return model.Reply{}, row, failure
}

// mostTries is how many sendings of a call are recorded, the last ones.
const mostTries = 20

func triesOf(tries []model.Try) (out []journal.Try) {
	for _, t := range tries[max(0, len(tries)-mostTries):] {
		out = append(out, journal.Try{Model: t.Name, Kind: t.Kind})
	}
	return out
}

// total adds what earlier sendings of the same call used.
func total(u chat.Usage, unmetered bool, tries []model.Try) (chat.Usage, bool) {
	for _, t := range tries {
		u = u.Plus(t.Usage)
		unmetered = unmetered || t.Unmetered
	}
	return u, unmetered
}

// replied is the event of a reply with its calls for the core.
func (l *leg) replied(
	ctx context.Context, e agent.CallModel, brief agent.Brief, reply model.Reply, responded journal.ModelReplied,
) completion {
	event := agent.Replied{
		Turn: e.Turn, Attempt: e.Attempt, Waited: responded.Waited, Usage: responded.Usage,
		Text: strings.TrimSpace(journal.Words(reply.Parts)) != "",
	}
	switch reply.Stop {
	case model.StopMaxTokens:
		event.Stop = agent.StopMaxTokens
	case model.StopRefusal:
		event.Stop = agent.StopRefusal
	case model.StopEnd, model.StopTools:
	}
	event.Calls, event.Roles = l.digest(ctx, brief, reply)
	event.Taint = l.remembered(ctx, event.Calls)
	event.At = l.At()
	rows := []journal.Row{responded}
	if event.Text || len(event.Calls) > 0 {
		rows = append(rows, journal.MessageAdded{In: l.in.In(), Turn: e.Turn, Message: chat.Message{
			ID: replyMark + strconv.Itoa(e.Turn), Speaker: chat.Assistant, Parts: reply.Parts,
		}})
	}
	return completion{event: event, rows: rows}
}

// compacted is a transcript that begins anew, with notes on the earlier one.
func (l *leg) compacted(
	ctx context.Context, e agent.CallModel, brief agent.Brief, req model.Request, reply model.Reply, responded journal.ModelReplied,
) completion {
	notes := strings.TrimSpace(journal.Words(reply.Parts))
	if notes == "" {
		return completion{event: agent.ModelFailed{
			At: l.At(), Turn: e.Turn, Attempt: e.Attempt, Kind: chat.KindServerError, Usage: responded.Usage,
		}, rows: []journal.Row{responded}}
	}
	size := host.Tokens(notes) + l.offeredTokens(ctx, brief)
	for _, s := range req.System {
		size += host.Tokens(s.Text)
	}
	return completion{
		event: agent.Compacted{
			At: l.At(), Turn: e.Turn, Attempt: e.Attempt, Waited: responded.Waited, Usage: responded.Usage, Context: size,
		},
		rows: []journal.Row{responded, journal.MessageAdded{In: l.in.In(), Message: chat.Message{
			ID: compactMark + strconv.Itoa(e.Turn), Speaker: chat.User,
			Parts: []chat.Part{{Kind: chat.PartText, Text: "Your notes on everything before this point:\n\n" + notes}},
		}}},
	}
}
