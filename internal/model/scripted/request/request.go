// Package request reads the requests to the scripted model from both wires into one form. It
// refuses those that the provider would refuse, in words close to the provider's. It imports
// nothing of ours.
package request

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

// Request is a request as rules see it, whichever wire it came over.
type Request struct {
	Provider Provider
	Model    string
	System   string
	// Role is what a line "role: name" of the system prompt says.
	Role string
	// Turn is how many messages of the assistant came before.
	Turn int
	// Text is the user's last words, Results the tool results of the last message.
	Text    string
	Results []string
	// Pictures are the bytes of what the last message shows.
	Pictures []string
	Tools    []string
	// Thinking is whether the reply may show it, Stream and Counted how it is to be sent.
	Thinking bool
	Stream   bool
	Counted  bool
	// Input is our count of the request's tokens, and Most the tokens the reply may have.
	Input int64
	Most  int64
}

// Provider is whose wire a request came over.
type Provider string

// The providers.
const (
	Anthropic Provider = "anthropic"
	OpenAI    Provider = "openai"
)

// Reading is how a request is read. The zero value is strict.
type Reading struct {
	// Lax accepts every request that can be understood at all.
	Lax bool
	// Counting is for requests that only want to know their size: they need no max_tokens.
	Counting bool
}

// Refusal is a request turned down. Param is the field that OpenAI's errors name.
type Refusal struct {
	Status         int
	Message, Param string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// bad is a request that cannot be understood or must not be sent.
func bad(param, format string, args ...any) *Refusal {
	return &Refusal{http.StatusBadRequest, fmt.Sprintf(format, args...), param}
}

// Tokens is our count for a text of so many bytes.
func Tokens(size int) int64 { return int64(size+3) / 4 }

// sealKey makes seals that no client can. It is no secret: the sealed text is scripted.
const sealKey = "retinue scripted model"

// Seal is the signature of a thinking block: it shows that the text came from here.
func Seal(thinking string) string {
	mac := hmac.New(sha256.New, []byte(sealKey))
	mac.Write([]byte(thinking))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

var roleLine = regexp.MustCompile(`(?mi)^\s*role:\s*([\w.-]+)\s*$`)

// roleOf reads the model's role from its instructions.
func roleOf(system string) string {
	if m := roleLine.FindStringSubmatch(system); m != nil {
		return m[1]
	}
	return ""
}

// content is a list of blocks, or one text written without a list.
type content []block

// block is one block of content on either wire, with the fields that either gives it.
type block struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text"`
	Thinking     *string         `json:"thinking"`
	Signature    *string         `json:"signature"`
	Data         *string         `json:"data"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      content         `json:"content"`
	Source       json.RawMessage `json:"source"`
	ImageURL     json.RawMessage `json:"image_url"`
	Refusal      *string         `json:"refusal"`
	CacheControl *struct{}       `json:"cache_control"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(text []byte) error {
	var plain string
	if json.Unmarshal(text, &plain) == nil && string(text) != "null" {
		*c = content{{Type: "text", Text: &plain}}
		return nil
	}
	return json.Unmarshal(text, (*[]block)(c))
}

// text is all text of some content.
func (c content) text() string {
	out := ""
	for _, b := range c {
		if b.Type != "text" || b.Text == nil {
			continue
		}
		if out != "" {
			out += "\n"
		}
		out += *b.Text
	}
	return out
}

// size is how many bytes of the content a model would read.
func (c content) size() int {
	n := 0
	for _, b := range c {
		for _, p := range []*string{b.Text, b.Thinking, b.Refusal} {
			if p != nil {
				n += len(*p)
			}
		}
		n += len(b.Name) + len(b.Input) + b.Content.size()
	}
	return n
}

// unknownField returns the first field of a JSON object that is not known, in order of name.
func unknownField(body []byte, known map[string]bool) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !known[name] {
			return name
		}
	}
	return ""
}

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

var (
	callID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	// toolName is Anthropic's; OpenAI allows 64 characters.
	toolName   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	openaiName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// isObject reports whether a schema describes an object.
func isObject(schema json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}
