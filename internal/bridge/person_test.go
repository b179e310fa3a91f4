package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
)

// child is a sub-agent of the room.
var child = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}

// TestWhatWaitsIsPutIntoWords has a question and an approval wait. A program reads what to answer
// and where to decide; a person reads that words approve nothing.
func TestWhatWaitsIsPutIntoWords(t *testing.T) {
	r := newRoom(t)
	r.write(
		journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Role: "coder", Depth: 1},
		journal.QuestionAsked{In: child, Question: "q", Text: "Which?", Options: []string{"this", "that"}},
		journal.QuestionRelayed{In: r.main, Question: "q"},
		journal.ApprovalRequested{In: child, Call: "2.0", Tool: "shell", Hash: "h1", Show: []byte(`{"command":"ls"}`)},
		journal.StatusChanged{In: r.main, Serial: 2, Status: chat.StatusWaiting, Reason: chat.WaitUserInput},
	)
	x := r.find("m1")
	result, err := x.Look(t.Context())
	if err != nil || result.State != StateWaits {
		t.Fatalf("%+v, %v", result, err)
	}
	asks := x.Asks(result.Pending)
	approval := events.ApprovalID(child.Agent, "2.0")
	decide := "/v1/conversations/c/approvals/" + approval + "/decision"
	want := []Ask{
		{Kind: "question", Question: "q", Agent: child.Agent, Role: "coder", Text: "Which?", Options: []string{"this", "that"}},
		{
			Kind: "approval", Approval: approval, Hash: "h1", Tool: "shell", Agent: child.Agent, Role: "coder", Text: `{"command":"ls"}`, Decide: decide,
		},
	}
	if diff := cmp.Diff(want, asks); diff != "" {
		t.Errorf("asks (-want +got):\n%s", diff)
	}
	words := AskWords(asks)
	for _, part := range []string{
		"Which?\n- this\n- that\n\nThis waits for your approval: shell (asked for by coder).", `shell {"command":"ls"}`, "Nothing said here approves it.",
		`{"allow": true, "hash": "h1"} to ` + decide,
	} {
		if !strings.Contains(words, part) {
			t.Errorf("%q is not in: %s", part, words)
		}
	}
}

// TestAWatcherIsToldWhatAgentsDo tells a story, of which some is worth a line.
func TestAWatcherIsToldWhatAgentsDo(t *testing.T) {
	r := newRoom(t)
	again := journal.In{Agent: child.Agent, Task: child.Task + "@2"}
	r.write(
		journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Role: "coder", Depth: 1, Instruction: "Look\nat it."},
		journal.StatusChanged{In: child, Serial: 1, Status: chat.StatusRunning},
		journal.ModelReplied{In: child, Call: "1.1", Status: chat.StatusFailed, ErrorKind: chat.KindRateLimit},
		journal.MessageAdded{In: child, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.PartToolUse, Call: "1.0", Tool: "read_file", Args: `{"path":"a.md"}`},
		}}},
		journal.TaskEnded{In: child, Status: chat.StatusCompleted, Summary: "It is fine."},
		journal.TaskAssigned{In: again, Parent: "main", Call: "2.0", Role: "coder", Depth: 1, Instruction: "Mend it."},
		journal.TaskEnded{In: again, Status: chat.StatusFailed, Message: "no credit"},
	)
	r.reply(2, "Done.")
	r.write(ended(r.main))
	var lines []string
	_, err := r.find("m1").Watch(t.Context(), func(n News) error {
		if n.Event != nil && Doing(*n.Event) != "" {
			lines = append(lines, Doing(*n.Event))
		}
		return nil
	})
	who := "coder main/1.0.0"
	want := []string{
		who + " is asked: Look at it.", who + ": a model call failed (rate_limit)", who + ": read_file a.md", who + " reports: It is fine.",
		who + " is asked: Mend it.", who + " ended without a result: no credit",
	}
	if diff := cmp.Diff(want, lines); diff != "" || err != nil {
		t.Errorf("%v, lines (-want +got):\n%s", err, diff)
	}
}

// TestAReplyThatCountsForNothingIsForgotten voids what the orchestrator said, which then says it
// anew.
func TestAReplyThatCountsForNothingIsForgotten(t *testing.T) {
	r := newRoom(t)
	r.reply(1, "Nonsense.")
	r.write(
		journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Role: "coder", Depth: 1},
		journal.ReplyVoided{In: r.main, Turn: 1},
		journal.MessageAdded{In: r.main, Turn: 2, Message: chat.Message{ID: "t2", Speaker: chat.Assistant, Parts: words("Because.")}},
		journal.ReplyVoided{In: child, Turn: 2}, // another's
		ended(r.main),
	)
	if result := r.look("m1"); result.State != StateDone || result.Words() != "Because." {
		t.Errorf("%+v", result)
	}
}

