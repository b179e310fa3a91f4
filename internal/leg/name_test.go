package leg

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestNamesStand sends the core commands of a person whose address has all the marks that ids are
// made with.
func TestNamesStand(t *testing.T) {
	t.Parallel()
	const name, id, child = "a|b:c/d~e#f@example.org", "x:1|2#3", "main/1.0.0"
	s := newStage(t, short, nil)
	s.opened("hello")
	in := journal.In{Agent: child, Task: child}
	s.record(journal.TaskAssigned{In: in, Parent: host.Root, Depth: 1, Role: "helper"},
		journal.MessageReceived{ID: id, By: name, Parts: []chat.Part{{Kind: chat.PartText, Text: "yes"}}, InReplyTo: "main#1.0"},
		journal.ApprovalRequested{In: in, Call: "2.0", Tool: "shell", Hash: "h"},
		journal.ApprovalDecided{In: in, Call: "2.0", Hash: "h", Allow: true, By: name})
	closing := journal.Mail(TopicClose, name, host.Root)
	closing.By = name
	l := s.carrier.newLeg(Input{RunRef: host.RunRef{Ref: s.ref, Agent: host.Root, Task: host.Root}})
	for want, post := range map[agent.Event]journal.MailPosted{
		agent.CancelRequested{ID: id, Reason: agent.CancelUser, By: name}: journal.Stop(id, name, ""),
		agent.ChildCancelRequested{Task: child, By: name}:                 journal.Stop(id, name, child),
		agent.CloseRequested{By: name}:                                    closing,
		agent.Decided{Call: "2.0", Hash: "h", Allow: true, By: name}:      journal.Mail(TopicDecided, chat.RefOf(child, "2.0").String(), child),
		agent.Said{Seq: 2, InReplyTo: "main#1.0", Tokens: 1}:              journal.Mail(TopicMessage, id, host.Root),
	} {
		got, err := l.event(t.Context(), post)
		if err != nil {
			t.Errorf("%s: %v", post.Topic, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(_, _ agent.At) bool { return true })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", post.Topic, diff)
		}
	}
}
