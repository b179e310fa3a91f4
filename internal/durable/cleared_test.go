package durable

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestADeskIsTakenUpOnlyWhereItWasLeft has legs leave their desk and others come to it.
func TestADeskIsTakenUpOnlyWhereItWasLeft(t *testing.T) {
	message := func(id string) chat.Message {
		return chat.Message{ID: id, Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: "words of " + id}}}
	}
	whose := Whose{Place: journal.Place{Tenant: "t", Conversation: "c"}, Agent: "main", Task: "main"}
	other := whose
	other.Task = "main/again"
	for name, c := range map[string]struct {
		next LegInput
		ends agent.Phase
		want []string
	}{
		"the next leg":               {next: LegInput{Whose: whose, N: 7}, want: []string{"a", "t1", "m1"}},
		"what came meanwhile":        {next: LegInput{Whose: whose, N: 8, Tail: []json.RawMessage{[]byte("{}")}}, want: []string{"a", "t1", "m1"}},
		"somebody else has gone on":  {next: LegInput{Whose: whose, N: 9}},
		"another task":               {next: LegInput{Whose: other, N: 7}},
		"the run has ended meantime": {next: LegInput{Whose: whose, N: 7}, ends: agent.Done},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHost(Options{})
			left := h.newLeg(LegInput{Whose: whose})
			left.course = course{N: 7, State: agent.State{Phase: c.ends}}
			left.desk.messages, left.desk.read = []chat.Message{message("a"), message("t1")}, true
			left.desk.learn([]journal.Row{journal.Spoke{In: whose.in(), Message: message("m1")}})
			left.desk.clear()
			l := h.newLeg(c.next)
			l.desk.resume(c.next)
			var got []string
			for _, m := range l.desk.messages {
				got = append(got, m.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || l.desk.read != (c.want != nil) {
				t.Errorf("read %v, messages (-want +got):\n%s", l.desk.read, diff)
			}
			again := h.newLeg(c.next)
			if again.desk.resume(c.next); again.desk.read {
				t.Error("two legs have the same desk")
			}
		})
	}
}
