package chat

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestJoin makes one message of neighbours from the user, and leaves everything else as it is.
//
// Covers: P5, E-61.
func TestJoin(t *testing.T) {
	cases := map[string]struct {
		recorded []Message
		want     Transcript
	}{
		"nothing": {nil, nil},
		"speakers that alternate": {
			between([]Part{thinking("hm"), text("wait"), use("c1")}, result("c1"), text("and?")),
			between([]Part{thinking("hm"), text("wait"), use("c1")}, result("c1"), text("and?")),
		},
		"neighbours keep their order and the first id": {
			[]Message{
				fromUser("m1", text("a"), image("b")), fromUser("m2", text("c")),
				fromUser("m3", text("d"), text("e")),
			},
			Transcript{fromUser("m1", text("a"), image("b"), text("c"), text("d"), text("e"))},
		},
		"results of a turn that was cut off": {
			append(between([]Part{use("c1")}, result("c1")), fromUser("m4", text("stop, rather"))),
			between([]Part{use("c1")}, result("c1"), text("stop, rather")),
		},
		"results that came after the user spoke": {
			append(between([]Part{use("c1"), use("c2")}, text("are you there?"), result("c1")),
				fromUser("m4", text("hello?")), fromUser("m5", result("c2"), text("at last"))),
			between([]Part{use("c1"), use("c2")},
				result("c1"), result("c2"), text("are you there?"), text("hello?"), text("at last")),
		},
		"results in a single message": {
			between([]Part{use("c1")}, text("well?"), result("c1")),
			between([]Part{use("c1")}, result("c1"), text("well?")),
		},
		"the assistant between two neighbourhoods": {
			[]Message{
				fromUser("m1", text("a")), fromUser("m2", text("b")), fromAssistant("m3", text("c")),
				fromUser("m4", text("d")), fromUser("m5", text("e")),
			},
			Transcript{
				fromUser("m1", text("a"), text("b")), fromAssistant("m3", text("c")),
				fromUser("m4", text("d"), text("e")),
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Join(c.recorded)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("joined (+) against the wanted (-):\n%s", diff)
			}
			if diff := cmp.Diff(got, Join(got)); diff != "" {
				t.Errorf("joined again (+) against joined once (-):\n%s", diff)
			}
			if err := got.Validate(); err != nil && len(got) > 0 {
				t.Error(err)
			}
		})
	}
}

// TestJoinLeavesFaultsToValidate shows that Join hides neither neighbours from the assistant nor a
// message without parts.
//
// Covers: P5.
func TestJoinLeavesFaultsToValidate(t *testing.T) {
	recorded := []Message{
		fromUser("m1", text("a")), fromAssistant("m2", text("b")), fromAssistant("m3", text("c")),
		fromUser("m4"),
	}
	got := Join(recorded)
	if diff := cmp.Diff(Transcript(recorded), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("joined (+) against recorded (-):\n%s", diff)
	}
	refuse(t, []refusal{
		{"assistants", got, `invalid: message m3: speaker is "assistant", want "user"`},
		{"no parts", Join(recorded[3:]), `invalid: message m4 is empty`},
	})
}

// TestJoinOwnsWhatItReturns gives Join parts with room behind them, where an append that does not
// copy would write, and then writes to what it returned.
//
// Covers: P5.
func TestJoinOwnsWhatItReturns(t *testing.T) {
	behind := []Part{text("a"), result("c1"), text("behind 1"), text("behind 2"), text("behind 3")}
	whole := slices.Clone(behind)
	recorded := []Message{
		{ID: "m1", Speaker: User, Parts: behind[:2]},
		fromUser("m2", result("c2"), text("b")),
		fromAssistant("m3", text("c"), use("c3")),
		fromUser("m4", result("c3")),
	}
	before := copied(recorded)
	joined := Join(recorded)
	for i := range joined {
		joined[i].Parts = append(joined[i].Parts, text("more"))
		for j := range joined[i].Parts {
			joined[i].Parts[j].Text = "changed"
		}
	}
	if diff := cmp.Diff(before, recorded); diff != "" {
		t.Errorf("recorded messages after (+) against before (-):\n%s", diff)
	}
	if diff := cmp.Diff(whole, behind); diff != "" {
		t.Errorf("what lies behind the parts after (+) against before (-):\n%s", diff)
	}
}

// copied returns messages that share no memory with the given ones.
func copied[M ~[]Message](messages M) M {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = slices.Clone(out[i].Parts)
	}
	return out
}
