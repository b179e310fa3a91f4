package agent_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

// TestScripts plays testdata/*.txt. A script is a list of steps: an event, the line ----, and what
// Step answered, the state first, then the effects in order. Run with -update after a change and
// read the diff.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playScript(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// playScript returns the script with the answers that Step gives now.
func playScript(t *testing.T, text string) string {
	t.Helper()
	run := newRun()
	var out strings.Builder
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			out.WriteString(line)
			if i++; i < len(lines) {
				out.WriteByte('\n')
			}
			continue
		}
		var block []string
		for ; i < len(lines) && lines[i] != "----" && lines[i] != ""; i++ {
			block = append(block, lines[i])
		}
		out.WriteString(strings.Join(block, "\n") + "\n")
		for ; i < len(lines) && lines[i] != ""; i++ {
			continue // the answers of the last time
		}
		answer, err := run.step(block)
		if err != nil {
			t.Fatalf("%q: %v", block[0], err)
		}
		if answer != "" {
			out.WriteString("----\n" + answer)
		}
	}
	return out.String()
}

// run is one agent on the stage of a script.
type run struct {
	state  agent.State
	now    int64
	calls  int
	roles  map[string]agent.RoleSpec
	record *recorder
}

func newRun() *run {
	return &run{now: 1000, roles: scriptRoles(), record: newRecorder()}
}

// step plays one block of a script and returns what to print.
func (r *run) step(block []string) (string, error) {
	words := fields(block[0])
	switch words.pos[0] {
	case "role":
		r.defineRole(words)
		return "", nil
	case "offer":
		return strings.Join(agent.Offer(r.state, agent.TurnKind(words.at(1))), " ") + "\n", nil
	}
	event, err := r.parse(words, block[1:])
	if err != nil {
		return "", err
	}
	next, effects, err := agent.Step(r.state, event)
	if err := r.record.check(r.state, event, next, effects, err); err != nil {
		return "", err
	}
	if err != nil {
		return "refused: " + err.Error() + "\n", nil
	}
	r.state = next
	var out strings.Builder
	out.WriteString(describe(next) + "\n")
	for _, e := range effects {
		out.WriteString("  " + describeEffect(e) + "\n")
	}
	return out.String(), nil
}
