package a2a

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/progress"
)

// extension is the key of fields that the protocol lacks.
const extension = "retinue"

// stateOf is the protocol's name for how far a user turn has come.
func stateOf(s bridge.State) a2a.TaskState {
	switch s {
	case bridge.StateRuns:
		return a2a.TaskStateWorking
	case bridge.StateWaits:
		return a2a.TaskStateInputRequired
	case bridge.StateDone:
		return a2a.TaskStateCompleted
	case bridge.StateFailed:
		return a2a.TaskStateFailed
	case bridge.StateCancelled:
		return a2a.TaskStateCanceled
	}
	return a2a.TaskStateUnspecified
}

func info(x *bridge.UserTurn) a2a.TaskInfo {
	return a2a.TaskInfo{TaskID: a2a.TaskID(x.String()), ContextID: x.Conversation}
}

// taskOf is a user turn as a task. Length is how many messages of its history are wanted, nil if
// all.
func taskOf(x *bridge.UserTurn, r bridge.Result, length *int) *a2a.Task {
	t := &a2a.Task{
		ID: a2a.TaskID(x.String()), ContextID: x.Conversation, Status: statusOf(x, r),
		Metadata: map[string]any{extension: summary(r)},
	}
	for _, text := range r.Texts {
		t.Artifacts = append(t.Artifacts, artifact(text.ID, text.Text))
	}
	if length == nil || *length > 0 {
		t.History = []*a2a.Message{{
			ID: x.Message, ContextID: x.Conversation, TaskID: t.ID, Role: a2a.MessageRoleUser,
			Parts: a2a.ContentParts{a2a.NewTextPart(x.Asked)},
		}}
	}
	return t
}

func artifact(id, text string) *a2a.Artifact {
	return &a2a.Artifact{ID: a2a.ArtifactID(id), Name: "answer", Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

// summary lists the agents that worked and their usage.
func summary(r bridge.Result) map[string]any {
	agents := make([]any, 0, len(r.Agents))
	for _, a := range r.Agents {
		agents = append(agents, map[string]any{"agent_path": a.ID, "role": a.Role, "status": string(a.Status)})
	}
	out := map[string]any{
		"agents": agents, "input_tokens": r.Usage.Input, "output_tokens": r.Usage.Output, "cost_micro_usd": r.Usage.Cost,
	}
	if r.Kind != "" {
		out["error_kind"] = string(r.Kind)
	}
	return out
}

// statusOf is the state of a task, with its question or its error.
func statusOf(x *bridge.UserTurn, r bridge.Result) a2a.TaskStatus {
	s := a2a.TaskStatus{State: stateOf(r.State)}
	if r.State == bridge.StateRuns && !r.Begun {
		s.State = a2a.TaskStateSubmitted
	}
	if !r.At.IsZero() {
		at := r.At.UTC()
		s.Timestamp = &at
	}
	switch r.State {
	case bridge.StateWaits:
		asks := x.Asks(r.Pending)
		parts := []*a2a.Part{a2a.NewTextPart(bridge.AskWords(asks))}
		for _, a := range asks {
			parts = append(parts, a2a.NewDataPart(map[string]any{
				"kind": a.Kind, "question": a.Question, "approval": a.Approval, "hash": a.Hash, "tool": a.Tool,
				"agent_path": a.Agent, "role": a.Role, "text": a.Text, "options": a.Options, "decide": a.Decide,
			}))
		}
		s.Message = spoken(x, "ask", parts...)
	case bridge.StateFailed:
		text := "the run failed (" + string(r.Kind) + ")"
		if r.Message != "" {
			text += ": " + r.Message
		}
		s.Message = spoken(x, "failure", a2a.NewTextPart(text))
	case bridge.StateRuns, bridge.StateDone, bridge.StateCancelled:
	}
	return s
}

// spoken is a message of the agent. Its id is the same no matter who asks.
func spoken(x *bridge.UserTurn, id string, parts ...*a2a.Part) *a2a.Message {
	m := a2a.NewMessageForTask(a2a.MessageRoleAgent, info(x), parts...)
	m.ID = x.Message + "." + id
	return m
}

// updates turns news into events of the protocol.
type updates struct {
	x     *bridge.UserTurn
	yield func(a2a.Event) bool
	begun map[string]bool
}

// tell sends news. Beats are the transport's.
func (u *updates) tell(n bridge.News) error {
	switch {
	case n.Beat:
		return nil
	case n.Event != nil:
		return u.happened(*n.Event)
	case n.Text == "" && n.Whole == "":
		return nil
	}
	e := &a2a.TaskArtifactUpdateEvent{
		TaskID: a2a.TaskID(u.x.String()), ContextID: u.x.Conversation, Artifact: artifact(n.Message, n.Text),
		Append: u.begun[n.Message] && !n.Again, LastChunk: n.Whole != "",
	}
	u.begun[n.Message] = true
	return u.send(e)
}

// happened tells what agents do as the task's status.
func (u *updates) happened(e progress.Event) error {
	line := bridge.Doing(e)
	if line == "" {
		return nil
	}
	status := a2a.NewStatusUpdateEvent(info(u.x), a2a.TaskStateWorking, spoken(u.x, "doing", a2a.NewTextPart(line)))
	at := e.At.UTC()
	status.Status.Timestamp = &at
	status.Metadata = map[string]any{extension: map[string]any{
		"type": string(e.Type), "seq": e.Seq, "ts": at.Format(time.RFC3339Nano), "agent_path": e.Agent, "role": e.Role,
	}}
	return u.send(status)
}

func (u *updates) send(e a2a.Event) error {
	if !u.yield(e) {
		return errLeft
	}
	return nil
}
