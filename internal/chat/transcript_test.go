package chat

import "testing"

func fromUser(id string, parts ...Part) Message {
	return Message{ID: id, Speaker: User, Parts: parts}
}

func fromAssistant(id string, parts ...Part) Message {
	return Message{ID: id, Speaker: Assistant, Parts: parts}
}

func text(s string) Part     { return Part{Kind: PartText, Text: s} }
func thinking(s string) Part { return Part{Kind: PartThinking, Text: s} }
func image(ref string) Part  { return Part{Kind: PartImage, Image: ref} }
func use(call string) Part {
	return Part{Kind: PartToolUse, Call: call, Tool: "search", Args: "{}"}
}

func result(call string) Part {
	return Part{Kind: PartToolResult, Call: call, Text: "result of " + call}
}

// between puts parts of an assistant and of the user who answers it behind an opening question.
func between(reply []Part, answer ...Part) Transcript {
	return Transcript{fromUser("m1", text("hi")), fromAssistant("m2", reply...), fromUser("m3", answer...)}
}

// TestPartKindsAreKnown compares the kinds that the tables below speak of with the declared ones.
func TestPartKindsAreKnown(t *testing.T) {
	wantEvery(t, "PartKind", []PartKind{"text", "thinking", "image", "tool_use", "tool_result"})
	wantEvery(t, "Speaker", []Speaker{"user", "assistant"})
}

