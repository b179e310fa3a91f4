package scripted

import (
	"os"
	"strings"
	"testing"
)

// TestTheScriptInTheDocsIsRead parses the example that people will copy.
func TestTheScriptInTheDocsIsRead(t *testing.T) {
	page, err := os.ReadFile("../../../docs/scripted.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/scripted.md has no script")
	}
	script, err := Parse("docs/scripted.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, script, Options{})
	l := line{system: "role: coder", user: "look at a.md", tools: []string{"read_file"}}
	if r := post(t, s, OpenAI, l.body(OpenAI)); !strings.Contains(r.body, `{\"path\":\"a.md\"}`) {
		t.Errorf("got %d %s", r.status, r.body)
	}
}
