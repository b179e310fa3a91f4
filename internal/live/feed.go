package live

import (
	"strings"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Feed turns the pieces of one reply into deltas with offsets. It belongs to one goroutine.
type Feed struct {
	bus  Bus
	head Delta
	// ends holds how many bytes of each part have been published.
	ends map[int]int64
}

// NewFeed begins a reply. Topic, Agent, Message and Began are taken from head.
func NewFeed(bus Bus, head Delta) *Feed {
	f := &Feed{bus: bus, head: head}
	f.Restart(head.Began)
	return f
}

// Restart begins the reply again, at a later time than before.
func (f *Feed) Restart(began int64) {
	f.head.Began = began
	f.ends = map[int]int64{}
}

// Write publishes one piece of a part, in as many deltas as it takes. Bytes that are not UTF-8 are
// replaced.
func (f *Feed) Write(part int, kind chat.PartKind, tool, text string) {
	d := f.head
	d.Part, d.Kind, d.Tool = part, kind, tool
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	for {
		d.Offset = f.ends[part]
		d.Text = text[:cut(text)]
		f.ends[part] += int64(len(d.Text))
		f.bus.Publish(d)
		text = text[len(d.Text):]
		if text == "" {
			return
		}
		d.Tool = ""
	}
}

// cut is the length of the longest beginning of a text that fits into a delta and ends with a whole
// character.
func cut(text string) int {
	if len(text) <= MaxText {
		return len(text)
	}
	end := MaxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}
