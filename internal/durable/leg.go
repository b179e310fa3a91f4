package durable

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/model"
)

const (
	// mailPoll is how often a leg that knows of mail looks for more. While the engine does not answer, it looks less and
	// less often, up to mailSlow: an engine that is slow has enough to do.
	mailPoll, mailSlow = 250 * time.Millisecond, 4 * time.Second
	// mailTimeout is how long it waits for an answer: what lands meanwhile waits to be recorded.
	mailTimeout = time.Second
	// drainGrace is how long a worker that stops waits for what its legs have under way.
	drainGrace = 10 * time.Second
	// recordPatience is how long a leg tries to record what it has in hand.
	recordPatience = 30 * time.Second
)

// errBehind means that another leg has carried the task on.
var errBehind = errors.New("another leg of this task has gone on")

// leg hosts the core for a while.
type leg struct {
	*Host
	in     LegInput
	course course
	// todo is what is left to do and has not begun.
	todo    []agent.Effect
	flights map[string]*flight
	landed  chan landing
	// door is where mail comes in that need not be asked for.
	door  <-chan []Envelope
	begun int
	// yield means that nothing more is begun, and dropped that something was begun and given up.
	yield, dropped bool
	// again means that another leg was lost before this one, and may live on; ours that a step of this one
	// is on record, which is the fence between the two.
	again, ours bool

	events []agent.Event
	bytes  int
	took   []int
	tokens int64
	desk   desk
	// images are those that the leg has read, by hash.
	images map[string]model.Image
	// pays is for the last model call.
	pays *purse
}

// flight is a local effect under way.
type flight struct {
	effect agent.Effect
	cancel context.CancelFunc
}

// landing is the end of a local effect: an event, and the facts to record with it.
type landing struct {
	key   string
	event agent.Event
	rows  []journal.Row
}

