package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// ledger is what a careful caller puts down as spent.
type ledger struct{ input, output int64 }

// add enters one call. A use that nobody can know is entered as the most it can have been.
func (l *ledger) add(req model.Request, e end) {
	switch {
	case e.err == nil:
		l.input += e.reply.Usage.Input
		l.output += e.reply.Usage.Output
	case e.err.Unmetered:
		l.input += max(req.Estimate(), e.err.Usage.Input)
		l.output += max(req.MaxOutput, e.err.Usage.Output)
	default:
		l.input += e.err.Usage.Input
		l.output += e.err.Usage.Output
	}
}

// hold compares the books with the server's meter: we may have put down more, never less.
func (l *ledger) hold(t *testing.T, m scripted.Meter) {
	t.Helper()
	if l.input < m.Billed.Input || l.output < m.Billed.Output {
		t.Errorf("our books say %d + %d tokens, the provider bills %d + %d",
			l.input, l.output, m.Billed.Input, m.Billed.Output)
	}
}

// faithful compares a reply with the model's script: everything, once, in order, and nothing else.
// A call can be run only if its arguments came as a whole object.
func faithful(t *testing.T, r row, e end, want said) {
	t.Helper()
	var text string
	var calls []chat.Part
	ids := map[string]bool{}
	for i, p := range e.reply.Parts {
		switch p.Kind {
		case chat.PartText:
			text += p.Text
		case chat.PartToolUse:
			calls = append(calls, p)
			if p.Call == "" || ids[p.Call] {
				t.Errorf("part %d: an empty or repeated call id %q", i, p.Call)
			}
			ids[p.Call] = true
		case chat.PartThinking:
			if p.Text != plain.Thinking {
				t.Errorf("thinking is %q", p.Text)
			}
		case chat.PartImage, chat.PartToolResult:
			t.Errorf("part %d is of kind %s", i, p.Kind)
		}
	}
	if r.id == "L17" { // one byte of the first delta cannot be text
		text, want.text = "", ""
	}
	if text != want.text {
		t.Errorf("text is %.100q of %d bytes, want %.100q of %d", text, len(text), want.text, len(want.text))
	}
	if len(calls) != len(want.calls) {
		t.Fatalf("%d calls, want %d: %+v", len(calls), len(want.calls), calls)
	}
	for i, c := range calls {
		sameCall(t, c, want.calls[i], slices.Contains(e.reply.Malformed, c.Call))
	}
	heard(t, e)
}

func sameCall(t *testing.T, got chat.Part, want asked, malformed bool) {
	t.Helper()
	if got.Tool != want.tool {
		t.Errorf("call of %q, want %q", got.Tool, want.tool)
	}
	var object map[string]any
	runnable := json.Unmarshal([]byte(want.args), &object) == nil && object != nil
	if runnable == malformed {
		t.Errorf("arguments %.80q are marked malformed: %t", want.args, malformed)
	}
	if runnable && got.Args != want.args {
		t.Errorf("arguments are %.80q, want %.80q", got.Args, want.args)
	}
	if malformed && !strings.HasPrefix(got.Args, `{"malformed":`) {
		t.Errorf("malformed arguments are kept as %.80q", got.Args)
	}
}

// heard wants the deltas to add up to the reply, part by part.
func heard(t *testing.T, e end) {
	t.Helper()
	parts := map[int]*strings.Builder{}
	for _, d := range e.deltas {
		if parts[d.Part] == nil {
			parts[d.Part] = &strings.Builder{}
		}
		parts[d.Part].WriteString(d.Text)
	}
	for i, p := range e.reply.Parts {
		want := p.Text
		if p.Kind == chat.PartToolUse {
			want = p.Args
			if slices.Contains(e.reply.Malformed, p.Call) {
				continue
			}
		}
		// Parts may arrive in another order than their deltas.
		found := false
		for _, text := range parts {
			found = found || text.String() == want
		}
		if !found {
			t.Errorf("part %d was not told as it is: %.100q", i, want)
		}
	}
}

// sendOn puts a reply into the transcript, answers its calls and asks again: a strict provider must
// take whatever became of a fault.
func sendOn(t *testing.T, client model.Client, req model.Request, reply model.Reply) {
	t.Helper()
	if len(reply.Parts) == 0 {
		return
	}
	answer := chat.Message{ID: "5", Speaker: chat.User}
	for _, p := range reply.Parts {
		if p.Kind == chat.PartToolUse {
			answer.Parts = append(answer.Parts, chat.Part{
				Kind: chat.PartToolResult, Call: p.Call, Text: "done", Failed: slices.Contains(reply.Malformed, p.Call),
			})
		}
	}
	if answer.Parts == nil {
		answer.Parts = []chat.Part{{Kind: chat.PartText, Text: "Go on."}}
	}
	said := chat.Message{ID: "4", Speaker: chat.Assistant, Parts: reply.Parts}
	req.Transcript = append(slices.Clone(req.Transcript), said, answer)
	req.Turn++
	req.Idle = 0
	if _, err := client.Generate(t.Context(), req, nil); err != nil {
		t.Error(fmt.Errorf("send the reply on: %w", err))
	}
}
