package durable

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/agent"
)

// How a run is carried out by the engine.
const (
	// rollOverAt is the number of history events from which an idle run starts a new history.
	rollOverAt = 1500
	// historyEnd is the number of events at which a turn is stopped before the engine ends the run.
	historyEnd = 40_000
	// legTimeout bounds one leg; whatever an agent may take is less.
	legTimeout = 2 * time.Hour
	// taskTimeout is how long a worker may take to answer for a run before another is asked.
	taskTimeout = 2 * time.Second
)

// run is one agent's workflow: the core's host between legs, and its hand in the engine.
type run struct {
	in     Begin
	course course
	// base is the last course small enough to travel; it never lies after what is recorded.
	base course
	// tail, moves and owed are what was taken in and not recorded, and what is left to do.
	tail  []agent.Event
	moves []Move
	owed  []agent.Effect
	bytes int

	inbox []Envelope
	// posted numbers the signals that have arrived, told what the workflow has learnt by itself.
	posted, told int
	// stale means that nothing of the inbox can be taken in before something changes.
	stale bool

	selector workflow.Selector
	leg      *legRun
	// again means that a leg was lost, dropped that what is left to do was begun: by one that gave it up, or
	// by one that was lost and may yet record a step. Until a leg has recorded another, nothing is taken in
	// here, where it would have the same number.
	again   bool
	dropped bool
	detour  bool
	wake    int64
	tasks   map[string]string
	aborts  map[string]workflow.CancelFunc
	// started are the children whose end the engine will tell in this history, and sought those that somebody said are lost,
	// while it is found out.
	started, sought map[string]bool
	tokens          int64
	// unread are people's words that came too late.
	unread []int64
	broken error
	fault  Fault
	// slip hands mail to a leg that may run in this very process.
	slip func(Whose, []Envelope)
}

// legRun is a leg under way.
type legRun struct {
	// given is how much mail had arrived when the leg started, or was last told of it.
	given   int
	flag    workflow.CancelFunc
	flagged bool
}

// Agent is the workflow of one agent.
func (h *Host) Agent(ctx workflow.Context, in Begin) (Ended, error) {
	return carry(ctx, in, h.Fault, h.doors.slip)
}

// Agent is the workflow of one agent, outside a host.
func Agent(ctx workflow.Context, in Begin) (Ended, error) { return carry(ctx, in, nil, nil) }

// carry takes one agent from its first event to its last.
func carry(ctx workflow.Context, in Begin, fault Fault, slip func(Whose, []Envelope)) (Ended, error) {
	r := &run{
		in: in, posted: in.Posted, told: in.Told, inbox: in.Mail, tasks: in.Tasks, aborts: map[string]workflow.CancelFunc{},
		started: map[string]bool{}, sought: map[string]bool{}, fault: fault, slip: slip,
	}
	if in.Course != nil {
		r.course, r.base = *in.Course, *in.Course
	}
	if r.tasks == nil {
		r.tasks = map[string]string{}
	}
	r.selector = workflow.NewSelector(ctx)
	err := workflow.SetQueryHandler(ctx, queryMail, func() ([]Envelope, error) {
		return fitting(r.inbox, payloadBytes), nil
	})
	if err != nil {
		return Ended{}, err
	}
	box := workflow.GetSignalChannel(ctx, signalMail)
	r.selector.AddReceive(box, func(c workflow.ReceiveChannel, _ bool) {
		var m Mail
		c.Receive(ctx, &m)
		r.post(m.Event)
	})
	r.selector.AddReceive(workflow.GetSignalChannel(ctx, signalLost), func(c workflow.ReceiveChannel, _ bool) {
		var l Lost
		c.Receive(ctx, &l)
		r.seek(ctx, l.Task)
	})
	for {
		for r.selector.HasPending() {
			r.selector.Select(ctx)
		}
		if r.rollsOver(ctx) {
			// A new history is the time to go over to a newer build, if runs are kept to theirs.
			return Ended{}, workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
				InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
			}, workflowAgent, r.next())
		}
		if err := r.progress(ctx); err != nil {
			r.confess(ctx)
			return Ended{}, err
		}
		switch {
		case r.rollsOver(ctx):
			continue
		case r.over() && len(r.unread) > 0:
			seq := r.unread[0]
			r.unread = r.unread[1:]
			r.deliver(ctx, Root, agent.Undelivered{At: at(ctx), Seq: seq})
			continue
		case r.over():
			r.point(PointEnded)
			return Ended{Outcome: *r.course.State.Outcome, Tokens: r.tokens}, nil
		case r.selector.HasPending():
			continue
		}
		r.setTimer(ctx)
		r.selector.Select(ctx)
	}
}

