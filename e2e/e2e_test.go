//go:build services

package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScenarios plays every scenario on both stacks, with short and with long legs. With -short
// each stack has legs of one kind.
func TestScenarios(t *testing.T) {
	scenarios := readScenarios(t, "testdata/*.txtar")
	shared := stacks(t, sqliteStack, postgresStack)
	t.Run("on", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				if s.alone {
					everywhere(t, s, stacks(t, sqliteStack))
					return
				}
				everywhere(t, s, shared)
			})
		}
	})
	for _, s := range shared {
		audited(t, s)
	}
}

// everywhere plays a scenario on every stack with legs of any length and of one effect.
func everywhere(t *testing.T, s *scenario, on []*stack) {
	t.Helper()
	if *update {
		found := play(t, s, on[0], 0)
		if t.Failed() {
			return
		}
		if err := s.rewrite(found); err != nil {
			t.Fatal(err)
		}
	}
	for _, st := range on {
		for legs, name := range []string{"any legs", "legs of one"} {
			if *update && st == on[0] && legs == 0 {
				continue
			}
			if testing.Short() && len(on) > 1 && (st == on[0]) != (legs == 0) {
				continue
			}
			t.Run(st.name+", "+name, func(t *testing.T) {
				if !s.alone {
					t.Parallel()
				}
				compare(t, s, play(t, s, st, legs))
			})
		}
	}
}

// play plays a scenario and returns its results.
func play(t *testing.T, s *scenario, on *stack, legEffects int) map[string]string {
	t.Helper()
	return newStage(t, s, on, legEffects).perform(t)
}

// perform plays the scenario from its first line to its last.
func (st *stage) perform(t *testing.T) map[string]string {
	t.Helper()
	for _, c := range st.play {
		if err := st.act(t, c); err != nil {
			found, _ := st.found(t)
			t.Fatalf("%s: %v\nso far:\n%s", c, err, found[wantJournal])
		}
	}
	entries := st.settle(t)
	st.check(t, entries)
	found, err := st.found(t)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// found are the results to compare with the expectations.
func (st *stage) found(t *testing.T) (map[string]string, error) {
	t.Helper()
	entries, err := st.entries(t.Context())
	if err != nil {
		return nil, err
	}
	book, err := normalJournal(entries, st.normal)
	if err != nil {
		return nil, err
	}
	results, err := st.provider.results(func(text string) string { return shorten(st.normal(text), 4000) })
	return map[string]string{wantJournal: book, wantResults: results}, err
}

// normal takes the names and times of this very run out of a text.
func (st *stage) normal(text string) string {
	text = clockTime.ReplaceAllString(text, "TIME")
	text = strings.ReplaceAll(requestID.ReplaceAllString(text, "REQUEST"), st.spec.Folder, "WORK")
	return strings.ReplaceAll(text, st.ref.Conversation, "CONVERSATION")
}

// clockTime is a moment as the results of tools name it.
var clockTime = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// requestID is a provider's name for an exchange.
var requestID = regexp.MustCompile(`req_[0-9a-f]{24}`)

func compare(t *testing.T, s *scenario, found map[string]string) {
	t.Helper()
	for _, name := range []string{wantJournal, wantResults} {
		want := strings.Split(s.want(name), "\n")
		if diff := cmp.Diff(want, strings.Split(found[name], "\n")); diff != "" {
			t.Errorf("%s (-) and what was found (+) differ; -update if this is right:\n%s", name, diff)
		}
	}
}
