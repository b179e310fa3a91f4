package agent_test

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestTwentyThousandTurns shows that the state of a conversation does not grow with its length: a
// message, a tool, a child and an answer, over and over.
func TestTwentyThousandTurns(t *testing.T) {
	r := newRun()
	play := func(block ...string) {
		t.Helper()
		event, err := r.parse(fields(block[0]), block[1:])
		if err != nil {
			t.Fatal(err)
		}
		if r.state, err = step(r, event); err != nil {
			t.Fatalf("%s: %v", block[0], err)
		}
	}
	play("begin orchestrator")
	early, most := 0, 0
	for n := range 20_000 {
		turn := r.state.Turn + 1
		play(fmt.Sprintf("said %d", n+1))
		play(fmt.Sprintf("replied %d", turn), "read_file", "spawn reader")
		play(fmt.Sprintf("done %d.0 ok", turn))
		play(fmt.Sprintf("ended c/%d.1.0 completed", turn))
		play(fmt.Sprintf("replied %d text", turn+1))
		if n%100 != 99 {
			continue
		}
		data, err := json.Marshal(r.state)
		if err != nil {
			t.Fatal(err)
		}
		if most = max(most, len(data)); n == 99 {
			early = len(data)
		}
	}
	t.Logf("%d bytes after 100 turns, at most %d up to 20,000", early, most)
	if most > early+100 { // numbers get longer
		t.Errorf("the state grew from %d to %d bytes", early, most)
	}
}
