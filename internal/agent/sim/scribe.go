package sim

import (
	"fmt"
	"strconv"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// Scribe writes down the transcript that a run produces, the way a journal would, and checks it
// against the rules before every model call.
type Scribe struct {
	rows []chat.Message
	// results has the calls of the last reply that have a result.
	results map[string]bool
	// calls are the calls of the last reply, until their results are appended.
	calls []string
}

// NewScribe starts a transcript. A sub-agent's begins with its task.
func NewScribe(subAgent bool) *Scribe {
	s := &Scribe{results: map[string]bool{}}
	if subAgent {
		s.rows = append(s.rows, text("task", chat.User))
	}
	return s
}

func text(id string, who chat.Speaker) chat.Message {
	return chat.Message{ID: id, Speaker: who, Parts: []chat.Part{{Kind: chat.PartText, Text: "text"}}}
}

// Write writes one accepted step.
func (s *Scribe) Write(e agent.Event, effects []agent.Effect) error {
	switch e := e.(type) {
	case agent.Replied:
		s.reply(e)
	case agent.ToolDone:
		if e.Result == agent.ToolOK || e.Result == agent.ToolFailed {
			if err := s.result(e.Call); err != nil {
				return err
			}
		}
	default:
	}
	for _, effect := range effects {
		if err := s.effect(effect); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scribe) reply(e agent.Replied) {
	msg := chat.Message{ID: strconv.Itoa(e.Turn), Speaker: chat.Assistant}
	if e.Text {
		msg.Parts = append(msg.Parts, chat.Part{Kind: chat.PartText, Text: "text"})
	}
	for i, c := range e.Calls {
		id := strconv.Itoa(e.Turn) + "." + strconv.Itoa(i)
		msg.Parts = append(msg.Parts, chat.Part{Kind: chat.PartToolUse, Call: id, Tool: c.Tool, Args: "{}"})
		s.calls = append(s.calls, id)
	}
	if len(msg.Parts) > 0 {
		s.rows = append(s.rows, msg)
	}
}

func (s *Scribe) result(call string) error {
	if s.results[call] {
		return fmt.Errorf("transcript: call %s got a second result", call)
	}
	s.results[call] = true
	return nil
}

func (s *Scribe) effect(effect agent.Effect) error {
	switch e := effect.(type) {
	case agent.Settle:
		return s.result(e.Call)
	case agent.Append:
		return s.append(e)
	case agent.CallModel:
		if err := chat.Join(s.rows).Validate(); err != nil {
			return fmt.Errorf("transcript: %w", err)
		}
	case agent.EndTurn, agent.Finish:
		if len(s.calls) > 0 {
			return fmt.Errorf("transcript: the end leaves %d calls without a result", len(s.calls))
		}
	default:
	}
	return nil
}

func (s *Scribe) append(e agent.Append) error {
	msg := chat.Message{ID: "u" + strconv.Itoa(e.Serial), Speaker: chat.User}
	if e.Results != len(s.calls) {
		return fmt.Errorf("transcript: %d results appended for %d calls", e.Results, len(s.calls))
	}
	for i, id := range s.calls {
		if id != strconv.Itoa(e.Turn)+"."+strconv.Itoa(i) || !s.results[id] {
			return fmt.Errorf("transcript: call %s has no result", id)
		}
		msg.Parts = append(msg.Parts, chat.Part{Kind: chat.PartToolResult, Call: id, Text: "result"})
	}
	for range len(e.Reads) + len(e.Notices) + len(e.Notes) {
		msg.Parts = append(msg.Parts, chat.Part{Kind: chat.PartText, Text: "text"})
	}
	if len(msg.Parts) == 0 {
		return fmt.Errorf("transcript: an empty message was appended")
	}
	s.rows = append(s.rows, msg)
	s.calls = s.calls[:0]
	clear(s.results)
	return nil
}
