package api

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
)

// Note is a line for people, between the messages of a chat.
type Note struct {
	Seq   int64     `json:"seq"`
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Task  string    `json:"task"`
	NotedData
}

// TurnEnd is the end of a turn of the orchestrator.
type TurnEnd struct {
	Seq   int64     `json:"seq"`
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Task  string    `json:"task"`
	TurnData
}

// snapshotMarks is how many of the last notes and ends of turns a snapshot has.
const snapshotMarks = 200

// marks are the notes and the ends of turns that belong to the shown messages of a conversation as it
// was after an event.
func (s *Server) marks(ctx context.Context, ref journal.Ref, shown []Message, seq int64) ([]Note, []TurnEnd, error) {
	entries, err := s.options.Log.Marks(ctx, ref, journal.Page{Limit: snapshotMarks, Before: seq + 1})
	first := int64(0)
	if len(shown) == snapshotMessages { // what came before is shown when somebody asks for it
		first = shown[0].Seq
	}
	notes, turns := []Note{}, []TurnEnd{}
	for _, e := range entries {
		if e.Seq < first {
			continue
		}
		switch r := e.Row.(type) {
		case journal.NoteAdded:
			notes = append(notes, Note{Seq: e.Seq, At: e.At.UTC(), Agent: r.Agent, Task: r.Task, NotedData: notedOf(r)})
		case journal.TurnEnded:
			turns = append(turns, TurnEnd{Seq: e.Seq, At: e.At.UTC(), Agent: r.Agent, Task: r.Task, TurnData: turnOf(r)})
		default: // nothing else is a mark
		}
	}
	return notes, turns, err
}

func notedOf(r journal.NoteAdded) NotedData {
	return NotedData{Note: r.Note, Text: r.Text, Question: r.Question, Number: r.Number}
}

func turnOf(r journal.TurnEnded) TurnData {
	return TurnData{
		Turn: r.Turn, Status: string(r.Status), Kind: string(r.ErrorKind), Reason: r.Reason, By: r.By, Cut: r.Cut,
	}
}
