package api

import (
	"context"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// The states of a message that a person posted.
const (
	// stateReceived means that it is recorded, and cannot be lost any more.
	stateReceived = "received"
	// stateDelivered means that the orchestrator has it, and reads it when its model is asked next.
	stateDelivered = "delivered"
	// stateRead means that it is part of what a model was sent, or answered a question.
	stateRead = "read"
)

// readWindow is how much of the orchestrator's transcript is looked through for what it has read
// last. Any older message has been read: each message of the transcript takes in all that waits.
const readWindow = 20

// states fills in how far the messages of people have come. The state of the conversation is nil if
// the caller has not read it.
func (s *Server) states(ctx context.Context, ref journal.Ref, list []wire.Message, state *journal.Snapshot) error {
	var keys []string
	for _, m := range list {
		if m.Number > 0 {
			keys = append(keys, deliveredKey(m))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	entries, err := s.options.Log.Find(ctx, ref, keys...)
	if err != nil {
		return err
	}
	delivered := map[string]bool{}
	for _, e := range entries {
		delivered[e.Row.Key()] = true
	}
	read, err := s.readSoFar(ctx, ref, state)
	if err != nil {
		return err
	}
	for i, m := range list {
		switch {
		case m.Number == 0:
		case !delivered[deliveredKey(m)]:
			list[i].State = stateReceived
		case read.has(m):
			list[i].State = stateRead
		default:
			list[i].State = stateDelivered
		}
	}
	return nil
}

func deliveredKey(m wire.Message) string { return journal.MailDelivered{ID: "message:" + m.ID}.Key() }

// reading is how far the orchestrator has read.
type reading struct {
	// last is the last message it read, and before the entry before which it has read everything.
	last, before int64
	// answers are the messages that answered a question.
	answers map[int64]bool
}

// has reports whether a message has been read. Messages are read in order, but for those that
// answer.
func (r reading) has(m wire.Message) bool {
	return m.Number <= r.last || m.Seq < r.before || r.answers[m.Number]
}

// readSoFar finds out how far the orchestrator has read.
func (s *Server) readSoFar(ctx context.Context, ref journal.Ref, state *journal.Snapshot) (reading, error) {
	if state == nil {
		now, err := s.options.Log.Snapshot(ctx, ref)
		if err != nil {
			return reading{}, err
		}
		state = &now
	}
	messages, err := s.options.Log.Transcript(ctx, ref, chat.Root, journal.Page{Limit: readWindow})
	if err != nil {
		return reading{}, err
	}
	out := reading{answers: map[int64]bool{}}
	if len(messages) == readWindow {
		out.before = messages[0].Seq
	}
	for _, m := range messages {
		for _, number := range m.Reads {
			out.last = max(out.last, number)
		}
	}
	return out, s.answered(ctx, ref, state.Questions, out.answers)
}

// answered finds the messages that answered questions lately.
func (s *Server) answered(
	ctx context.Context, ref journal.Ref, questions []journal.Question, answers map[int64]bool,
) error {
	var keys []string
	for _, q := range questions[max(0, len(questions)-readWindow):] {
		if q.Status == journal.QuestionStatusClosed {
			keys = append(keys, journal.QuestionAnswered{Question: q.ID}.Key())
		}
	}
	if len(keys) == 0 {
		return nil
	}
	entries, err := s.options.Log.Find(ctx, ref, keys...)
	for _, e := range entries {
		if r, ok := e.Row.(journal.QuestionAnswered); ok && r.Number > 0 {
			answers[r.Number] = true
		}
	}
	return err
}
