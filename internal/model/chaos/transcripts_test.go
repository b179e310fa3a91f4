package chaos

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// TestEveryTranscriptIsTaken sends random conversations that chat calls valid over both wires to a
// server that refuses whatever a provider would. Run it for longer with -rapid.checks=100000.
//
// Covers: P5.
func TestEveryTranscriptIsTaken(t *testing.T) {
	server := serve(t, &scripted.Script{Default: &scripted.Reply{Text: "ok"}}, scripted.Options{})
	sent := 0
	for _, a := range adapters {
		client := a.dial(t, server, "k")
		rapid.Check(t, func(rt *rapid.T) {
			req := request("hello")
			req.Effort, req.Turn = "", 100
			req.Transcript = transcript(rt)
			if err := req.Transcript.Validate(); err != nil {
				rt.Fatalf("drew a transcript that is not valid: %v", err)
			}
			sent++
			if _, err := client.Generate(t.Context(), req, nil); err != nil {
				meter := server.Meter()
				rt.Fatalf("%s: %v\n%s", a.provider, err, meter.Attempts[len(meter.Attempts)-1].Message)
			}
		})
	}
	if m := settled(t, server); m.Requests != sent || m.Refused != 0 {
		t.Errorf("%d requests for %d calls, %d refused", m.Requests, sent, m.Refused)
	}
}

// words draws text as people and models write it: any characters, but not only space.
func words(t *rapid.T, name string) string {
	return rapid.StringN(1, 40, 200).Filter(func(s string) bool { return strings.TrimSpace(s) != "" }).Draw(t, name)
}

// transcript draws a valid conversation: rounds of talk and calls, the user first and last.
func transcript(t *rapid.T) chat.Transcript {
	var out chat.Transcript
	say := func(who chat.Speaker, parts []chat.Part) {
		out = append(out, chat.Message{ID: fmt.Sprint(len(out)), Speaker: who, Parts: parts})
	}
	say(chat.User, []chat.Part{{Kind: chat.PartText, Text: words(t, "task")}})
	for turn := range rapid.IntRange(0, 4).Draw(t, "rounds") {
		var said, answers []chat.Part
		if rapid.Bool().Draw(t, "talks") {
			said = append(said, chat.Part{Kind: chat.PartText, Text: words(t, "talk")})
		}
		for i := range rapid.IntRange(1-len(said), 3).Draw(t, "calls") {
			id := fmt.Sprintf("%d.%d", turn, i)
			said = append(said, chat.Part{
				Kind: chat.PartToolUse, Call: id, Tool: rapid.StringMatching(`[a-zA-Z0-9_-]{1,64}`).Draw(t, "tool"),
				Args: rapid.SampledFrom([]string{`{}`, `{"path":"a \u0000 b"}`, `{ "x" : [1, null] }`}).Draw(t, "args"),
			})
			answers = append(answers, chat.Part{
				Kind: chat.PartToolResult, Call: id, Text: words(t, "result"), Failed: rapid.Bool().Draw(t, "failed"),
			})
		}
		say(chat.Assistant, said)
		if len(answers) == 0 || rapid.Bool().Draw(t, "interjects") {
			answers = append(answers, chat.Part{Kind: chat.PartText, Text: words(t, "more")})
		}
		say(chat.User, answers)
	}
	return out
}
