package durable

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// ringing has a helper ring the bell once.
var ringing = strings.ReplaceAll(one, "MORE", "") + `
  - {name: ring, when: {tools: [submit_result], turn: 0}, reply: {calls: [{tool: ring, args: {tone: low}}]}}
  - {name: rung, when: {tools: [submit_result], turn: 1}, reply: {calls: [{tool: submit_result, args: {summary: 'tried'}}]}}
`

// TestOtherArguments has a person give a call arguments that will not do, and decide twice.
func TestOtherArguments(t *testing.T) {
	t.Parallel()
	s := newStage(t, ringing, nil)
	s.play("ring", map[time.Duration]func(){time.Minute: func() {
		w := rowsOf[journal.ApprovalRequested](s)[0]
		d := journal.ApprovalDecided{In: w.In, Call: w.Call, Hash: w.Hash, Allow: true, Scope: string(agent.ScopeOnce), By: "ann"}
		for args, code := range map[string]chat.Code{`{"tune":1}`: chat.CodeInvalid, `{"tone":"low"}`: chat.CodeInvalid} {
			d.Args = args
			if err := s.client.Decide(t.Context(), s.ref, d); chat.CodeOf(err) != code {
				t.Errorf("%s: %v, want %s", args, err, code)
			}
		}
		d.Args = ""
		s.must(s.client.Decide(t.Context(), s.ref, d))
		s.must(s.client.Decide(t.Context(), s.ref, d)) // the double click
		d.Allow = false
		if err := s.client.Decide(t.Context(), s.ref, d); chat.CodeOf(err) != chat.CodeConflict {
			t.Errorf("the opposite: %v, want a conflict", err)
		}
	}})
	if len(s.rung) != 1 {
		t.Errorf("the bell was rung as %q", s.rung)
	}
}

// TestTwoCancelsWithOneID has a person stop two tasks under one id: only the first is stopped.
func TestTwoCancelsWithOneID(t *testing.T) {
	t.Parallel()
	script := strings.ReplaceAll(one, "MORE", "") + `
  - {name: write, when: {tools: [submit_result]}, reply: {calls: [{tool: write_file, args: {path: new.md, content: 'new'}}]}}
`
	s := newStage(t, script, nil)
	s.play("write", map[time.Duration]func(){time.Minute: func() {
		s.must(s.client.Cancel(t.Context(), s.ref, "x1", "o|neil@example.com", "main/1.0.0"))
		if err := s.client.Cancel(t.Context(), s.ref, "x1", "o|neil@example.com", ""); chat.CodeOf(err) != chat.CodeConflict {
			t.Errorf("the same id for everything: %v, want a conflict", err)
		}
		s.must(s.client.Cancel(t.Context(), s.ref, "x1", "o|neil@example.com", "main/1.0.0"))
	}})
	s.says("It is cancelled.")
	if posts := rowsOf[journal.MailPosted](s); !slices.ContainsFunc(posts, func(p journal.MailPosted) bool { return p.Stops() && p.By == "o|neil@example.com" }) {
		t.Errorf("nobody stopped it: %+v", posts)
	}
}

// TestDeletion removes a conversation after its end.
func TestDeletion(t *testing.T) {
	t.Parallel()
	s := newStage(t, ringing, nil)
	s.play("ring", nil)
	s.must(s.client.Delete(t.Context(), s.ref, "d1", "ann"))
	if left, err := s.log.Entries(t.Context(), s.ref, 0, journal.PageMaxLimit); chat.CodeOf(err) != chat.CodeNotFound && len(left) > 0 {
		t.Errorf("%d rows are left: %v", len(left), err)
	}
}

// TestMailForNobody has a person's correction reach a helper that has finished. It goes back to the
// lead, who reads it. A decision for a helper that has finished is refused, unless the helper read
// it before.
func TestMailForNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
name: nobody
rules:
  - {name: corrected, when: {tools: [spawn_agents], no_tools: [submit_result], text: 'red after all'}, reply: {text: 'Red it is.'}}
`+strings.TrimPrefix(strings.ReplaceAll(one, "MORE", ""), "\nname: one\nrules:\n")+`
  - {name: work, when: {tools: [submit_result]}, reply: {calls: [{tool: submit_result, args: {summary: 'done'}}]}}
`, nil)
	s.play("paint", map[time.Duration]func(){time.Hour: func() {
		body, err := agent.MarshalEvent(agent.Corrected{Seq: 2})
		s.must(err)
		_, err = s.log.Append(t.Context(), s.ref, s.env.Now(), journal.MessageReceived{ID: "m2", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "red after all"}}},
			journal.MailPosted{ID: "late", Topic: leg.TopicAgent, To: "main/1.0.0", Event: body, Number: 2})
		s.must(err)
		if n, err := (&Sweeper{Client: s.client, Age: -time.Second}).Pass(t.Context()); n != 1 || err != nil {
			t.Errorf("%d were swept: %v", n, err)
		}
		err = s.client.Decide(t.Context(), s.ref, journal.ApprovalDecided{In: journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}, Call: "9.9", By: "ann"})
		if chat.CodeOf(err) != chat.CodeConflict {
			t.Errorf("a decision for nobody: %v, want a conflict", err)
		}
		// A leg reads this one before the engine is told of it, and the helper finishes.
		s.client.Fault = func(p host.Point, ref journal.Ref, _ string) {
			if p == host.PointPosted {
				_, err := s.log.Append(t.Context(), ref, s.env.Now(), journal.MailDelivered{ID: leg.TopicDecided + ":main/1.0.0#8.8"})
				s.must(err)
			}
		}
		s.must(s.client.Decide(t.Context(), s.ref, journal.ApprovalDecided{In: journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}, Call: "8.8", By: "ann"}))
	}})
	var back []string
	for _, p := range rowsOf[journal.MailPosted](s) {
		if p.To == host.Root && p.Topic == leg.TopicAgent && strings.Contains(string(p.Event), "Undelivered") {
			back = append(back, p.ID)
		}
	}
	if want := []string{"main/1.0.0#undelivered/2"}; !slices.Equal(back, want) {
		t.Errorf("%q came back, want %q", back, want)
	}
	if left, err := s.log.Pending(t.Context(), s.env.Now().Add(time.Hour), 10); len(left) > 0 || err != nil {
		t.Errorf("%+v waits: %v", left, err)
	}
}
