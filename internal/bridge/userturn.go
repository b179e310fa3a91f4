package bridge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// UserTurn is one message of a person and its effects. It belongs to one goroutine.
type UserTurn struct {
	Name
	// At is when the message was posted, and Asked its text.
	At    time.Time
	Asked string

	service *Service
	ref     journal.Ref
	after   int64
	// reader has listened since before the command; nil if Watch begins to listen.
	reader *live.Reader
	tree   *progress.Tree
	// order and texts are the orchestrator's recorded messages; sent is the part told of unrecorded
	// ones.
	order []string
	texts map[string]string
	sent  map[string]string
	turns map[int]string
	last  time.Time
	// quiet means that the reply being written is not for the person.
	quiet bool
	// settled are the questions and approvals that a person has dealt with, though the agents may not
	// have heard of it; stopping means that everything was asked to stop.
	settled  map[string]bool
	stopping bool
}

// State is how far a user turn has come.
type State string

// The states. In StateWaits nothing runs until a person has decided or answered.
const (
	StateRuns      State = "running"
	StateWaits     State = "waiting"
	StateDone      State = "completed"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
)

// News is an event in a user turn: text of the orchestrator, an event of an agent below it, or only
// the passing of time.
type News struct {
	// Message is the id of the orchestrator's message that Text continues.
	Message string
	Text    string
	// Whole is the message as it is on record; it comes once, with the rest of its text.
	Whole string
	// Again means that the message was begun again: Text is all of it and replaces the earlier
	// pieces.
	Again bool
	Event *progress.Event
	// Beat says that nothing happened for a while.
	Beat bool
}

// Result is the result of a user turn.
type Result struct {
	State State
	// Texts are the orchestrator's messages, in order.
	Texts   []Text
	Pending []progress.Pending
	// Agents are those that were given work, with the orchestrator.
	Agents []progress.Agent
	Usage  chat.Usage
	// Kind, Reason and Message say why it failed or was stopped; Cut means that the last reply reached
	// the model's limit.
	Kind    chat.ErrorKind
	Reason  string
	Message string
	Cut     bool
	At      time.Time
	// Begun means that an agent has taken something in.
	Begun bool
}

// Text is one message of the orchestrator.
type Text struct{ ID, Text string }

// Words are all that the orchestrator said.
func (r Result) Words() string {
	words := make([]string, len(r.Texts))
	for i, t := range r.Texts {
		words[i] = t.Text
	}
	return strings.Join(words, Between)
}

// Between stands between two messages of the orchestrator where they are one text.
const Between = "\n\n"

const (
	// beatEvery is how often a quiet user turn shows that it is alive.
	beatEvery = 15 * time.Second
	// lookEvery is the time between two looks whether time alone has ended a user turn.
	lookEvery = time.Second
	// pageSize is how many entries are read at a time.
	pageSize = 500
)

// ErrClosing means that the server stops. Another one continues the user turn.
var ErrClosing = errors.New("the server is stopping")

// Watch reports progress until the user turn has ended or waits for a person, and returns its
// result. When ctx ends first, the user turn still runs.
func (x *UserTurn) Watch(ctx context.Context, tell func(News) error) (Result, error) {
	run, stop := context.WithCancel(ctx)
	defer stop()
	x.sent = map[string]string{}
	if r, err := x.catchUp(ctx, tell); err != nil || r.State != StateRuns {
		return r, err
	}
	updates := progress.Follow(run, x.service.Log, x.heard(), x.ref, x.after, x.service.Poll)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return x.result(StateRuns), ctx.Err()
		case <-x.service.Server.Guard().Closing():
			return x.result(StateRuns), ErrClosing
		case <-look.C:
		case <-beat.C:
			err = tell(News{Beat: true})
		case u, ok := <-updates:
			if !ok {
				return x.result(StateRuns), ctx.Err()
			}
			if err = x.update(u, tell); err == nil {
				beat.Reset(beatEvery)
			}
		}
		if err != nil {
			return x.result(StateRuns), err
		}
		if r, over := x.over(); over {
			return r, nil
		}
	}
}

// Look returns the result of the user turn so far.
func (x *UserTurn) Look(ctx context.Context) (Result, error) {
	return x.catchUp(ctx, func(News) error { return nil })
}

// catchUp reads all recorded rows of the user turn.
func (x *UserTurn) catchUp(ctx context.Context, tell func(News) error) (Result, error) {
	for {
		entries, err := x.service.Log.Entries(ctx, x.ref, x.after, pageSize)
		if err != nil {
			return Result{}, err
		}
		for _, entry := range entries {
			x.after = entry.Seq
			e, ok := events.Of(x.Conversation, entry)
			if !ok {
				continue
			}
			if err := x.apply(e, tell); err != nil {
				return x.result(StateRuns), err
			}
			if r, over := x.ended(e.At); over {
				return r, nil
			}
		}
		if len(entries) == 0 {
			break
		}
	}
	if r, over := x.over(); over {
		return r, nil
	}
	return x.result(StateRuns), nil
}

// over reports whether the user turn is over or waits, and its result.
func (x *UserTurn) over() (Result, bool) {
	if r, ended := x.ended(x.service.Now()); ended {
		return r, true
	}
	if x.tree.Awaits() && !x.stopping && len(x.pending()) > 0 {
		return x.result(StateWaits), true
	}
	return Result{}, false
}

