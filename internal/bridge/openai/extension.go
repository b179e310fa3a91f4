package openai

import (
	"time"

	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// restartWait is how long another server may take to start.
const restartWait = 2 * time.Second

// extension holds fields that OpenAI's API lacks. Clients that do not know it ignore it.
type extension struct {
	Conversation string       `json:"conversation"`
	Message      string       `json:"message"`
	Status       bridge.State `json:"status"`
	// Pending are the questions and approvals that wait for a person.
	Pending []bridge.Ask `json:"pending,omitempty"`
	Agents  []worker     `json:"agents,omitempty"`
	Cost    int64        `json:"cost_micro_usd,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	// Event is what an agent just did. Restarted means that the following text replaces the earlier
	// text of the same message.
	Event     *happening `json:"event,omitempty"`
	Restarted bool       `json:"restarted,omitempty"`
}

// worker is an agent that had a share in the answer.
type worker struct {
	Agent  string      `json:"agent_path"`
	Role   string      `json:"role"`
	Status chat.Status `json:"status"`
	Input  int64       `json:"input_tokens"`
	Output int64       `json:"output_tokens"`
	Cost   int64       `json:"cost_micro_usd"`
}

// happening is an event of the conversation.
type happening struct {
	Type   wire.EventType `json:"type"`
	Seq    int64          `json:"seq"`
	At     time.Time      `json:"ts"`
	Agent  string         `json:"agent_path,omitempty"`
	Role   string         `json:"role,omitempty"`
	Tool   string         `json:"tool,omitempty"`
	Status chat.Status    `json:"status,omitempty"`
	Text   string         `json:"text,omitempty"`
}

func extend(x *bridge.UserTurn, s bridge.State) *extension {
	return &extension{Conversation: x.Conversation, Message: x.Message, Status: s}
}

// summary is the extension of an answer.
func summary(x *bridge.UserTurn, r bridge.Result) *extension {
	e := extend(x, r.State)
	e.Pending, e.Cost, e.Reason = x.Asks(r.Pending), r.Usage.Cost, r.Reason
	for _, a := range r.Agents {
		e.Agents = append(e.Agents, worker{
			Agent: a.ID, Role: a.Role, Status: a.Status, Input: a.Usage.Input, Output: a.Usage.Output, Cost: a.Usage.Cost,
		})
	}
	return e
}

// happened is the extension of an event.
func happened(x *bridge.UserTurn, e progress.Event) *extension {
	out := extend(x, bridge.StateRuns)
	out.Event = &happening{
		Type: e.Type, Seq: e.Seq, At: e.At.UTC(), Agent: e.Agent, Role: e.Role, Tool: e.Tool, Status: e.Status,
	}
	if e.Type != wire.ToolReturned { // the output of a tool can be read where it is kept
		out.Event.Text = e.Text
	}
	return out
}