// Leg carries a task on until the engine is needed.
func (h *Host) Leg(ctx context.Context, in LegInput) (LegResult, error) {
	if err := h.known(in.Whose); err != nil && !in.Detour { // a detour reads no files
		return LegResult{}, err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	l := h.newLeg(in)
	var leave func()
	l.door, leave = h.doors.enter(in.Whose)
	defer leave()
	engine := h.keepAlive(work, ctx)
	free, err := l.takePlace(engine.called)
	if err != nil {
		return LegResult{}, err
	}
	defer free()
	l.point(PointLegBegin)
	l.again = in.Again || activity.GetInfo(ctx).Attempt > 1
	stage := StageLater
	if !l.again && in.N == 0 {
		stage = StageFirst
	}
	work, ended := h.Observer.Leg(work, in.Whose, stage)
	if !l.again {
		l.desk.resume(in)
	}
	err = l.start(work)
	if err == nil {
		err = l.carryOn(work, engine, activity.GetWorkerStopChannel(ctx))
	}
	ended(l.course.State.Brief.Role, err)
	if err != nil {
		return LegResult{}, final(err)
	}
	l.clearTree(work)
	l.point(PointLegEnd)
	l.desk.clear()
	return l.result()
}

func (h *Host) newLeg(in LegInput) *leg {
	l := &leg{Host: h, in: in, course: in.Base, flights: map[string]*flight{}, landed: make(chan landing, 64), yield: in.Detour}
	l.desk = desk{leg: l, rows: map[string]journal.Row{}}
	return l
}

// start brings the leg to where the task is, and records what the workflow took in.
func (l *leg) start(ctx context.Context) error {
	tail, err := decodeEvents(l.in.Tail)
	if err != nil {
		return err
	}
	if l.todo, err = decodeEffects(l.in.Owed); err != nil {
		return err
	}
	from := l.in.N - len(tail)
	var steps []journal.Stepped
	if l.again || l.in.N == 0 || l.course.N < from {
		if steps, err = l.Log.Steps(ctx, l.in.Place, l.in.Task, l.course.N); err != nil {
			return fmt.Errorf("read the steps of %s: %w", l.in.Task, err)
		}
	}
	recorded := l.course.N + len(steps)
	if recorded > from && len(steps) > 0 {
		if err := l.agree(steps[from-l.course.N:], tail); err != nil {
			return err
		}
	}
	for _, e := range tail[min(max(recorded-from, 0), len(tail)):] {
		body, err := agent.MarshalEvent(e)
		if err != nil {
			return err
		}
		steps = append(steps, journal.Stepped{Event: body})
	}
	if err := l.fold(steps); err != nil {
		return err
	}
	l.point(PointLegFolded)
	if recorded >= l.in.N && len(tail) > 0 {
		l.todo = slices.DeleteFunc(l.todo, agent.Effect.Record)
	}
	return l.settleIn(ctx, recorded)
}

// agree complains when the journal has other steps than the workflow has taken in. Nothing leads there; if
// something did, whoever waits is told rather than kept waiting.
func (l *leg) agree(steps []journal.Stepped, tail []agent.Event) error {
	for i := range min(len(steps), len(tail)) {
		e, err := agent.UnmarshalEvent(steps[i].Event)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(e, tail[i]) {
			return &chat.Error{Code: chat.CodeConflict, Message: fmt.Sprintf("step %d of %s is %s in the journal and %s in the engine",
				l.in.N-len(tail)+i+1, l.in.Task, agent.EventName(e), agent.EventName(tail[i]))}
		}
	}
	return nil
}

// fold takes in what was taken in before. What lies beyond the workflow's own knowledge is told to
// it again.
func (l *leg) fold(steps []journal.Stepped) error {
	for _, step := range steps {
		e, err := agent.UnmarshalEvent(step.Event)
		if err != nil {
			return err
		}
		s, err := l.course.retake(e)
		if err != nil {
			return err
		}
		if s.N > l.in.N {
			l.tell(e, step.Mail)
			l.forget(e)
			for _, effect := range s.Effects {
				if !effect.Record() {
					l.todo = append(l.todo, effect)
				}
			}
		}
	}
	return nil
}

// forget takes an effect off the list that an event answers.
func (l *leg) forget(e agent.Event) {
	key := ""
	switch e := e.(type) {
	case agent.Replied:
		key = agent.CallModel{Turn: e.Turn, Attempt: e.Attempt}.Key()
	case agent.ModelFailed:
		key = agent.CallModel{Turn: e.Turn, Attempt: e.Attempt}.Key()
	case agent.Compacted:
		key = agent.CallModel{Turn: e.Turn, Attempt: e.Attempt}.Key()
	case agent.ToolDone:
		key = agent.RunTool{Call: e.Call}.Key()
	case agent.Resolved:
		key = agent.CallSide{Side: e.Side}.Key()
	case agent.Routed:
		key = agent.CallSide{Side: e.Side}.Key()
	default:
		return
	}
	l.todo = slices.DeleteFunc(l.todo, func(o agent.Effect) bool { return o.Key() == key })
}

// tell keeps an event for the workflow.
func (l *leg) tell(e agent.Event, mail int) {
	l.events = append(l.events, e)
	if body, err := agent.MarshalEvent(e); err == nil {
		l.bytes += len(body)
	}
	if mail != 0 {
		l.took = append(l.took, mail)
	}
}

// settleIn records the tail and everything that is owed, begins an agent that has not begun, and
// reads the mail that came along.
func (l *leg) settleIn(ctx context.Context, recorded int) error {
	var rows []journal.Row
	if recorded < l.in.N {
		for i, body := range l.in.Tail {
			n := l.in.N - len(l.in.Tail) + i + 1
			rows = append(rows, journal.Stepped{In: l.in.in(), N: n, Event: body})
		}
		records, err := l.records(ctx, l.todo)
		if err != nil {
			return err
		}
		rows = append(rows, records...)
		for _, m := range l.in.Moves {
			rows = append(rows, l.moved(m))
		}
	}
	l.todo = slices.DeleteFunc(l.todo, agent.Effect.Record)
	if l.course.State.Phase == agent.Unborn {
		begun, err := l.begin(ctx)
		if err != nil {
			return err
		}
		if err := l.take(ctx, landing{event: begun}, 0); err != nil {
			return err
		}
	} else if err := l.commit(ctx, rows); err != nil {
		return err
	}
	return l.readAll(ctx, l.in.Mail)
}

// carryOn lands what was begun and takes in what it means, until nothing is left that a leg can do.
func (l *leg) carryOn(ctx context.Context, engine wish, drained <-chan struct{}) error {
	called := engine.called.Done()
	var poll, giveUp <-chan time.Time
	pause := mailPoll
	if l.in.More {
		poll = time.After(0)
	}
	for len(l.flights) > 0 {
		wake, stop := l.wake()
		select {
		case end := <-l.landed:
			stop()
			delete(l.flights, end.key)
			if err := l.take(ctx, end, 0); err != nil {
				return err
			}
			continue
		case <-wake:
			if err := l.take(ctx, landing{event: agent.Ticked{At: l.at()}}, 0); err != nil {
				return err
			}
		case <-engine.gone.Done():
			return fmt.Errorf("the engine has given this leg up: %w", context.Cause(engine.gone))
		case <-called:
			called = nil
			if engine.gone.Err() == nil { // else the next round sees to it
				l.yield, poll = true, time.After(0)
			}
		case mail := <-l.door:
			l.yield = true
			if err := l.readAll(ctx, mail); err != nil {
				return err
			}
		case <-poll:
			answered, err := l.fetchMail(ctx)
			if err != nil {
				return err
			}
			if pause = min(2*pause, mailSlow); answered {
				pause = mailPoll
			}
			poll = time.After(pause)
		case <-drained:
			drained, l.yield = nil, true
			giveUp = time.After(drainGrace)
		case <-giveUp:
			for key, f := range l.flights {
				f.cancel()
				delete(l.flights, key)
				l.todo = append(l.todo, f.effect)
				l.dropped = true
			}
		}
		stop()
	}
	return nil
}

// wake fires when the core wants to be woken.
func (l *leg) wake() (<-chan time.Time, func()) {
	at := l.course.State.Wake
	if at == 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(max(time.UnixMilli(at).Sub(l.Now()), time.Millisecond))
	return timer.C, func() { timer.Stop() }
}

// fetchMail asks the workflow for what has arrived. It reports whether there was an answer.
func (l *leg) fetchMail(ctx context.Context) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	value, err := l.Engine.QueryWorkflow(asking, WorkflowID(l.in.Place, l.in.Agent), "", queryMail)
	if err != nil {
		l.Logger.WarnContext(ctx, "cannot read mail", "agent", l.in.Agent, "error", err)
		return false, nil // It is asked for again, and the workflow keeps it.
	}
	var mail []Envelope
	if err := value.Get(&mail); err != nil {
		return false, fmt.Errorf("read mail: %w", err)
	}
	return true, l.readAll(ctx, mail)
}

