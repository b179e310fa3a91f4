package api

import (
	"context"

	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// snapshotMarks is how many of the last notes and ends of turns a snapshot has.
const snapshotMarks = 200

// marks are the notes and the ends of turns that belong to the shown messages of a conversation as
// it was after an event.
func (s *Server) marks(ctx context.Context, ref journal.Ref, shown []wire.Message, seq int64) ([]wire.Note, []wire.EndedTurn, error) {
	entries, err := s.options.Log.Marks(ctx, ref, journal.Page{Limit: snapshotMarks, Before: seq + 1})
	first := int64(0)
	if len(shown) == snapshotMessages { // what came before is shown when somebody asks for it
		first = shown[0].Seq
	}
	notes, turns := []wire.Note{}, []wire.EndedTurn{}
	for _, e := range entries {
		if e.Seq < first {
			continue
		}
		switch r := e.Row.(type) {
		case journal.NoteAdded:
			notes = append(notes, wire.Note{Seq: e.Seq, At: e.At.UTC(), Agent: r.Agent, Task: r.Task, Noted: events.Noted(r)})
		case journal.TurnEnded:
			turns = append(turns, wire.EndedTurn{Seq: e.Seq, At: e.At.UTC(), Agent: r.Agent, Task: r.Task, TurnEnd: events.TurnEnd(r)})
		default: // nothing else is a mark
		}
	}
	return notes, turns, err
}
