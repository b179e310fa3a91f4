package progress

import (
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/wire"
)

// Writing is what the orchestrator is writing, put together of deltas. The zero value is ready.
type Writing struct {
	message string
	draft   live.Draft
	parts   int
}

// Delta takes a delta as a server streams it, as Add does.
func (w *Writing) Delta(d wire.Delta) (Update, bool) {
	return w.Add(live.Delta{
		Agent: d.Agent, Message: d.Message, Began: d.Began, Part: d.Part, Kind: chat.PartKind(d.Kind), Tool: d.Tool,
		Offset: d.Offset, Text: d.Text,
	})
}

// Add takes a delta and returns the text so far; false if it is not of the orchestrator's words.
func (w *Writing) Add(d live.Delta) (Update, bool) {
	if chat.AgentPath(d.Agent).Depth() > 0 || d.Kind != chat.PartText {
		return Update{}, false
	}
	if d.Message != w.message {
		*w = Writing{message: d.Message}
	}
	w.draft.Add(d)
	w.parts = max(w.parts, d.Part+1)
	var words []string // joined as journal.Words does
	for i := range w.parts {
		if text := w.draft.Part(i); text != "" {
			words = append(words, text)
		}
	}
	return Update{Draft: strings.Join(words, "\n"), Message: d.Message}, true
}
