package journaltest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// story draws rows that could have happened: causes come before what they cause, and otherwise
// anything goes.
type story struct {
	t      *rapid.T
	serial int
	said   int
	tasks  []*job
	posts  []string
}

// job is what the story remembers of a task.
type job struct {
	journal.In
	depth, turn, step, moves int
	requests, calls, asks    []string
	approvals                []string
}

func (s *story) next() string {
	s.serial++
	return strconv.Itoa(s.serial)
}

// opening is how every story begins.
func (s *story) opening() []journal.Row {
	root := journal.In{Agent: "root", Task: "root"}
	s.tasks = []*job{{In: root}}
	return []journal.Row{
		journal.Opened{By: "ann", Title: "a title", Workspace: "w", PrivateTo: "u1"},
		journal.TaskAssigned{In: root, Role: "main", MaxIterations: 50, MaxDuration: 600_000},
	}
}

// row draws the next row.
func (s *story) row() journal.Row {
	j := rapid.SampledFrom(s.tasks).Draw(s.t, "task")
	switch rapid.IntRange(0, 11).Draw(s.t, "about") {
	case 0:
		return s.conversation()
	case 1:
		return s.person()
	case 2:
		return s.assign(j)
	case 3:
		return s.move(j)
	case 4, 5, 6:
		return s.speak(j)
	case 7, 8:
		return s.model(j)
	case 9:
		return s.tool(j)
	case 10:
		return s.question(j)
	}
	return s.approval(j)
}

func (s *story) flip(label string) bool { return rapid.Bool().Draw(s.t, label) }