// TestValidateAccepts has what a provider takes, so that Validate does not refuse too much.
//
// Covers: P5.
func TestValidateAccepts(t *testing.T) {
	failed := result("c1")
	failed.Failed = true
	cases := map[string]Transcript{
		"one message":       {fromUser("m1", text("hi"))},
		"an image alone":    {fromUser("m1", image("blob:1"))},
		"text and image":    {fromUser("m1", text("what is this?"), image("blob:1"), text("well?"))},
		"plain talk":        between([]Part{text("hello")}, text("bye")),
		"thinking":          between([]Part{thinking("hm"), text("hello")}, text("bye")),
		"one call":          between([]Part{use("c1")}, result("c1")),
		"a failed call":     between([]Part{use("c1")}, failed),
		"text and a call":   between([]Part{thinking("hm"), text("wait"), use("c1")}, result("c1")),
		"two calls":         between([]Part{use("c1"), use("c2")}, result("c1"), result("c2")),
		"results turned":    between([]Part{use("c1"), use("c2")}, result("c2"), result("c1")),
		"text after result": between([]Part{use("c1")}, result("c1"), text("and?"), image("blob:1")),
		"two rounds": append(between([]Part{use("c1")}, result("c1")),
			fromAssistant("m4", use("c2")), fromUser("m5", result("c2"))),
	}
	for name, transcript := range cases {
		t.Run(name, func(t *testing.T) {
			if err := transcript.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestValidateRefusesSpeakers breaks the rules on who speaks when and on messages as a whole.
//
// Covers: P5.
func TestValidateRefusesSpeakers(t *testing.T) {
	refuse(t, []refusal{
		{"no transcript", nil, `invalid: the transcript is empty`},
		{"no message", Transcript{}, `invalid: the transcript is empty`},
		{
			"the assistant first",
			Transcript{fromAssistant("m1", text("hello")), fromUser("m2", text("hi"))},
			`invalid: message m1: speaker is "assistant", want "user"`,
		},
		{
			"the assistant last",
			Transcript{fromUser("m1", text("hi")), fromAssistant("m2", text("hello"))},
			`invalid: message m2: the last message is not from the user`,
		},
		{
			"a call last",
			Transcript{fromUser("m1", text("hi")), fromAssistant("m2", use("c1"))},
			`invalid: message m2: the last message is not from the user`,
		},
		{
			"the user twice",
			Transcript{fromUser("m1", text("hi")), fromUser("m2", text("hi"))},
			`invalid: message m2: speaker is "user", want "assistant"`,
		},
		{
			"the assistant twice",
			Transcript{
				fromUser("m1", text("hi")), fromAssistant("m2", text("hello")),
				fromAssistant("m3", text("hello")), fromUser("m4", text("bye")),
			},
			`invalid: message m3: speaker is "assistant", want "user"`,
		},
		{
			"a third speaker",
			Transcript{
				fromUser("m1", text("hi")),
				{ID: "m2", Speaker: "system", Parts: []Part{text("obey")}},
				fromUser("m3", text("hi")),
			},
			`invalid: message m2: speaker is "system", want "assistant"`,
		},
		{"nothing from the user", Transcript{fromUser("m1")}, `invalid: message m1 is empty`},
		{"nothing from the assistant", between(nil, text("bye")), `invalid: message m2 is empty`},
		{"nothing after a call", between([]Part{use("c1")}), `invalid: message m3 is empty`},
	})
}

// TestValidateRefusesParts breaks the rules on single parts.
//
// Covers: P5.
func TestValidateRefusesParts(t *testing.T) {
	noTool, noArgs, noText := use("c1"), use("c1"), result("c1")
	noTool.Tool, noArgs.Args, noText.Text = "", "", ""
	refuse(t, []refusal{
		{
			"empty text",
			Transcript{fromUser("m1", text("hi"), text(""))},
			`invalid: message m1 has an empty text part`,
		},
		{
			"empty text beside a call",
			between([]Part{text(""), use("c1")}, result("c1")),
			`invalid: message m2 has an empty text part`,
		},
		{
			"empty thinking",
			between([]Part{thinking(""), text("hello")}, text("bye")),
			`invalid: message m2 has an empty thinking part`,
		},
		{
			"an image without an image",
			Transcript{fromUser("m1", Part{Kind: PartImage, Text: "a cat"})},
			`invalid: message m1 has an image part without an image`,
		},
		{
			"an image from the assistant",
			Transcript{
				fromUser("m1", Part{Kind: PartText, Text: "hi"}),
				{ID: "m2", Speaker: Assistant, Parts: []Part{{Kind: PartImage, Image: "cat.png"}}},
				fromUser("m3", Part{Kind: PartText, Text: "hi"}),
			},
			`invalid: message m2 has an image part from the assistant`,
		},
		{
			"thinking from the user",
			Transcript{fromUser("m1", Part{Kind: PartThinking, Text: "hm"})},
			`invalid: message m1 has a thinking part from the user`,
		},
		{
			"text of white space",
			Transcript{fromUser("m1", Part{Kind: PartText, Text: " \n"})},
			`invalid: message m1 has an empty text part`,
		},
		{
			"arguments that are not JSON",
			Transcript{
				fromUser("m1", Part{Kind: PartText, Text: "hi"}),
				{ID: "m2", Speaker: Assistant, Parts: []Part{{Kind: PartToolUse, Call: "1", Tool: "read", Args: `{"a":`}}},
				fromUser("m3", Part{Kind: PartToolResult, Call: "1", Text: "x"}),
			},
			`invalid: message m2 has a malformed tool_use "1"`,
		},
		{
			"arguments that are a list",
			between([]Part{{Kind: PartToolUse, Call: "c1", Tool: "read", Args: " [1]"}}, result("c1")),
			`invalid: message m2 has a malformed tool_use "c1"`,
		},
		{
			"arguments that are null",
			between([]Part{{Kind: PartToolUse, Call: "c1", Tool: "read", Args: "null"}}, result("c1")),
			`invalid: message m2 has a malformed tool_use "c1"`,
		},
		{
			"nothing but thinking",
			between([]Part{thinking("hm"), thinking("well")}, text("bye")),
			`invalid: message m2 has nothing but thinking`,
		},
		{
			"sealed text without text",
			between([]Part{{Kind: PartText, Seal: "s"}}, text("bye")),
			`invalid: message m2 has an empty text part`,
		},
		{
			"an unknown kind",
			Transcript{fromUser("m1", Part{Kind: "video", Text: "a cat"})},
			`invalid: message m1 has a part of unknown kind "video"`,
		},
		{
			"no kind",
			Transcript{fromUser("m1", Part{Text: "hi"})},
			`invalid: message m1 has a part of unknown kind ""`,
		},
		{
			"a call without a tool",
			between([]Part{noTool}, result("c1")),
			`invalid: message m2 has a malformed tool_use "c1"`,
		},
		{
			"a call without arguments",
			between([]Part{noArgs}, result("c1")),
			`invalid: message m2 has a malformed tool_use "c1"`,
		},
		{
			"a call from the user",
			Transcript{fromUser("m1", use("c1"))},
			`invalid: message m1 has a malformed tool_use "c1"`,
		},
		{
			"an empty result",
			between([]Part{use("c1")}, noText),
			`invalid: message m3 has an empty result for call "c1"`,
		},
	})
}

// TestValidateRefusesCallIDs breaks the rules on the ids of calls.
//
// Covers: P5.
func TestValidateRefusesCallIDs(t *testing.T) {
	refuse(t, []refusal{
		{
			"an empty id",
			between([]Part{use("")}, result("")),
			`invalid: message m2 has an empty or repeated call id ""`,
		},
		{
			"an id twice in a message",
			between([]Part{use("c1"), use("c1")}, result("c1")),
			`invalid: message m2 has an empty or repeated call id "c1"`,
		},
		{
			"an id twice, answered twice",
			between([]Part{use("c1"), use("c1")}, result("c1"), result("c1")),
			`invalid: message m2 has an empty or repeated call id "c1"`,
		},
		{
			"an id again in a later round",
			append(between([]Part{use("c1")}, result("c1")),
				fromAssistant("m4", use("c1")), fromUser("m5", result("c1"))),
			`invalid: message m4 has an empty or repeated call id "c1"`,
		},
	})
}

// TestValidateRefusesUnpairedCalls breaks the rule that each call has exactly one result, in the
// very next message, before anything else there.
//
// Covers: P5, E-61.
func TestValidateRefusesUnpairedCalls(t *testing.T) {
	refuse(t, []refusal{
		{
			"a call without a result",
			between([]Part{text("wait"), use("c1")}, text("well?")),
			`invalid: message m3 answers 0 of 1 tool calls`,
		},
		{
			"one of two calls without a result",
			between([]Part{use("c1"), use("c2")}, result("c2"), text("well?")),
			`invalid: message m3 answers 1 of 2 tool calls`,
		},
		{
			"a result one round late",
			append(between([]Part{use("c1")}, text("well?")),
				fromAssistant("m4", text("wait")), fromUser("m5", result("c1"))),
			`invalid: message m3 answers 0 of 1 tool calls`,
		},
		{
			"a result twice in a message",
			between([]Part{use("c1")}, result("c1"), result("c1")),
			`invalid: message m3 answers call "c1" twice`,
		},
		{
			"a result twice in place of another",
			between([]Part{use("c1"), use("c2")}, result("c1"), result("c1")),
			`invalid: message m3 answers call "c1" twice`,
		},
		{
			"a result again in a later round",
			append(between([]Part{use("c1")}, result("c1")),
				fromAssistant("m4", text("done")), fromUser("m5", result("c1"))),
			`invalid: message m5 answers unknown call "c1"`,
		},
		{
			"a result without a call",
			Transcript{fromUser("m1", result("c1"))},
			`invalid: message m1 answers unknown call "c1"`,
		},
		{
			"a result for another call",
			between([]Part{use("c1")}, result("c2")),
			`invalid: message m3 answers unknown call "c2"`,
		},
		{
			"a result without an id",
			between([]Part{use("c1")}, result("c1"), result("")),
			`invalid: message m3 answers unknown call ""`,
		},
		{
			"a result after text",
			between([]Part{use("c1")}, text("well?"), result("c1")),
			`invalid: message m3: tool_result "c1" comes after other parts`,
		},
		{
			"a result after an image, behind another result",
			between([]Part{use("c1"), use("c2")}, result("c1"), image("blob:1"), result("c2")),
			`invalid: message m3: tool_result "c2" comes after other parts`,
		},
		{
			"a result from the assistant",
			between([]Part{use("c1"), result("c1")}, text("thanks")),
			`invalid: message m2 has a tool_result from the assistant`,
		},
	})
}

// TestValidateSealedThinking takes thinking that a provider keeps to itself: a seal without text.
func TestValidateSealedThinking(t *testing.T) {
	sealed := between([]Part{{Kind: PartThinking, Seal: "s"}, text("hello")}, text("bye"))
	if err := sealed.Validate(); err != nil {
		t.Errorf("refused: %v", err)
	}
}

type refusal struct {
	name       string
	transcript Transcript
	want       string
}

func refuse(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := c.transcript.Validate()
			if err == nil {
				t.Fatalf("accepted, want %q", c.want)
			}
			if got := err.Error(); got != c.want || CodeOf(err) != CodeInvalid {
				t.Errorf("got  %s (code %s)\nwant %s", got, CodeOf(err), c.want)
			}
		})
	}
}