// pending are the questions and approvals that still wait for a person.
func (x *UserTurn) pending() []progress.Pending {
	return slices.DeleteFunc(x.tree.Pending(), func(p progress.Pending) bool {
		return x.settled[p.Question] || x.settled[events.ApprovalID(p.Agent, p.Call)]
	})
}

func (x *UserTurn) ended(now time.Time) (Result, bool) {
	end, ok := x.tree.Ended(now)
	if !ok {
		return Result{}, false
	}
	state := StateFailed
	switch end.Status {
	case chat.StatusCompleted:
		state = StateDone
	case chat.StatusCancelled:
		state = StateCancelled
	case chat.StatusFailed, chat.StatusTimedOut, chat.StatusQueued, chat.StatusPending, chat.StatusRunning, chat.StatusWaiting:
	}
	r := x.result(state)
	r.Kind, r.Reason, r.Message, r.Cut = end.Kind, end.Reason, end.Message, end.Cut
	return r, true
}

func (x *UserTurn) result(s State) Result {
	r := Result{State: s, Usage: x.tree.Usage(), At: x.last, Begun: x.tree.Stirred()}
	if s == StateWaits || s == StateRuns {
		r.Pending = x.pending()
	}
	for _, a := range x.tree.Agents() {
		if a.Depth == 0 || !a.Began.IsZero() { // others had their work before
			r.Agents = append(r.Agents, a)
		}
	}
	for _, id := range x.order {
		r.Texts = append(r.Texts, Text{ID: id, Text: x.texts[id]})
	}
	return r
}

// update handles the findings of a follower.
func (x *UserTurn) update(u progress.Update, tell func(News) error) error {
	if u.Message != "" {
		return x.draft(u.Message, u.Draft, tell)
	}
	if u.Err != nil && chat.CodeOf(u.Err) == chat.CodeNotFound {
		return u.Err // it was deleted
	}
	x.after = max(x.after, u.Seq)
	for _, e := range u.Events {
		if err := x.apply(e, tell); err != nil {
			return err
		}
		if _, over := x.ended(e.At); over {
			return nil
		}
	}
	return nil // a failed read is repeated at the next look
}

// draft tells the new part of a message that is being written.
func (x *UserTurn) draft(id, text string, tell func(News) error) error {
	_, recorded := x.texts[id]
	sent := x.sent[id]
	if recorded || x.quiet || len(text) <= len(sent) || !strings.HasPrefix(text, sent) {
		return nil // the row that follows is the truth
	}
	x.sent[id] = text
	return tell(News{Message: id, Text: text[len(sent):]})
}

// apply folds one event.
func (x *UserTurn) apply(e wire.Event, tell func(News) error) error {
	x.last = e.At
	told := x.tree.Apply(e)
	x.note(e)
	if m, ok := e.Data.(wire.Message); ok && chat.AgentPath(e.Agent).Depth() == 0 && m.Speaker == string(chat.Assistant) {
		if err := x.spoke(m, tell); err != nil {
			return err
		}
	}
	for i := range told {
		if told[i].Type == wire.MessageCompleted && chat.AgentPath(told[i].Agent).Depth() == 0 {
			continue // it was told as text
		}
		if err := tell(News{Event: &told[i]}); err != nil {
			return err
		}
	}
	return nil
}

// note remembers an event for later reports.
func (x *UserTurn) note(e wire.Event) {
	switch d := e.Data.(type) {
	case wire.Received:
		if d.InReplyTo != "" {
			x.settled[d.InReplyTo] = true
		}
	case wire.Decided:
		x.settled[d.Approval] = true
	case wire.Stopping:
		if d.Task == "" {
			x.stopping = true
		}
	case wire.TurnEnd:
		x.stopping = false
	case wire.Attempt:
		if chat.AgentPath(e.Agent).Depth() == 0 && d.Turn > 0 {
			x.quiet = journal.RequestType(d.Type) == journal.RequestCompaction
		}
		if x.quiet {
			x.unhear() // the summary may be over before its notices are told
		}
	case wire.Voided:
		if chat.AgentPath(e.Agent).Depth() == 0 {
			x.void(d.Turn)
		}
	}
}

// spoke tells the rest of a message that is on record now.
func (x *UserTurn) spoke(m wire.Message, tell func(News) error) error {
	id, text := m.ID, progress.Words(m.Parts)
	sent := x.sent[id]
	if text == "" && sent == "" {
		return nil
	}
	if _, known := x.texts[id]; !known {
		x.order = append(x.order, id)
	}
	x.texts[id], x.turns[m.Turn] = text, id
	rest, ok := strings.CutPrefix(text, sent)
	if !ok {
		return tell(News{Message: id, Text: text, Whole: text, Again: true})
	}
	return tell(News{Message: id, Text: rest, Whole: text})
}

// void forgets a reply that counts for nothing.
func (x *UserTurn) void(turn int) {
	id := x.turns[turn]
	delete(x.texts, id)
	x.order = slices.DeleteFunc(x.order, func(o string) bool { return o == id })
}
