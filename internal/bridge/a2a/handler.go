package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/bridge"
)

// errLeft means that nobody reads any more.
var errLeft = errors.New("the reader has left")

// stopTime is how long a client waits to see that a cancelled task has stopped.
const stopTime = 10 * time.Second

// SendMessage implements a2asrv.RequestHandler.
func (w wire) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	x, err := w.take(ctx, req)
	if err != nil {
		return nil, w.fault(ctx, err)
	}
	c := a2a.SendMessageConfig{}
	if req.Config != nil {
		c = *req.Config
	}
	var r bridge.Result
	if c.ReturnImmediately {
		r, err = x.Look(ctx)
	} else {
		r, err = x.Watch(ctx, func(bridge.News) error { return nil })
	}
	if err != nil {
		return nil, w.fault(ctx, err)
	}
	return taskOf(x, r, c.HistoryLength), nil
}

// SendStreamingMessage implements a2asrv.RequestHandler.
func (w wire) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		x, err := w.take(ctx, req)
		r := bridge.Result{State: bridge.StateRuns}
		if err == nil && req.Message.TaskID != "" {
			r, err = x.Look(ctx) // a new task is told from its beginning, even if much has happened by now
		}
		if err != nil {
			yield(nil, w.fault(ctx, err))
			return
		}
		w.follow(ctx, x, r, yield)
	}
}

// SubscribeToTask implements a2asrv.RequestHandler.
func (w wire) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		x, err := w.find(ctx, req.ID)
		var r bridge.Result
		if err == nil {
			r, err = x.Look(ctx)
		}
		if err == nil && stateOf(r.State).Terminal() {
			err = a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: get it instead")
		}
		if err != nil {
			yield(nil, w.fault(ctx, err))
			return
		}
		w.follow(ctx, x, r, yield)
	}
}

// follow sends a task as it is, then its changes, until it has ended or waits for a person.
func (w wire) follow(ctx context.Context, x *bridge.UserTurn, r bridge.Result, yield func(a2a.Event, error) bool) {
	if !yield(taskOf(x, r, nil), nil) || r.State != bridge.StateRuns {
		return
	}
	u := &updates{x: x, begun: map[string]bool{}, yield: func(e a2a.Event) bool { return yield(e, nil) }}
	r, err := x.Watch(ctx, u.tell)
	if errors.Is(err, errLeft) || ctx.Err() != nil {
		return
	}
	if err != nil {
		yield(nil, w.fault(ctx, err))
		return
	}
	last := a2a.NewStatusUpdateEvent(info(x), stateOf(r.State), nil)
	last.Status, last.Metadata = statusOf(x, r), map[string]any{extension: summary(r)}
	yield(last, nil)
}

// GetTask implements a2asrv.RequestHandler.
func (w wire) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	x, err := w.find(ctx, req.ID)
	if err != nil {
		return nil, w.fault(ctx, err)
	}
	r, err := x.Look(ctx)
	if err != nil {
		return nil, w.fault(ctx, err)
	}
	return taskOf(x, r, req.HistoryLength), nil
}

// CancelTask implements a2asrv.RequestHandler.
func (w wire) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	x, err := w.find(ctx, req.ID)
	if err != nil {
		return nil, w.fault(ctx, err)
	}
	r, err := x.Look(ctx)
	if err != nil {
		return nil, w.fault(ctx, err)
	}
	if stateOf(r.State).Terminal() {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "the task has ended: "+string(r.State))
	}
	if err := w.Cancel(ctx, x, "a2a-"+x.Message); err != nil {
		return nil, w.fault(ctx, err)
	}
	short, stop := context.WithTimeout(ctx, stopTime)
	defer stop()
	r, _ = x.Watch(short, func(bridge.News) error { return nil }) // the text so far is enough
	return taskOf(x, r, nil), nil
}

// find looks a task up.
func (w wire) find(ctx context.Context, id a2a.TaskID) (*bridge.UserTurn, error) {
	name, err := bridge.ParseName(string(id))
	if err != nil {
		return nil, err
	}
	return w.Find(ctx, name)
}

