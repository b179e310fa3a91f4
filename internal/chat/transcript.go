package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Speaker is who a message is from, as providers see it.
type Speaker string

// The two speakers of a transcript. Instructions to the model travel outside it.
const (
	User      Speaker = "user"
	Assistant Speaker = "assistant"
)

// PartKind is the type of one block of a message.
type PartKind string

// The kinds of parts.
const (
	PartText       PartKind = "text"
	PartThinking   PartKind = "thinking"
	PartImage      PartKind = "image"
	PartToolUse    PartKind = "tool_use"
	PartToolResult PartKind = "tool_result"
)

// Part is one typed block of a message.
type Part struct {
	Kind PartKind `json:"kind"`
	// Text is the text, the thinking, or the content of a tool result.
	Text string `json:"text,omitempty"`
	// Call is the id that ties a tool_use to its tool_result, and an image to the result that it is of.
	Call string `json:"call,omitempty"`
	// Tool is the name of the tool that a tool_use asks for.
	Tool string `json:"tool,omitempty"`
	// Args is the JSON text of a tool_use's arguments.
	Args string `json:"args,omitempty"`
	// Image is a reference to an image, and Failed marks a tool_result that reports an error.
	Image  string `json:"image,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// Seal is what a provider attached to a thinking part to know it again. It is opaque, and goes
	// back unchanged with the part to the same provider.
	Seal string `json:"seal,omitempty"`
}

// Message is an ordered list of parts from one speaker.
type Message struct {
	ID      string  `json:"id"`
	Speaker Speaker `json:"speaker"`
	Parts   []Part  `json:"parts"`
}

// Transcript is the input of a model: messages in order.
type Transcript []Message

// Join makes a transcript out of recorded messages: neighbours from the user become one message,
// tool results first. A turn that was cut off leaves two such neighbours, and providers want the
// speakers to alternate. Neighbours from the assistant are left alone: they are a fault that
// Validate reports.
func Join(recorded []Message) Transcript {
	var out Transcript
	for _, msg := range recorded {
		last := len(out) - 1
		if last < 0 || msg.Speaker != User || out[last].Speaker != User {
			out = append(out, Message{ID: msg.ID, Speaker: msg.Speaker, Parts: resultsFirst(msg.Parts)})
			continue
		}
		out[last].Parts = resultsFirst(append(out[last].Parts, msg.Parts...))
	}
	return out
}

func resultsFirst(parts []Part) []Part {
	out := make([]Part, 0, len(parts))
	for _, p := range parts {
		if p.Kind == PartToolResult {
			out = append(out, p)
		}
	}
	for _, p := range parts {
		if p.Kind != PartToolResult {
			out = append(out, p)
		}
	}
	return out
}

// Validate reports the first reason for which a provider would refuse the transcript, or nil. It
// holds: the user speaks first and last, speakers alternate, no message or part is empty or from
// the wrong speaker, the arguments of a tool_use are a JSON object, call ids are unique, and each
// tool_use has exactly one tool_result, in the very next message, before anything else there.
// Thinking never stands alone, since it does not travel to every provider; when it is sealed it may
// be without text.
func (t Transcript) Validate() error {
	if len(t) == 0 {
		return invalid("the transcript is empty")
	}
	if last := t[len(t)-1]; last.Speaker != User {
		return invalid("message %s: the last message is not from the user", last.ID)
	}
	seen := map[string]bool{}
	var open []string
	for i, msg := range t {
		want := User
		if i%2 == 1 {
			want = Assistant
		}
		if msg.Speaker != want {
			return invalid("message %s: speaker is %q, want %q", msg.ID, msg.Speaker, want)
		}
		if len(msg.Parts) == 0 {
			return invalid("message %s is empty", msg.ID)
		}
		answered, err := validateParts(msg, open)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(msg.Parts, func(p Part) bool { return p.Kind != PartThinking }) {
			return invalid("message %s has nothing but thinking", msg.ID)
		}
		if len(answered) != len(open) {
			return invalid("message %s answers %d of %d tool calls", msg.ID, len(answered), len(open))
		}
		if open, err = uses(msg, seen); err != nil {
			return err
		}
	}
	return nil
}

// validateParts checks each part and returns the ids of the open calls that the message answers.
func validateParts(msg Message, open []string) (map[string]bool, error) {
	answered := map[string]bool{}
	other := false
	for _, p := range msg.Parts {
		switch p.Kind {
		case PartText, PartThinking:
			sealed := p.Kind == PartThinking && p.Seal != ""
			if strings.TrimSpace(p.Text) == "" && !sealed {
				return nil, invalid("message %s has an empty %s part", msg.ID, p.Kind)
			}
			if p.Kind == PartThinking && msg.Speaker != Assistant {
				return nil, invalid("message %s has a thinking part from the user", msg.ID)
			}
		case PartImage:
			if p.Image == "" {
				return nil, invalid("message %s has an image part without an image", msg.ID)
			}
			if msg.Speaker != User {
				return nil, invalid("message %s has an image part from the assistant", msg.ID)
			}
			if p.Call != "" && !answered[p.Call] {
				return nil, invalid("message %s has an image of call %q, whose result is missing", msg.ID, p.Call)
			}
		case PartToolUse:
			if msg.Speaker != Assistant || p.Tool == "" || !Object(p.Args) {
				return nil, invalid("message %s has a malformed tool_use %q", msg.ID, p.Call)
			}
		case PartToolResult:
			switch {
			case msg.Speaker != User:
				return nil, invalid("message %s has a tool_result from the assistant", msg.ID)
			case other:
				return nil, invalid("message %s: tool_result %q comes after other parts", msg.ID, p.Call)
			case answered[p.Call]:
				return nil, invalid("message %s answers call %q twice", msg.ID, p.Call)
			case !slices.Contains(open, p.Call):
				return nil, invalid("message %s answers unknown call %q", msg.ID, p.Call)
			case strings.TrimSpace(p.Text) == "":
				return nil, invalid("message %s has an empty result for call %q", msg.ID, p.Call)
			}
			answered[p.Call] = true
		default:
			return nil, invalid("message %s has a part of unknown kind %q", msg.ID, p.Kind)
		}
		other = other || p.Kind != PartToolResult
	}
	return answered, nil
}

// uses returns the calls that a message opens, and refuses empty and repeated ids.
func uses(msg Message, seen map[string]bool) ([]string, error) {
	var open []string
	for _, p := range msg.Parts {
		if p.Kind != PartToolUse {
			continue
		}
		if p.Call == "" || seen[p.Call] {
			return nil, invalid("message %s has an empty or repeated call id %q", msg.ID, p.Call)
		}
		seen[p.Call] = true
		open = append(open, p.Call)
	}
	return open, nil
}

// Object reports whether a text is one whole JSON object, as the arguments of a call must be.
func Object(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}

func invalid(format string, args ...any) error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
}
