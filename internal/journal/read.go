package journal

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/retinue-dev/retinue/internal/chat"
)

// CallState is the status of a tool call by its known facts, which may come in any order.
func CallState(result CallStatus, started, waiting, voided bool) CallStatus {
	switch {
	case result != "":
		return result
	case voided:
		return CallSkipped
	case started:
		return CallRunning
	case waiting:
		return CallWaiting
	}
	return CallPending
}

// MessageOf is the message that an entry of kind said or spoke holds; other entries hold none.
func MessageOf(e Entry) Message {
	switch r := e.Row.(type) {
	case MessageReceived:
		return Message{
			Seq: e.Seq, Number: e.Number, At: e.At, By: r.By,
			Message: chat.Message{ID: r.ID, Speaker: chat.User, Parts: r.Parts},
		}
	case MessageAdded:
		return Message{Seq: e.Seq, At: e.At, Agent: r.Agent, Turn: r.Turn, Reads: r.Reads, Message: r.Message}
	default:
		return Message{}
	}
}

// Cursor names a place in the list of conversations: a page begins after it.
func (c Conversation) Cursor() string {
	return strconv.FormatInt(c.UpdatedAt.UnixMilli(), 10) + "/" + c.ID
}

// ParseCursor reads a cursor. The empty one stands before the whole list.
func ParseCursor(cursor string) (at time.Time, id string, err error) {
	if cursor == "" {
		return time.UnixMilli(1 << 47).UTC(), "", nil
	}
	stamp, id, ok := strings.Cut(cursor, "/")
	ms, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || !ok {
		return at, "", refused("the cursor is not one of ours: start without one")
	}
	return time.UnixMilli(ms).UTC(), id, nil
}

// A search knows words of up to maxWord bytes, and maxWords bytes of them per message.
const (
	maxWord  = 100
	maxWords = 100_000
)

// Split cuts a text into the words that a search knows: letters and digits, in lower case, sorted
// and once each. Every store searches these and not words of its own.
func Split(text string) []string {
	var words []string
	size := 0
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if size += len(word); size > maxWords {
			break
		}
		if len(word) <= maxWord {
			words = append(words, strings.ToLower(word))
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}