func (l *leg) readAll(ctx context.Context, mail []Envelope) error {
	for _, m := range mail {
		if slices.Contains(l.took, m.Index) || l.course.State.Phase == agent.Done {
			continue // What comes too late is the workflow's to send back.
		}
		e, err := agent.UnmarshalEvent(m.Event)
		if err != nil {
			continue // The workflow's to deal with: a newer build may know it.
		}
		if err := l.take(ctx, landing{event: e}, m.Index); err != nil {
			return err
		}
	}
	return nil
}

// take gives the core an event and records it with all that belongs to it.
func (l *leg) take(ctx context.Context, end landing, mail int) error {
	s, err := l.course.take(end.event)
	if err != nil {
		if mail != 0 && !unsettled(err) {
			l.took = append(l.took, mail)
		}
		return l.commit(ctx, end.rows)
	}
	body, err := agent.MarshalEvent(end.event)
	if err != nil {
		return err
	}
	l.desk.learn(end.rows)
	rows := append(slices.Clone(end.rows), journal.Stepped{In: l.in.in(), N: s.N, Event: body, Mail: mail})
	l.todo = append(l.todo, s.Effects...)
	var records []journal.Row
	if err := l.patiently(ctx, func() (err error) { records, err = l.records(ctx, s.Effects); return err }); err != nil {
		return err
	}
	rows = append(rows, records...)
	if s.Move != nil {
		rows = append(rows, l.moved(*s.Move))
	}
	l.todo = slices.DeleteFunc(l.todo, agent.Effect.Record)
	l.tell(end.event, mail)
	return l.commit(ctx, rows)
}