// confess records that an orchestrator's run cannot go on, so that nobody waits for it. A sub-agent's
// parent learns of it from the engine.
func (r *run) confess(ctx workflow.Context) {
	if r.in.Parent != "" {
		return
	}
	err := workflow.ExecuteActivity(chore(ctx), activityConfess, r.in.Whose, r.course.N).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Error("cannot record that a run broke", "error", err)
	}
}

// fitting is as much mail as so many bytes may carry.
func fitting(mail []Envelope, bytes int) []Envelope {
	for i, m := range mail {
		if bytes -= len(m.Event) + 20; bytes < 0 {
			return mail[:i]
		}
	}
	return mail
}

// post puts a signal into the mail.
func (r *run) post(event json.RawMessage) {
	r.posted++
	r.put(Envelope{Index: r.posted, Event: event})
}

// tell puts an event into the mail that the workflow has learnt by itself.
func (r *run) tell(e agent.Event) {
	body, err := agent.MarshalEvent(e)
	switch {
	case err != nil:
		r.broken = err
	case !r.in.Apart:
		r.post(body)
	default:
		r.told++
		r.put(Envelope{Index: -r.told, Event: body})
	}
}

func (r *run) put(m Envelope) {
	r.inbox = append(r.inbox, m)
	r.stale = false
}

// progress does all that can be done without waiting.
func (r *run) progress(ctx workflow.Context) error {
	for r.broken == nil {
		if r.leg != nil {
			r.flagLeg(ctx)
			return nil
		}
		switch {
		case r.again || r.course.State.Phase == agent.Unborn:
			return r.startLeg(ctx)
		case !r.unwritten() && slices.ContainsFunc(r.owed, forEngine):
			i := slices.IndexFunc(r.owed, forEngine)
			e := r.owed[i]
			r.owed = slices.Delete(r.owed, i, i+1)
			r.point(OrderPoint(e))
			r.carryOut(ctx, e)
		case len(r.inbox) > 0 && !r.stale && r.bytes < tailBytes && !r.dropped:
			r.point(PointMailRead)
			r.readMail()
		case len(r.owed)+len(r.moves) > 0 || r.bytes >= tailBytes || (len(r.tail) > 0 && r.settles(ctx)):
			return r.startLeg(ctx)
		case r.tooLong(ctx):
			r.tell(agent.CancelRequested{At: at(ctx), ID: "history", Reason: agent.CancelHistory})
		default:
			return nil
		}
	}
	return r.broken
}

// unwritten reports whether records are owed: nothing else happens before they are durable.
func (r *run) unwritten() bool { return len(r.tail) > 0 && slices.ContainsFunc(r.owed, written) }

// settles reports whether the run is about to end or to begin a new history, so that all it took in
// must be recorded.
func (r *run) settles(ctx workflow.Context) bool {
	phase := r.course.State.Phase
	return phase == agent.Done || (phase == agent.Idle && r.oldHistory(ctx))
}

