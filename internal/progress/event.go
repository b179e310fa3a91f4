package progress

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/wire"
)

// Event is one thing that happened, in the words of the tree. Its names are a promise to programs.
type Event struct {
	Type         wire.EventType `json:"type"`
	Seq          int64          `json:"seq"`
	At           time.Time      `json:"ts"`
	Conversation string         `json:"conversation"`
	// Agent is the agent's path from the orchestrator down. ParentCall names the call, as agent#call,
	// that a sub-agent was made by.
	Agent      string          `json:"agent_path,omitempty"`
	ParentCall string          `json:"parent_call,omitempty"`
	Role       string          `json:"role,omitempty"`
	Background bool            `json:"background,omitempty"`
	Status     chat.Status     `json:"status,omitempty"`
	Kind       chat.ErrorKind  `json:"error_kind,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Text       string          `json:"text,omitempty"`
	Message    string          `json:"message,omitempty"`
	Call       string          `json:"call,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	Question   string          `json:"question,omitempty"`
	Options    []string        `json:"options,omitempty"`
	By         string          `json:"by,omitempty"`
	// Duration is in milliseconds.
	Duration int64  `json:"duration_ms,omitempty"`
	Usage    *Usage `json:"usage,omitempty"`
	// Receipt compares an agent's claims with its effects.
	Receipt *receipt.Receipt `json:"receipt,omitempty"`
}

// ToolCalled is the type of a call in an agent's message. All others are those of the wire.
const ToolCalled wire.EventType = "tool.called"

// Usage is what model calls used, in tokens.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	// Unpriced counts the calls whose price is not known, which the cost leaves out.
	Unpriced int64 `json:"unpriced_calls,omitempty"`
	// Cost is in US dollars.
	Cost float64 `json:"cost_usd"`
}

func usageOf(u chat.Usage) Usage {
	return Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
		Unpriced: u.Unpriced, Cost: float64(u.Cost) / 1e6,
	}
}

// Spent is what all agents used, as programs read it.
func (t *Tree) Spent() Usage { return usageOf(t.Usage()) }

// Spent is what the agent used, as programs read it.
func (a Agent) Spent() Usage { return usageOf(a.Usage) }

// Brief is a call in a few words: the tool and its subject.
func Brief(tool, args string) string {
	var about struct {
		Path, Pattern, Command, URL, Query, Question string
		Tasks                                        []json.RawMessage
	}
	if json.Unmarshal([]byte(args), &about) != nil {
		return tool
	}
	for _, what := range []string{about.Command, about.URL, about.Pattern, about.Path, about.Query, about.Question} {
		if what != "" {
			return tool + " " + Short(what, briefWidth)
		}
	}
	return tool
}

// briefWidth is how much of a call's subject is shown.
const briefWidth = 60

// Short is the beginning of a text in one line of at most width characters.
func Short(text string, width int) string {
	text = strings.Map(printable, strings.Join(strings.Fields(text), " "))
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return strings.TrimRight(string([]rune(text)[:width-1]), " ") + "…"
}

// Exact is JSON in one line. Characters that a terminal would act on, or not show, are written as
// JSON escapes.
func Exact(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// printable leaves out characters that a terminal would act on: texts of models and tools are
// shown, never obeyed.
func printable(r rune) rune {
	if r < ' ' || (r >= 0x7f && r < 0xa0) {
		return -1
	}
	return r
}

func parentOf(id string) string { return string(chat.AgentPath(id).Parent()) }
