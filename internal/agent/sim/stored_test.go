package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
)

var update = flag.Bool("update", false, "store the histories anew")

const (
	storedFile = "testdata/rules-1.jsonl"
	// enough is how many pairs of phase and event must be new for a history to be stored.
	enough = 2
)

// stored is the life of one agent as a journal would keep it: the events it took in, the effects it
// ordered, by key, and the state it ended in.
type stored struct {
	Task    string            `json:"task"`
	Events  []json.RawMessage `json:"events"`
	Effects []string          `json:"effects"`
	State   json.RawMessage   `json:"state"`
}

// TestStoredHistories replays agents' work from the time when these histories were stored. A
// release that answers differently breaks every run under way: such a change raises agent.Rules,
// keeps the old answers for states with the old number, and stores a second file.
//
// Covers: R-017, E-67.
func TestStoredHistories(t *testing.T) {
	if *update {
		store(t)
	}
	data, err := os.ReadFile(storedFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	runs, events := 0, 0
	for lines.Scan() {
		var want stored
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		runs++
		events += len(want.Events)
		got := replay(t, want.Task, want.Events)
		if diff := cmp.Diff(want.Effects, got.Effects); diff != "" {
			t.Errorf("%s orders other effects (-stored +now):\n%s", want.Task, diff)
		}
		if diff := cmp.Diff(string(want.State), string(got.State)); diff != "" {
			t.Errorf("%s ends in another state (-stored +now):\n%s", want.Task, diff)
		}
	}
	if runs < 50 {
		t.Errorf("only %d stored runs", runs)
	}
	t.Logf("%d runs with %d events replayed", runs, events)
}

// firstMeetings counts the pairs of phase and event that a history has and none before it had.
func firstMeetings(w *world, met map[string]bool) int {
	var fresh []string
	for _, n := range w.nodes {
		var s agent.State
		for _, e := range n.log {
			pair := string(s.Phase) + " " + agent.EventName(e)
			if !met[pair] && !slices.Contains(fresh, pair) {
				fresh = append(fresh, pair)
			}
			s, _, _ = agent.Step(s, e)
		}
	}
	if len(fresh) >= enough {
		for _, pair := range fresh {
			met[pair] = true
		}
	}
	return len(fresh)
}

func replay(t *testing.T, task string, events []json.RawMessage) stored {
	t.Helper()
	out := stored{Task: task, Events: events}
	var s agent.State
	for _, data := range events {
		e, err := agent.UnmarshalEvent(data)
		if err != nil {
			t.Fatal(err)
		}
		next, effects, err := agent.Step(s, e)
		if err != nil {
			t.Fatalf("%s refuses %s: %v", task, data, err)
		}
		s = next
		for _, effect := range effects {
			out.Effects = append(out.Effects, effect.Key())
		}
	}
	state, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	out.State = state
	return out
}

// store writes the lives of all agents of some histories: those of the first seeds in which several
// events meet a phase that they have not met before.
func store(t *testing.T) {
	t.Helper()
	var file bytes.Buffer
	met := map[string]bool{}
	for seed := range uint64(20_000) {
		s := draw(seed, nil)
		w := newWorld(newChance(s.setting))
		if err := w.run(s.actions); err != nil {
			t.Fatal(err)
		}
		if firstMeetings(w, met) < enough {
			continue
		}
		for _, n := range w.nodes {
			var events []json.RawMessage
			for _, e := range n.log {
				data, err := agent.MarshalEvent(e)
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, data)
			}
			line, err := json.Marshal(replay(t, n.task, events))
			if err != nil {
				t.Fatal(err)
			}
			file.Write(append(line, '\n'))
		}
	}
	if err := os.WriteFile(storedFile, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
