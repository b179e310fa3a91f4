package leg

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
)

func TestSubmissionsReadWell(t *testing.T) {
	for args, want := range map[string]string{
		`{"summary":"Done."}`: "Done.",
		`{"summary":"Done.","details":"Two files.","files_modified":["a.go","b.go"],"tests_run":3,"tests_passed":2}`: "Done.\n\n" +
			"Two files.\n\nFiles modified: a.go; b.go\n\nTests: 2 of 3 passed",
		`{"summary":"Done.","details":{"lines":7}}`: "Done.\n\n{\"lines\":7}",
		`{"result":"42"}`:                                       "42",
		`{"error":"No.","partial":"Half of it."}`:               "Half of it.",
		`{"summary":"Done.","files_modified":"not a list"}`:     "Done.",
		`{"summary":"Done.","details":null,"warnings":["odd"]}`: "Done.\n\nWarnings: odd",
	} {
		if got := submission(args).text(); got != want {
			t.Errorf("%s reads %q, want %q", args, got, want)
		}
	}
}

// TestSideTurnsLeaveOpenCallsOut checks a side turn's transcript against what a provider takes: no
// call without its result.
func TestSideTurnsLeaveOpenCallsOut(t *testing.T) {
	say := func(speaker chat.Speaker, parts ...chat.Part) chat.Message {
		return chat.Message{ID: "x", Speaker: speaker, Parts: parts}
	}
	text := chat.Part{Kind: chat.PartText, Text: "hello"}
	use := chat.Part{Kind: chat.PartToolUse, Call: "1.0", Tool: "grep", Args: "{}"}
	asked := say(chat.User, text)
	for name, c := range map[string]struct{ messages, want []chat.Message }{
		"nothing":      {},
		"open call":    {[]chat.Message{asked, say(chat.Assistant, text, use)}, []chat.Message{asked}},
		"plain answer": {[]chat.Message{asked, say(chat.Assistant, text)}, []chat.Message{asked, say(chat.Assistant, text)}},
	} {
		got := answered(c.messages)
		if diff := cmp.Diff(c.want, got); diff != "" && len(got)+len(c.want) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSideEndsLeaveDoubtsToThePerson(t *testing.T) {
	l := &leg{Carrier: New(Options{})}
	reply := func(text string, parts ...chat.Part) model.Reply {
		return model.Reply{Parts: append(parts, chat.Part{Kind: chat.PartText, Text: text})}
	}
	route := agent.CallSide{Side: 1, Kind: agent.SideRoute, Questions: []string{"a#1.0"}}
	for text, want := range map[string]agent.Routed{
		"Here you are: {\"route\": \"answer\", \"questions\": [\"a#1.0\"]}": {Side: 1, Route: agent.RouteAnswer, Questions: []string{"a#1.0"}},
		`{"route": "answer"}`:  {Side: 1, Route: agent.RouteAnswer, Questions: []string{"a#1.0"}},
		`{"route": "unclear"}`: {Side: 1, Route: agent.RouteUnclear},
		`{"route": "dance"}`:   {Side: 1, Route: agent.RouteRequest},
		`I cannot tell.`:       {Side: 1, Route: agent.RouteRequest},
		``:                     {Side: 1, Route: agent.RouteRequest},
	} {
		got, _ := l.sideEnd(route, reply(text), chat.Usage{}).(agent.Routed)
		got.At = agent.At{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	resolve := agent.CallSide{Side: 2, Kind: agent.SideResolve, Question: "a#1.0"}
	answer := func(args string) chat.Part {
		return chat.Part{Kind: chat.PartToolUse, Call: "0.0", Tool: agent.ToolReply, Args: args}
	}
	for args, want := range map[string]agent.Resolved{
		`{"question_id":"a#1.0","answer":"Alice","confidence":0.9}`: {Side: 2, Answered: true, Confidence: 90},
		`{"question_id":"b#1.0","answer":"Alice","confidence":0.9}`: {Side: 2},
		`{"question_id":"a#1.0","confidence":0.9}`:                  {Side: 2},
	} {
		got, _ := l.sideEnd(resolve, reply("", answer(args)), chat.Usage{}).(agent.Resolved)
		got.At = agent.At{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}

func TestMessageIDsOfResumedAgentsDiffer(t *testing.T) {
	first := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	second := journal.In{Agent: "main/1.0.0", Task: "main/4.0.0"}
	if a, b := messageID(first, "m", 1), messageID(second, "m", 1); a == b || strings.Contains(b, "/") {
		t.Errorf("ids %q and %q: they must differ and be short", a, b)
	}
}
