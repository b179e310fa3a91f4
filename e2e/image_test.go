//go:build services

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/journal"
)

const imageModel = `
name: image
rules:
  - {name: send, when: {role: main, turn: 0}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Look at the picture.'}]}}]}}
  - {name: look, when: {role: researcher, turn: 0}, reply: {calls: [{tool: read_image, args: {path: dots.png}}, {tool: list_dir, args: {}}]}}
  - {name: report, when: {role: researcher, turn: 1, result: 'image/png, 64 by 64 pixels'}, reply: {calls: [{tool: submit_result, args: {summary: 'Dots.'}}]}}
  - {name: answer, when: {role: main, turn: 1, result: 'Dots'}, reply: {text: 'It shows dots.'}}
`

// TestImage has a sub-agent look at a picture. Its model, which refuses what a provider would, is
// sent the picture in the result of the call; the journal's rows hold its hash and the journal
// itself its content.
func TestImage(t *testing.T) {
	t.Parallel()
	dots := image.NewGray(image.Rect(0, 0, 64, 64))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range dots.Pix {
		dots.Pix[i] = color.Gray{Y: uint8(random.Uint32())}.Y
	}
	var file bytes.Buffer
	if err := png.Encode(&file, dots); err != nil {
		t.Fatal(err)
	}
	content := base64.StdEncoding.EncodeToString(file.Bytes())
	s := newScenario(t, "image", imageModel)
	s.work["dots.png"] = file.String()
	for _, on := range stacks(t, sqliteStack, postgresStack) {
		for legs := range 2 {
			st := newStage(t, s, on, legs)
			for _, line := range []string{"open", "say m1: Look at it", "wait turn 1"} {
				st.do(t, line)
			}
			entries := st.settle(t)
			st.check(t, entries)
			if n := st.provider.pictures(t, content); n != 1 {
				t.Errorf("%s: %d results with the picture were sent", on.name, n)
			}
			kept := ""
			for _, e := range entries {
				row, err := json.Marshal(e.Row)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(row), content[:100]) {
					t.Errorf("%s: row %s holds the picture", on.name, e.Row.Key())
				}
				if r, ok := e.Row.(journal.ToolReturned); ok && len(r.Images) == 1 {
					kept = r.Images[0]
				}
			}
			text, err := st.node.Log.Text(t.Context(), st.ref, kept)
			if err != nil || text != "data:image/png;base64,"+content {
				t.Errorf("%s: kept under %q is %.60s, %v", on.name, kept, text, err)
			}
		}
	}
}

// pictures counts the requests that have a picture in the result of a call.
func (p *provider) pictures(t *testing.T, content string) int {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	found := 0
	for _, body := range p.bodies {
		var q struct {
			Messages []struct {
				Content []struct {
					Type    string
					Content []struct {
						Type   string
						Source struct{ Data string }
					}
				}
			}
		}
		if err := json.Unmarshal(body, &q); err != nil {
			t.Fatal(err)
		}
		for _, m := range q.Messages {
			for _, b := range m.Content {
				for _, inner := range b.Content {
					if b.Type == "tool_result" && inner.Type == "image" && inner.Source.Data == content {
						found++
					}
				}
			}
		}
	}
	return found
}