func (s *story) text() string {
	return rapid.SampledFrom([]string{
		"plain words", "zero\x00byte", "two\nlines", "smile 🙂 now", `quote " and ' and \`, "ünïcode",
		"<b>&amp;</b>", "a lone \xff byte",
	}).Draw(s.t, "text")
}

func (s *story) conversation() journal.Row {
	switch rapid.IntRange(0, 4).Draw(s.t, "conversation row") {
	case 0:
		return journal.Titled{ID: s.next(), Title: s.text()}
	case 1:
		id := s.next()
		s.posts = append(s.posts, id)
		return journal.MailPosted{ID: id, Topic: "message", To: rapid.SampledFrom([]string{"", "root", "root/1.0.0"}).Draw(s.t, "to")}
	case 2:
		if len(s.posts) > 0 {
			return journal.MailDelivered{ID: rapid.SampledFrom(s.posts).Draw(s.t, "post"), Back: rapid.Bool().Draw(s.t, "back")}
		}
	case 3:
		return journal.Shared{By: "ann"}
	}
	return journal.Titled{ID: s.next()}
}

func (s *story) person() journal.Row {
	s.said++
	return journal.MessageReceived{
		ID: s.next(), By: "ann", Parts: []chat.Part{
			{Kind: chat.PartText, Text: s.text()}, {Kind: chat.PartImage, Image: "blob:1"},
		},
		Decline: s.flip("decline"),
	}
}

func (s *story) assign(j *job) journal.Row {
	in := journal.In{Agent: j.Agent + "/" + s.next()}
	in.Task = in.Agent
	parent, depth := j.Agent, j.depth+1
	if s.flip("resume") {
		in, parent, depth = journal.In{Agent: j.Agent, Task: j.Agent + "@" + s.next()}, "root", j.depth
	}
	s.tasks = append(s.tasks, &job{In: in, depth: depth, turn: j.turn})
	return journal.TaskAssigned{
		In: in, Parent: parent, Call: fmt.Sprintf("%d.0", j.turn), Item: s.serial % 3, Depth: depth,
		Trigger: int64(s.said), Role: "coder", RoleHash: "abc", Background: s.flip("background"),
		Instruction: s.text(), Criteria: "it works", ContextMode: "none", MaxIterations: 30,
		MaxDuration: 300_000, Brief: json.RawMessage(`{"depth":1,"nul":"a\u0000b","lone":"\ud800"}`),
	}
}

func (s *story) move(j *job) journal.Row {
	switch rapid.IntRange(0, 4).Draw(s.t, "move") {
	case 0:
		return journal.TaskEnded{
			In: j.In, Status: chat.StatusFailed, ErrorKind: chat.KindTimedOut, Reason: "time",
			Message: s.text(), Summary: s.text(), Result: json.RawMessage(`{"summary":"x"}`),
			Files: []string{"a.go"}, Iterations: 3, Outcome: json.RawMessage(`{"n":1}`),
		}
	case 1:
		j.step++
		return journal.Stepped{In: j.In, N: j.step, Event: json.RawMessage(`{"name":"Ticked"}`)}
	case 2:
		return journal.NoteAdded{In: j.In, Serial: s.serial, Note: "kept_as_request", Text: s.text()}
	}
	j.moves++
	return journal.StatusChanged{
		In: j.In, Serial: j.moves, Reason: chat.WaitApproval,
		Status: rapid.SampledFrom([]chat.Status{
			chat.StatusRunning, chat.StatusWaiting, chat.StatusQueued, chat.StatusCompleted, // the last is what an idle orchestrator is
		}).Draw(s.t, "status"),
	}
}

func (s *story) speak(j *job) journal.Row {
	switch rapid.IntRange(0, 5).Draw(s.t, "speak") {
	case 0:
		return journal.ReplyVoided{In: j.In, Turn: rapid.IntRange(1, j.turn+2).Draw(s.t, "turn")}
	case 1, 2:
		return journal.MessageAdded{In: j.In, Message: chat.Message{
			ID: "u" + s.next(), Speaker: chat.User, Parts: []chat.Part{
				{Kind: chat.PartToolResult, Call: "1.0", Text: s.text(), Failed: s.flip("failed")},
				{Kind: chat.PartText, Text: s.text()},
			},
		}}
	}
	for _, other := range s.tasks {
		if other.Agent == j.Agent {
			j.turn = max(j.turn, other.turn)
		}
	}
	j.turn++
	parts := []chat.Part{{Kind: chat.PartThinking, Text: s.text()}, {Kind: chat.PartText, Text: s.text()}}
	for i := range rapid.IntRange(0, 2).Draw(s.t, "calls") {
		call := fmt.Sprintf("%d.%d", j.turn, i)
		j.calls = append(j.calls, call)
		parts = append(parts, chat.Part{Kind: chat.PartToolUse, Call: call, Tool: "grep", Args: `{"a":1}`})
	}
	return journal.MessageAdded{In: j.In, Turn: j.turn, Message: chat.Message{
		ID: fmt.Sprintf("t%d", j.turn), Speaker: chat.Assistant, Parts: parts,
	}}
}

func (s *story) model(j *job) journal.Row {
	if len(j.requests) == 0 || s.flip("request") {
		call := s.next()
		j.requests = append(j.requests, call)
		return journal.ModelCalled{
			In: j.In, Call: call, Type: journal.RequestContinuation, Turn: j.turn + 1, Attempt: 1,
			Model: "m", Prompt: "hash", ContextTokens: 10, HoldTokens: 100, HoldCost: 7,
		}
	}
	return journal.ModelReplied{
		In: j.In, Call: rapid.SampledFrom(j.requests).Draw(s.t, "request"),
		Status: rapid.SampledFrom([]chat.Status{chat.StatusCompleted, chat.StatusFailed}).Draw(s.t, "end"),
		Model:  rapid.SampledFrom([]string{"", "m-2"}).Draw(s.t, "model"), Message: "why",
		Usage: chat.Usage{
			Input: 11, Output: 5, CacheRead: 3, CacheWrite: 2, Reasoning: 1, Cost: 40, Unpriced: 1,
		},
		Unmetered: s.flip("unmetered"), First: 3, Waited: 4, Duration: 50,
		Parts: []chat.Part{{Kind: chat.PartText, Text: "a side turn"}},
	}
}

func (s *story) tool(j *job) journal.Row {
	if len(j.calls) == 0 {
		return s.speak(j)
	}
	call := rapid.SampledFrom(j.calls).Draw(s.t, "call")
	if s.flip("start") {
		return journal.ToolStarted{
			In: j.In, Call: call, Attempt: rapid.IntRange(1, 2).Draw(s.t, "attempt"), Worker: "w1",
			Class: "once",
		}
	}
	return journal.ToolReturned{
		In: j.In, Call: call, Text: s.text(), Facts: json.RawMessage(`{"exit":0}`), Duration: 9,
		Status: rapid.SampledFrom([]journal.CallStatus{
			journal.CallCompleted, journal.CallFailed, journal.CallIndeterminate,
		}).Draw(s.t, "result"),
	}
}

func (s *story) question(j *job) journal.Row {
	if len(j.asks) == 0 || s.flip("ask") {
		id := j.Agent + "?" + s.next()
		j.asks = append(j.asks, id)
		return journal.QuestionAsked{In: j.In, Question: id, Call: "1.0", Text: s.text(), Options: []string{"a"}, Until: 99}
	}
	id := rapid.SampledFrom(j.asks).Draw(s.t, "question")
	if s.flip("relay") {
		return journal.QuestionRelayed{In: j.In, Question: id}
	}
	return journal.QuestionAnswered{In: j.In, Question: id, By: "user", Text: s.text(), Number: 1}
}

func (s *story) approval(j *job) journal.Row {
	if len(j.calls) == 0 {
		return s.speak(j)
	}
	if len(j.approvals) == 0 {
		call := rapid.SampledFrom(j.calls).Draw(s.t, "call")
		j.approvals = append(j.approvals, call)
		return journal.ApprovalRequested{
			In: j.In, Call: call, Tool: "shell", Hash: "h", Pattern: "git *", Until: 77,
			Show: json.RawMessage(`["ls"]`),
		}
	}
	call := rapid.SampledFrom(j.approvals).Draw(s.t, "approval")
	const args = `{"command": "ls", "times": 1e3}` // as it was sent, to the last space
	switch rapid.IntRange(0, 4).Draw(s.t, "decision") {
	case 0:
		d := journal.ApprovalDecided{In: j.In, Call: call, Hash: "h", Allow: s.flip("allow"), Scope: "once", By: "ann"}
		if d.Allow && s.flip("edited") {
			d.Args, d.Edited = args, json.RawMessage(`{"hash":"e"}`)
		}
		return d
	case 4:
		return journal.EditProposed{In: j.In, Call: call, Edit: journal.HashOf(args), Args: args, By: "ann"}
	case 1:
		return journal.ApprovalClosed{In: j.In, Call: call, Status: "denied", By: rapid.SampledFrom([]string{"", "bob"}).Draw(s.t, "by")}
	case 2:
		return journal.Granted{In: j.In, Call: call, Tool: "shell", Pattern: "git *"}
	}
	return journal.TurnEnded{In: j.In, Serial: s.serial, Turn: j.turn, Status: chat.StatusCompleted}
}