// readMail gives the core what has arrived.
func (r *run) readMail() {
	var kept []Envelope
	changed := false
	for i, l := range r.inbox {
		if r.bytes >= tailBytes {
			kept = append(kept, r.inbox[i:]...)
			break
		}
		e := mustRead(l.Event)
		s, err := r.course.take(e)
		switch {
		case unsettled(err):
			kept = append(kept, l)
		case err == nil:
			r.note(s, len(l.Event))
			changed = true
		default:
			r.sendBack(e)
		}
	}
	r.inbox = kept
	r.stale = !changed
}

// mustRead reads an event. One that this build cannot read is a newer build's: the workflow task fails, and the engine gives it to
// another worker until there is one that can.
func mustRead(body json.RawMessage) agent.Event {
	e, err := agent.UnmarshalEvent(body)
	if err != nil {
		panic("a newer build has to carry this run on: " + err.Error())
	}
	return e
}

// sendBack remembers a person's words that came when the agent had finished.
func (r *run) sendBack(e agent.Event) {
	if c, ok := e.(agent.Corrected); ok && r.course.State.Phase == agent.Done {
		r.unread = append(r.unread, c.Seq)
	}
}

// note keeps what an event led to.
func (r *run) note(s stride, bytes int) {
	r.tail = append(r.tail, s.Event)
	r.bytes += bytes + 100*len(s.Effects)
	if s.Move != nil {
		r.moves = append(r.moves, *s.Move)
	}
	r.owed = append(r.owed, s.Effects...)
}

// over reports whether the run has ended and everything about it is done.
func (r *run) over() bool {
	return r.course.State.Phase == agent.Done && r.leg == nil && len(r.owed) == 0 && len(r.tail) == 0
}

// setTimer has the run woken when the core wants to be. A timer that comes too early does no harm,
// so one that is set is never taken back.
func (r *run) setTimer(ctx workflow.Context) {
	want := r.course.State.Wake
	if r.leg != nil || want == 0 || (r.wake != 0 && r.wake <= want) {
		return
	}
	r.wake = want
	delay := max(time.UnixMilli(want).Sub(workflow.Now(ctx)), time.Millisecond)
	r.selector.AddFuture(workflow.NewTimer(ctx, delay), func(f workflow.Future) {
		if f.Get(ctx, nil) != nil || r.wake != want {
			return
		}
		r.wake = 0
		if r.leg == nil {
			r.tell(agent.Ticked{At: at(ctx)})
		}
	})
}

// tooLong reports whether the engine's history is about to grow past its limit within a turn.
func (r *run) tooLong(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetCurrentHistoryLength() > historyEnd &&
		r.course.State.Phase != agent.Idle && r.course.State.Stop == nil && r.course.State.Phase != agent.Done
}

// rollsOver reports whether this is the time for a new history: nothing is under way, and what is
// below runs on its own. A long history ends when mail comes: at the end of a turn somebody may be about
// to speak, and the engine refuses to begin a history while a signal arrives; who has spoken waits for
// an answer. A newer build is gone over to at once, since others wait for that.
func (r *run) rollsOver(ctx workflow.Context) bool {
	if r.course.State.Phase != agent.Idle || r.leg != nil || len(r.owed)+len(r.tail) > 0 || len(r.aborts) > 0 ||
		len(fitting(r.inbox, mailBytes)) < len(r.inbox) || r.base.N != r.course.N {
		return false
	}
	if len(r.inbox) == 0 {
		return workflow.GetInfo(ctx).GetTargetWorkerDeploymentVersionChanged()
	}
	return r.oldHistory(ctx)
}

// oldHistory reports whether an idle run should begin anew: its history is long, or there is a newer
// build to run on.
func (r *run) oldHistory(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetCurrentHistoryLength() > rollOverAt || info.GetContinueAsNewSuggested() ||
		info.GetTargetWorkerDeploymentVersionChanged()
}

// next is what the new history begins with.
func (r *run) next() Begin {
	in := r.in
	in.Course, in.Posted, in.Told, in.Mail, in.Tasks, in.Apart = &r.course, r.posted, r.told, r.inbox, r.tasks, true
	return in
}

