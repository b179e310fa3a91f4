package scripted

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestBytesOnTheWire compares whole responses with files that a reviewer can compare with the
// providers' documentation.
func TestBytesOnTheWire(t *testing.T) {
	reply := Reply{
		Thinking: "Read it first.", Text: "Let me see.", Chunk: 8,
		Calls: []Call{
			{Tool: "read_file", Args: map[string]any{"path": "a.md"}},
			{Tool: "read_file", Args: map[string]any{"path": "<b>.md"}},
		},
		Usage: &Usage{Input: 120, Output: 40, CacheRead: 100, CacheWrite: 10, Reasoning: 8},
	}
	anthropicTools := `"tools":[{"name":"read_file","input_schema":{"type":"object"}}]`
	openaiTools := `"tools":[{"type":"function","function":{"name":"read_file","parameters":{"type":"object"}}}]`
	user := `"messages":[{"role":"user","content":"hello"}]`
	for name, c := range map[string]struct {
		provider Provider
		body     string
	}{
		"anthropic_stream": {Anthropic, `{"model":"m","max_tokens":2048,"stream":true,` +
			`"thinking":{"type":"enabled","budget_tokens":1024},` + anthropicTools + `,` + user + `}`},
		"anthropic_body": {Anthropic, `{"model":"m","max_tokens":64,` + anthropicTools + `,` + user + `}`},
		"openai_stream": {OpenAI, `{"model":"m","stream":true,"stream_options":{"include_usage":true},` +
			openaiTools + `,` + user + `}`},
		"openai_stream_uncounted": {OpenAI, `{"model":"m","stream":true,` + openaiTools + `,` + user + `}`},
		"openai_body":             {OpenAI, `{"model":"m",` + openaiTools + `,` + user + `}`},
		"anthropic_error":         {Anthropic, `{"model":"m",` + user + `}`},
		"openai_error":            {OpenAI, `{"model":"m","messages":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := post(t, serve(t, always(reply), Options{}), c.provider, c.body)
			if r.err != nil {
				t.Fatal(r.err)
			}
			file := filepath.Join("testdata", "wire", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(r.body+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), r.body+"\n"); diff != "" {
				t.Errorf("the wire (+) against %s (-):\n%s", file, diff)
			}
		})
	}
}