// verdict is a decision about an approval, as a data part.
type verdict struct {
	Approval string `json:"approval"`
	Hash     string `json:"hash"`
	Allow    bool   `json:"allow"`
	Scope    string `json:"scope"`
	Note     string `json:"note"`
}

// read splits a message into text and decisions.
func read(m *a2a.Message) (string, []verdict, error) {
	var texts []string
	var verdicts []verdict
	for _, p := range m.Parts {
		switch c := p.Content.(type) {
		case a2a.Text:
			texts = append(texts, string(c))
		case a2a.Data:
			var v verdict
			data, err := json.Marshal(c.Value)
			if err == nil {
				err = json.Unmarshal(data, &v)
			}
			if err != nil || v.Approval == "" || v.Hash == "" {
				return "", nil, &admission.Problem{Code: "invalid", Detail: "a data part is a decision: {approval, hash, allow}"}
			}
			verdicts = append(verdicts, v)
		default:
			return "", nil, a2a.NewError(a2a.ErrUnsupportedContentType, "send text; files belong into the workspace")
		}
	}
	return strings.Join(texts, "\n"), verdicts, nil
}

// take obeys a message: it begins a task, or continues one.
func (w wire) take(ctx context.Context, req *a2a.SendMessageRequest) (*bridge.UserTurn, error) {
	m := req.Message
	if m == nil || m.ID == "" || len(m.ID) > 200 || len(m.Parts) == 0 {
		return nil, &admission.Problem{Code: "invalid", Detail: "a message has an id of at most 200 characters, and parts"}
	}
	text, verdicts, err := read(m)
	if err != nil {
		return nil, err
	}
	key := "a2a-" + m.ID
	if m.TaskID != "" {
		return w.proceed(ctx, m.TaskID, key, text, verdicts)
	}
	if len(verdicts) > 0 || text == "" {
		return nil, &admission.Problem{Code: "invalid", Detail: "a task begins with text; a decision names its task"}
	}
	word := func(name string) string {
		for _, meta := range []map[string]any{m.Metadata, req.Metadata} {
			if s, ok := meta[name].(string); ok {
				return s
			}
		}
		return ""
	}
	skill, workspace := word("skill"), word("workspace")
	if err := w.known(ctx, skill, workspace); err != nil {
		return nil, err
	}
	return w.Post(ctx, bridge.Message{
		Key: key, Text: text, Conversation: m.ContextID, Role: skill, Workspace: workspace,
	})
}

// known refuses a skill that no role has which talks to people.
func (w wire) known(ctx context.Context, skill, workspace string) error {
	if skill == "" {
		return nil
	}
	speakers, err := w.Cast.Speakers(ctx, workspace)
	if err == nil && !slices.ContainsFunc(speakers, func(s bridge.Speaker) bool { return s.Name == skill }) {
		err = &admission.Problem{Code: "invalid", Detail: "there is no skill " + skill, Next: "use one of the card"}
	}
	return err
}

// proceed continues a task that runs or waits.
func (w wire) proceed(ctx context.Context, id a2a.TaskID, key, text string, verdicts []verdict) (*bridge.UserTurn, error) {
	x, err := w.find(ctx, id)
	if err != nil {
		return nil, err
	}
	// A user turn that was read to its end is over, and this may be an answer sent again.
	before, err := w.find(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := before.Look(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range verdicts {
		err := w.Decide(ctx, x, key+v.Approval, api.Verdict{
			Approval: v.Approval, Hash: v.Hash, Allow: v.Allow, Scope: v.Scope, Note: v.Note,
		})
		if err != nil {
			return nil, err
		}
	}
	if text == "" {
		return x, nil
	}
	if stateOf(r.State).Terminal() && !w.Said(ctx, x, key) {
		return nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended; to continue, send its context without a task")
	}
	return x, w.Answer(ctx, x, key, text)
}
