package durable

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMailComesThroughTheDoorOfTheLegThatIsThere has legs come and go while mail is brought.
func TestMailComesThroughTheDoorOfTheLegThatIsThere(t *testing.T) {
	var d doors
	ada, bob := Whose{Agent: "ada", Task: "ada"}, Whose{Agent: "bob", Task: "bob"}
	mail := []Envelope{{Index: 1}}
	received := func(door <-chan []Envelope) []Envelope {
		select {
		case m := <-door:
			return m
		default:
			return nil
		}
	}
	d.slip(ada, mail) // nobody is there
	first, leaveFirst := d.enter(ada)
	d.slip(bob, mail)
	if got := received(first); got != nil {
		t.Errorf("got what was not for it: %v", got)
	}
	d.slip(ada, mail)
	if diff := cmp.Diff(mail, received(first)); diff != "" {
		t.Errorf("mail (-want +got):\n%s", diff)
	}
	second, leaveSecond := d.enter(ada) // a second attempt, while the first is not yet gone
	leaveFirst()
	d.slip(ada, mail)
	if received(first) != nil || received(second) == nil {
		t.Error("mail came to the attempt that has ended")
	}
	for range doorDepth + 3 {
		d.slip(ada, mail) // nobody looks: nothing waits for it
	}
	leaveSecond()
	d.slip(ada, mail)
	if len(d.open) != 0 {
		t.Errorf("%d doors are open", len(d.open))
	}
}
