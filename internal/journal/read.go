package journal

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Transcript returns the last messages of an agent that were not voided.
func (v *View) Transcript(agent string, page Page) []Message {
	return lastMessages(v.messages, page, func(m message) bool {
		return m.Agent == agent && m.Number == 0 && !v.isVoid(m)
	})
}

// Chat returns the last of what people and the orchestrator said.
func (v *View) Chat(page Page) []Message {
	return lastMessages(v.messages, page, func(m message) bool { return m.chat && !v.isVoid(m) })
}

func (v *View) isVoid(m message) bool {
	return m.Speaker == chat.Assistant && v.voided[VoidKey(m.Agent, m.Turn)]
}

func lastMessages(messages []message, page Page, keep func(message) bool) []Message {
	var out []Message
	for _, m := range messages {
		if keep(m) && (page.Before == 0 || m.Seq < page.Before) {
			out = append(out, m.Message)
		}
	}
	return out[max(0, len(out)-page.Size()):]
}

// ModelCalls returns the last model calls of an agent.
func (v *View) ModelCalls(agent string, page Page) []ModelCall {
	var out []ModelCall
	for _, c := range v.modelCalls {
		if c.Agent == agent && (page.Before == 0 || c.Seq < page.Before) {
			out = append(out, c)
		}
	}
	return out[max(0, len(out)-page.Size()):]
}

// ToolCalls returns the last tool calls of an agent.
func (v *View) ToolCalls(agent string, page Page) []ToolCall {
	var out []ToolCall
	for _, c := range v.toolCalls {
		if c.Agent != agent || (page.Before != 0 && c.Seq >= page.Before) {
			continue
		}
		c.ToolCall.Status = CallState(c.result, c.started, c.wanted && !c.closed,
			v.voided[VoidKey(c.Agent, c.Turn)])
		out = append(out, c.ToolCall)
	}
	return out[max(0, len(out)-page.Size()):]
}

// CallState is the status of a tool call by what is known of it, in whatever order it was learnt.
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

// Inbox returns what waits for a person, the oldest first.
func (v *View) Inbox() []Waiting {
	var out []Waiting
	for _, q := range v.questions {
		if q.Status == QuestionStatusRelayed {
			out = append(out, Waiting{
				Conversation: v.conversation.ID, Seq: q.Seq, At: q.At, Agent: q.Agent, Task: q.Task,
				Key: QuestionAsked{Question: q.ID}.Key(), Until: q.Until, PrivateTo: v.conversation.PrivateTo,
			})
		}
	}
	for _, a := range v.approvals {
		if a.Status == ApprovalStatusOpen {
			out = append(out, Waiting{
				Conversation: v.conversation.ID, Seq: a.Seq, At: a.At, Agent: a.Agent, Task: a.Task,
				Key: ApprovalRequested{In: In{Agent: a.Agent}, Call: a.Call}.Key(), Until: a.Until, PrivateTo: v.conversation.PrivateTo,
			})
		}
	}
	slices.SortFunc(out, func(a, b Waiting) int { return int(a.Seq - b.Seq) })
	return out
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

// Cursor names a place in the list of conversations: what comes after this one.
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

// Search returns the messages of people and models that hold all words of a query.
func (v *View) Search(query Query) []Hit {
	var out []Hit
	want := Split(query.Words)
	for _, m := range v.messages {
		spoken := m.Number > 0 || m.Speaker == chat.Assistant
		if !spoken || v.isVoid(m) || (!m.chat && !query.SubAgents) || len(want) == 0 {
			continue
		}
		text := Words(m.Parts)
		have := Split(text)
		if slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) }) {
			continue
		}
		out = append(out, Hit{
			Conversation: v.conversation.ID, Seq: m.Seq, At: m.At, Agent: m.Agent,
			Speaker: m.Speaker, Text: text,
		})
	}
	return out
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