// commit makes rows durable, together with those that announce what is begun next, and begins it.
func (l *leg) commit(ctx context.Context, rows []journal.Row) error {
	l.abort()
	var begin []func()
	for _, effect := range l.pick() {
		err := l.patiently(ctx, func() error {
			announced, run, err := l.prepare(ctx, effect)
			if err == nil {
				rows, begin = append(rows, announced...), append(begin, run)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(rows) > 0 {
		if err := l.record(ctx, rows); err != nil {
			return err
		}
	}
	for _, run := range begin {
		run()
	}
	return nil
}

// pick takes what may be begun now off the list.
func (l *leg) pick() []agent.Effect {
	if l.yield || l.bytes > tailBytes || slices.ContainsFunc(l.todo, forEngine) {
		return nil
	}
	var out, left []agent.Effect
	for _, e := range l.todo {
		if l.in.Effects > 0 && l.begun >= l.in.Effects {
			left = append(left, e)
			continue
		}
		l.begun++
		out = append(out, e)
	}
	l.todo = left
	return out
}

// abort lets go of what the core no longer waits for. What has not begun ends at once.
func (l *leg) abort() {
	for _, e := range slices.Clone(l.todo) {
		var target string
		var end agent.Event
		switch e := e.(type) {
		case agent.AbortModel:
			target = agent.CallModel{Turn: e.Turn, Attempt: e.Attempt}.Key()
			end = agent.ModelFailed{At: l.at(), Turn: e.Turn, Attempt: e.Attempt, Kind: "cancelled"}
		case agent.AbortTool:
			if !e.Local() {
				continue
			}
			target = agent.RunTool{Call: e.Call}.Key()
			end = agent.ToolDone{At: l.at(), Call: e.Call, Result: agent.ToolCancelled}
		default:
			continue
		}
		l.todo = slices.DeleteFunc(l.todo, func(o agent.Effect) bool { return o.Key() == e.Key() })
		if f, ok := l.flights[target]; ok {
			f.cancel()
			continue
		}
		before := len(l.todo)
		l.todo = slices.DeleteFunc(l.todo, func(o agent.Effect) bool { return o.Key() == target })
		if len(l.todo) < before {
			l.flights[target] = &flight{cancel: func() {}}
			l.landed <- landing{key: target, event: end}
		}
	}
}

// record appends rows, again and again while nobody knows whether they were written: what a model or
// a tool gave is in nobody else's hands.
func (l *leg) record(ctx context.Context, rows []journal.Row) error {
	tries := 0
	var written []journal.Written
	err := l.patiently(ctx, func() (err error) {
		tries++
		l.point(PointLegAppend)
		written, err = l.Log.Append(ctx, l.in.Place, l.Now(), rows...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record %d rows of %s: %w", len(rows), l.in.Task, err)
	}
	l.point(PointLegAppended)
	if err := l.fenced(ctx, rows, written, tries > 1); err != nil {
		return err
	}
	l.ours = l.ours || slices.ContainsFunc(rows, isStep)
	return nil
}

func isStep(r journal.Row) bool { return r.Kind() == journal.KindStepped }

// patiently tries something with the journal again and again for a while, unless it is refused.
func (h *Host) patiently(ctx context.Context, do func() error) error {
	deadline := h.Now().Add(recordPatience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := do()
		if err == nil || refused(err) || ctx.Err() != nil || h.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// fenced reports whether a step of the rows was recorded by somebody else before.
func (l *leg) fenced(ctx context.Context, rows []journal.Row, written []journal.Written, doubt bool) error {
	i := slices.IndexFunc(rows, isStep)
	if i < 0 || !written[i].Existed {
		return nil
	}
	mine, _ := rows[i].(journal.Stepped)
	if !doubt {
		return errBehind
	}
	steps, err := l.Log.Steps(ctx, l.in.Place, l.in.Task, mine.N-1)
	if err != nil {
		return err
	}
	a, errA := agent.UnmarshalEvent(mine.Event)
	b, errB := agent.UnmarshalEvent(steps[0].Event)
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		return errBehind
	}
	return nil
}

// result is what the workflow is told.
func (l *leg) result() (LegResult, error) {
	events, err := encodeEvents(l.events)
	if err != nil {
		return LegResult{}, err
	}
	out := LegResult{Events: events, Took: l.took, Tokens: l.tokens, Dropped: l.dropped || l.shared()}
	for _, e := range l.todo {
		out.Left = append(out.Left, e.Key())
	}
	return out, nil
}

// shared reports whether something is left to do that the leg before this one has under way, if it lives on,
// and whose end it may still record.
func (l *leg) shared() bool {
	return l.again && !l.ours && slices.ContainsFunc(l.todo, agent.Effect.Local)
}

func (l *leg) point(p Point) { l.Fault.at(p, l.in.Place, l.in.Task) }

func (l *leg) moved(m Move) journal.Row {
	return journal.Moved{In: l.in.in(), Serial: m.N, Status: m.Status, Reason: m.Reason}
}

func topic(p journal.Place) live.Topic {
	return live.Topic{Tenant: p.Tenant, Conversation: p.Conversation}
}