// flagLeg tells a leg that there is mail.
func (r *run) flagLeg(ctx workflow.Context) {
	if r.posted+r.told <= r.leg.given {
		return
	}
	r.leg.given = r.posted + r.told
	if !r.leg.flagged {
		r.leg.flagged = true
		r.leg.flag()
	}
	if r.slip != nil && !workflow.IsReplaying(ctx) {
		r.slip(r.in.Whose, fitting(r.sure(), payloadBytes))
		r.point(PointMailFlagged)
	}
}

// sure is the mail whose place nothing can change any more, while it is not known whether the engine takes
// this workflow task for done. If it does not, the task is done again together with what has arrived since,
// and signals come before what the workflow learns by itself: only they keep their number.
func (r *run) sure() (out []Envelope) {
	for _, m := range r.inbox {
		if r.in.Apart && m.Index > 0 {
			out = append(out, m)
		}
	}
	return out
}

// startLeg hands the core over to a leg.
func (r *run) startLeg(ctx workflow.Context) error {
	in := LegInput{
		Whose: r.in.Whose, Width: r.in.Width, Time: r.in.Time, Base: r.base, N: r.course.N, Moves: r.moves,
		Mail: fitting(r.inbox, mailBytes), Again: r.again || r.dropped, Effects: r.in.LegEffects,
	}
	in.More = len(in.Mail) < len(r.inbox) && !r.stale
	var err error
	if in.Tail, err = encodeEvents(r.tail); err != nil {
		return err
	}
	if in.Owed, err = encodeEffects(r.owed); err != nil {
		return err
	}
	queue := r.in.at().queue()
	if in.Detour = r.detour; in.Detour {
		queue = workflow.GetInfo(ctx).TaskQueueName
	}
	legCtx, flag := workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: legTimeout, HeartbeatTimeout: silence,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second,
		},
	}))
	r.point(PointLegStart)
	r.leg = &legRun{flag: flag, given: r.posted + r.told}
	r.selector.AddFuture(workflow.ExecuteActivity(legCtx, activityLeg, in), func(f workflow.Future) {
		var out LegResult
		err := f.Get(ctx, &out)
		r.point(PointLegDone)
		r.leg = nil
		r.legDone(out, err)
	})
	return nil
}

// legDone takes the core back. A leg that was lost is run again: it finds what the lost one did.
func (r *run) legDone(out LegResult, err error) {
	var final *temporal.ApplicationError
	switch {
	case errors.As(err, &final) && final.NonRetryable():
		r.broken = err
		return
	case err != nil:
		r.again = true
		// A leg that could be cancelled had not begun. If nobody serves the workspace, mail must not
		// wait for somebody to come.
		r.detour = temporal.IsCanceledError(err)
		return
	}
	r.again, r.detour, r.dropped = false, false, out.Dropped
	r.tail, r.moves, r.bytes = nil, nil, 0
	for _, body := range out.Events {
		s, err := r.course.retake(mustRead(body))
		if err != nil {
			r.broken = temporal.NewNonRetryableApplicationError("the leg and the workflow disagree", "broken", err)
			return
		}
		r.owed = append(r.owed, s.Effects...)
	}
	r.owed = slices.DeleteFunc(r.owed, func(e agent.Effect) bool {
		return !slices.Contains(out.Left, e.Key())
	})
	r.tokens = max(r.tokens, out.Tokens)
	r.inbox = slices.DeleteFunc(r.inbox, func(m Envelope) bool { return slices.Contains(out.Took, m.Index) })
	r.stale = false
	if body, err := json.Marshal(r.course); err == nil && len(body) <= baseBytes {
		r.base = r.course
	}
}

func (r *run) point(p Point) { r.fault.at(p, r.in.Place, r.in.Task) }

func at(ctx workflow.Context) agent.At { return agent.At{At: workflow.Now(ctx).UnixMilli()} }
