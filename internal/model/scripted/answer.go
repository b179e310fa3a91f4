package scripted

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

// defaultChunk is how many characters a delta has when nobody says otherwise.
const defaultChunk = 24

// answer is a reply to one request before it is laid out for a wire.
type answer struct {
	id       string
	model    string
	thinking string
	text     string
	calls    []toolCall
	stop     Stop
	// usage is the billed usage. told is the usage in the reply; nil leaves it out.
	usage Usage
	told  *Usage
	// chunk, pace and delay are how it is sent.
	chunk       int
	pace, delay time.Duration
}

// toolCall is a call as it goes over a wire: args is text, and not always JSON.
type toolCall struct {
	id, tool, args string
	// nameless keeps the id empty.
	nameless bool
}

// answerTo makes the answer of a reply to a request. The fault spoils the content before it is
// named and counted, and the reported count after that.
func (s *Script) answerTo(q *ask, r Reply, caught map[string]string, f Fault) (*answer, error) {
	out := &answer{
		id: q.print[:24], model: cmp.Or(r.Model, q.Model), text: expand(r.Text, caught), stop: r.Stop,
		chunk: cmp.Or(r.Chunk, s.Chunk, defaultChunk), pace: cmp.Or(r.Pace, s.Pace), delay: r.Delay,
	}
	if q.Thinking || (s.ReasoningContent && q.Provider == OpenAI) {
		out.thinking = expand(r.Thinking, caught)
	}
	for i, c := range r.Calls {
		args := expand(c.Raw, caught)
		if c.Raw == "" {
			text, err := marshal(expandValue(c.Args, caught))
			if err != nil {
				return nil, fmt.Errorf("arguments of call %d: %w", i, err)
			}
			args = string(text)
		}
		out.calls = append(out.calls, toolCall{id: c.ID, tool: c.Tool, args: args})
	}
	if ordered, ok := q.order(); ok && r.Obey {
		out.text, out.calls = "", []toolCall{ordered}
	}
	if f.answer != nil {
		f.answer(q, out, r.Fault)
	}
	nameCalls(q, out)
	if out.stop == "" {
		out.stop = StopEnd
		if len(out.calls) > 0 {
			out.stop = StopTools
		}
	}
	if r.Usage != nil {
		out.usage = *r.Usage
	} else {
		out.count(q)
	}
	told := out.usage
	out.told = &told
	if f.told != nil {
		f.told(out, r.Fault)
	}
	return out, nil
}

// nameCalls gives each call without an id one that is derived from the request.
func nameCalls(q *ask, out *answer) {
	prefix := "toolu_"
	if q.Provider == OpenAI {
		prefix = "call_"
	}
	for i := range out.calls {
		if out.calls[i].id == "" && !out.calls[i].nameless {
			out.calls[i].id = prefix + digest(q.print, fmt.Sprint(i))[:24]
		}
	}
}

// count sets the usage from the answer. The bill has no more output than was asked for.
func (a *answer) count(q *ask) {
	size := len(a.thinking) + len(a.text)
	for _, c := range a.calls {
		size += len(c.tool) + len(c.args)
	}
	a.usage = Usage{Input: q.Input, Output: max(1, request.Tokens(size))}
	if q.Most > 0 {
		a.usage.Output = min(a.usage.Output, q.Most)
	}
	a.usage.Reasoning = min(request.Tokens(len(a.thinking)), a.usage.Output)
}

// digest is a name made of other names.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// marshal writes JSON as providers do, without escaping for HTML.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// chunks cuts a text into pieces of n characters.
func chunks(text string, n int) []string {
	var out []string
	for text != "" {
		end, count := len(text), 0
		for i := range text {
			if count == n {
				end = i
				break
			}
			count++
		}
		out, text = append(out, text[:end]), text[end:]
	}
	return out
}