// TestUserTurnsAreFoundAgain lists those of a conversation and finds them by their names, on a
// service that has seen none of them.
func TestUserTurnsAreFoundAgain(t *testing.T) {
	r := newRoom(t)
	inside, service := r.counter(apitest.Commands{Log: r.log})
	x, err := service.Post(inside, Message{Key: "key-1", Text: "And?", Conversation: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if !service.Said(inside, x, "key-1") || service.Said(inside, x, "key-2") {
		t.Error("it does not know what was said")
	}
	for limit, want := range map[int][]Name{1: {x.Name}, 9: {x.Name, {Conversation: "c", Message: "m1"}}} {
		names, err := service.Names(inside, "c", limit)
		if diff := cmp.Diff(want, names); diff != "" || err != nil {
			t.Errorf("at most %d: %v (-want +got):\n%s", limit, err, diff)
		}
	}
	for name, asked := range map[Name]string{x.Name: "And?", {Conversation: "c", Message: "m1"}: "Why?"} {
		if found, err := service.Find(inside, name); err != nil || found.Asked != asked {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	for _, name := range []Name{{Conversation: "c", Message: "m9"}, {Conversation: "d", Message: "m1"}} {
		if found, err := service.Find(inside, name); chat.CodeOf(err) != chat.CodeNotFound {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// strict carries nothing out for somebody who has gone, as a database would not.
type strict struct{ apitest.Commands }

// Cancel implements api.Commands.
func (s strict) Cancel(ctx context.Context, ref journal.Ref, id, by, task string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.Commands.Cancel(ctx, ref, id, by, task)
}

// TestAClientThatGoesCancelsIfItSaidSo has clients go away in the middle of an answer.
func TestAClientThatGoesCancelsIfItSaidSo(t *testing.T) {
	for wish, cancels := range map[string]bool{"cancel": true, "": false, "continue": false} {
		r := newRoom(t)
		inside, service := r.counter(strict{apitest.Commands{Log: r.log}})
		x, err := service.Post(inside, Message{Key: "key-1", Text: "And?", Conversation: "c"})
		if err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithCancel(inside)
		leave()
		request := httptest.NewRequestWithContext(gone, http.MethodPost, "/", nil)
		request.Header.Set(DisconnectHeader, wish)
		for range 2 { // the second time it is known
			service.Gone(request, x)
		}
		entries, err := r.log.Entries(t.Context(), r.ref, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		stops := 0
		for _, e := range entries {
			if post, ok := e.Row.(journal.MailPosted); ok && post.Stops() {
				stops++
			}
		}
		if (stops == 1) != cancels || stops > 1 {
			t.Errorf("%q: asked to stop %d times", wish, stops)
		}
	}
}

// TestWhatIsStoppedIsNotAskedAbout cancels a user turn that waits for a person: it runs until it
// has stopped, and then it is cancelled.
func TestWhatIsStoppedIsNotAskedAbout(t *testing.T) {
	r := newRoom(t)
	inside, service := r.counter(apitest.Commands{Log: r.log})
	r.write(
		journal.ApprovalRequested{In: r.main, Call: "1.0", Tool: "shell", Hash: "h"},
		journal.StatusChanged{In: r.main, Serial: 2, Status: chat.StatusWaiting, Reason: chat.WaitApproval},
	)
	if result := r.look("m1"); result.State != StateWaits {
		t.Fatalf("before: %+v", result)
	}
	if err := service.Cancel(inside, r.find("m1"), "key-1"); err != nil {
		t.Fatal(err)
	}
	if result := r.look("m1"); result.State != StateRuns {
		t.Errorf("while it stops: %+v", result)
	}
	r.write(journal.TurnEnded{In: r.main, Serial: 3, Turn: 1, Status: chat.StatusCancelled, Reason: "cancelled"})
	if result := r.look("m1"); result.State != StateCancelled || result.Reason != "cancelled" {
		t.Errorf("after: %+v", result)
	}
}

// TestAPatientAnswerOutlivesTheServersLimit answers after the time in which the server's answers
// must be written, over either version of HTTP. The second has a limit for each answer, whoever
// writes it.
func TestAPatientAnswerOutlivesTheServersLimit(t *testing.T) {
	t.Parallel()
	for name, newer := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(slowly(t))
			server.Config.WriteTimeout = answerTime
			server.EnableHTTP2 = newer
			if newer {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close() //nolint:errcheck // it is read to its end
			if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "at last" || answer.Proto != name {
				t.Errorf("%s: %q, %v", answer.Proto, body, err)
			}
		})
	}
	if _, err := NewPatient(httptest.NewRecorder()); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("an answer whose limit cannot be lifted: %v", err)
	}
}

// answerTime is enough for a busy machine to begin an answer.
const answerTime = 3 * time.Second

// slowly writes two words, each after more time than the server has for an answer.
func slowly(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		p, err := NewPatient(w)
		if err != nil {
			t.Error(err)
		}
		for _, word := range []string{"at ", "last"} {
			time.Sleep(answerTime + time.Second)
			if _, err := io.WriteString(p, word); err != nil {
				t.Error(err)
			}
			p.Flush()
		}
		if err := http.NewResponseController(p).SetReadDeadline(time.Time{}); err != nil {
			t.Errorf("a controller does not get through: %v", err)
		}
	}
}
