package chat

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRandomConversations joins a random conversation, which must be accepted, and then damages a
// copy of it with each fault in turn, at a random place, which must be refused. Run it for longer
// with -rapid.checks=200000.
//
// Covers: P5, E-61.
func TestRandomConversations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded := conversation(t)
		before := copied(recorded)
		joined := Join(recorded)
		if !slices.EqualFunc(before, recorded, sameMessage) {
			t.Fatalf("Join changed its input from\n%sto\n%s", show(before), show(recorded))
		}
		if !slices.Equal(said(joined), said(recorded)) || !slices.Equal(done(joined), done(recorded)) {
			t.Fatalf("Join lost, made or moved parts:\n%sout of\n%s", show(joined), show(recorded))
		}
		if err := joined.Validate(); err != nil {
			t.Fatalf("refused: %v\n%s", err, show(joined))
		}

		for _, f := range faults {
			places := f.places(joined)
			if len(places) == 0 {
				continue
			}
			at := rapid.SampledFrom(places).Draw(t, f.name)
			damaged := f.apply(t, copied(joined), at)
			if err := damaged.Validate(); CodeOf(err) != CodeInvalid {
				t.Fatalf("%s at %+v: error is %v, want a refusal\n%s", f.name, at, err, show(damaged))
			}
		}
	})
}

// conversation draws the messages of some rounds as they are recorded. Calls are answered in the
// order of their requests. A turn that is cut off, and a user who speaks while tools run, leave
// neighbours from the user.
func conversation(t *rapid.T) []Message {
	var recorded []Message
	record := func(speaker Speaker, parts ...Part) {
		id := fmt.Sprintf("m%d", len(recorded)+1)
		recorded = append(recorded, Message{ID: id, Speaker: speaker, Parts: parts})
	}
	listen := func(results []Part) {
		for i, p := range input(t, results) {
			if i == 0 || rapid.IntRange(0, 3).Draw(t, "cut off") == 0 {
				record(User, p)
				continue
			}
			last := &recorded[len(recorded)-1]
			last.Parts = append(last.Parts, p)
		}
	}
	listen(nil)
	calls := 0
	for range rapid.IntRange(0, 5).Draw(t, "rounds") {
		var parts, results []Part
		if rapid.Bool().Draw(t, "thinks") {
			parts = append(parts, thinking("hm"))
		}
		least := 1
		if rapid.Bool().Draw(t, "talks") {
			parts = append(parts, text("wait"))
			least = 0
		}
		for range rapid.IntRange(least, 3).Draw(t, "calls") {
			calls++
			id := fmt.Sprintf("c%d", calls)
			parts, results = append(parts, use(id)), append(results, result(id))
		}
		record(Assistant, parts...)
		listen(results)
	}
	return recorded
}

// input draws the user's side before the assistant speaks again: the results, and words in front of
// them and behind them.
func input(t *rapid.T, results []Part) []Part {
	least := 0
	if len(results) == 0 {
		least = 1
	}
	words := make([]Part, rapid.IntRange(least, 2).Draw(t, "words"))
	for i := range words {
		words[i] = rapid.SampledFrom([]Part{text("well?"), image("blob:1")}).Draw(t, "word")
	}
	early := rapid.IntRange(0, len(words)).Draw(t, "early words")
	return slices.Concat(words[:early], results, words[early:])
}

// said returns all parts but the results, in order.
func said(messages []Message) []Part {
	return collect(messages, func(p Part) bool { return p.Kind != PartToolResult })
}

// done returns all results, in order.
func done(messages []Message) []Part { return collect(messages, isResult) }

func collect(messages []Message, keep func(Part) bool) []Part {
	var parts []Part
	for _, msg := range messages {
		for _, p := range msg.Parts {
			if keep(p) {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

func sameMessage(a, b Message) bool {
	return a.ID == b.ID && a.Speaker == b.Speaker && slices.Equal(a.Parts, b.Parts)
}

// show lays messages out for a person, one in a line.
func show(messages []Message) string {
	var out strings.Builder
	for _, msg := range messages {
		fmt.Fprintf(&out, "%s %s:", msg.ID, msg.Speaker)
		for _, p := range msg.Parts {
			fmt.Fprintf(&out, " [%s %s%q]", p.Kind, p.Call, p.Text+p.Image+p.Args)
		}
		out.WriteString("\n")
	}
	return out.String()
}
