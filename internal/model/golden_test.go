package model_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/anthropic"
	"github.com/retinue-dev/retinue/internal/model/openai"
)

var update = flag.Bool("update", false, "write the golden files anew")

func text(s string) chat.Part { return chat.Part{Kind: chat.PartText, Text: s} }

func use(call, tool, args string) chat.Part {
	return chat.Part{Kind: chat.PartToolUse, Call: call, Tool: tool, Args: args}
}

func result(call, text string, failed bool) chat.Part {
	return chat.Part{Kind: chat.PartToolResult, Call: call, Text: text, Failed: failed}
}

// talk makes a transcript; the speakers alternate.
func talk(messages ...[]chat.Part) chat.Transcript {
	var out chat.Transcript
	for i, parts := range messages {
		speaker := chat.User
		if i%2 == 1 {
			speaker = chat.Assistant
		}
		out = append(out, chat.Message{ID: string(rune('a' + i)), Speaker: speaker, Parts: parts})
	}
	return out
}

// scenarios are the requests whose wire is kept as a golden file.
func scenarios() map[string]model.Request {
	warm := 0.3
	plain := model.Request{
		Model: "m-1", Turn: 7, MaxOutput: 1024,
		Transcript: talk([]chat.Part{text("Hi.")}),
	}
	out := map[string]model.Request{"plain": plain}
	with := func(name string, change func(*model.Request)) {
		r := plain
		change(&r)
		out[name] = r
	}
	with("tools", func(r *model.Request) { r.Tools = request().Tools })
	with("round", func(r *model.Request) {
		r.Tools = request().Tools
		r.Transcript = talk(
			[]chat.Part{text("Look at both.")},
			[]chat.Part{text("I look."), use("3.0", "read", `{"path":"a.txt"}`), use("3.1", "list", `{}`)},
			[]chat.Part{result("3.0", "no such file", true), result("3.1", "b.txt", false), text("Go on.")},
		)
	})
	with("thinking", func(r *model.Request) {
		r.Tools, r.Effort, r.MaxOutput = request().Tools, model.EffortMedium, 32000
		r.Transcript = talk(
			[]chat.Part{text("Look.")},
			[]chat.Part{
				{Kind: chat.PartThinking, Text: "A file.", Seal: "anthropic/signature:c2ln"},
				{Kind: chat.PartThinking, Seal: "anthropic/redacted:cmVk"},
				{Kind: chat.PartThinking, Text: "One file.", Seal: "openai/field:reasoning_content"},
				{Kind: chat.PartThinking, Text: "Nobody's."},
				use("3.0", "list", `{}`),
			},
			[]chat.Part{result("3.0", "b.txt", false)},
		)
	})
	with("foreign", func(r *model.Request) {
		r.Tools, r.Effort, r.MaxOutput = request().Tools, model.EffortMedium, 32000
		r.Transcript = talk(
			[]chat.Part{text("Look.")},
			[]chat.Part{{Kind: chat.PartThinking, Text: "Nobody's."}, use("3.0", "list", `{}`)},
			[]chat.Part{result("3.0", "b.txt", false)},
		)
	})
	with("past", func(r *model.Request) {
		r.Transcript = talk(
			[]chat.Part{text("Look.")},
			[]chat.Part{
				{Kind: chat.PartThinking, Text: "One file.", Seal: "openai/field:reasoning_content"},
				use("3.0", "list", `{}`),
			},
			[]chat.Part{result("3.0", "b.txt", false), text("Never mind.")},
		)
	})
	with("image", func(r *model.Request) {
		r.Images = map[string]model.Image{"img-1": {MediaType: "image/png", Data: []byte("PNG")}}
		r.Transcript = talk([]chat.Part{text("What is this?"), {Kind: chat.PartImage, Image: "img-1"}})
	})
	with("look", func(r *model.Request) {
		r.Tools = request().Tools
		r.Images = map[string]model.Image{
			"img-1": {MediaType: "image/png", Data: []byte("PNG")}, "img-2": {MediaType: "image/gif", Data: []byte("GIF")},
		}
		r.Transcript = talk(
			[]chat.Part{text("Look.")},
			[]chat.Part{
				{Kind: chat.PartThinking, Text: "Two files.", Seal: "openai/field:reasoning_content"},
				use("3.0", "list", `{}`), use("3.1", "list", `{}`),
			},
			[]chat.Part{
				result("3.0", "a.png", false), result("3.1", "b.gif", false),
				{Kind: chat.PartImage, Call: "3.0", Image: "img-1"},
				{Kind: chat.PartImage, Call: "3.1", Image: "img-2"},
			},
		)
	})
	with("cache", func(r *model.Request) {
		r.Tools = request().Tools
		r.System = []model.Instruction{
			{Text: "You are helpful.", Cache: true},
			{Text: "The project is green.", Cache: true},
			{Text: "Today is Sunday."},
		}
		r.Transcript = talk(
			[]chat.Part{text("One.")}, []chat.Part{text("Two.")}, []chat.Part{text("Three.")},
			[]chat.Part{text("Four.")}, []chat.Part{text("Five.")},
		)
	})
	with("settings", func(r *model.Request) { r.Temperature, r.MaxOutput = &warm, 2000 })
	with("effort", func(r *model.Request) {
		r.Temperature, r.MaxOutput, r.Effort = &warm, 2000, model.EffortHigh
	})
	with("calm", func(r *model.Request) { r.Temperature, r.Effort = &warm, model.EffortNone })
	return out
}

// capture keeps the request and answers with a whole reply.
type capture struct {
	header http.Header
	path   string
	body   []byte
}

func (c *capture) handle(reply string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.header, c.path = r.Header.Clone(), r.URL.Path
		c.body, _ = io.ReadAll(r.Body)
		answer(reply)(w, r)
	}
}

// TestGolden compares the exact JSON that is sent with the files under testdata.
func TestGolden(t *testing.T) {
	all := scenarios()
	for _, w := range wires {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				var sent capture
				if _, err := w.ask(t, all[name], sent.handle(w.fixture(t, "text")), nil); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", w.name, name+".golden.json"), sent.body)
			})
		}
	}
}

// TestGoldenOptions holds what the options of an adapter change.
func TestGoldenOptions(t *testing.T) {
	adaptive := wire{"anthropic", "", func(_, base string, _ *http.Client) (model.Client, error) {
		return anthropic.New(anthropic.Options{BaseURL: base, Thinking: anthropic.ThinkingAdaptive})
	}}
	older := wire{"openai", "", func(_, base string, _ *http.Client) (model.Client, error) {
		return openai.New(openai.Options{BaseURL: base + "/v1", OldLimit: true})
	}}
	for name, w := range map[string]wire{"adaptive": adaptive, "oldlimit": older} {
		t.Run(name, func(t *testing.T) {
			var sent capture
			if _, err := w.ask(t, scenarios()["effort"], sent.handle(w.fixture(t, "text")), nil); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", w.name, name+".golden.json"), sent.body)
		})
	}
}

func golden(t *testing.T, file string, body []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		t.Fatalf("sent %q: %v", body, err)
	}
	pretty.WriteByte('\n')
	if *update {
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(must(os.ReadFile(file))(t)), pretty.String()); diff != "" {
		t.Errorf("%s (-want +got)\n%s", file, diff)
	}
}

// TestEnvironment sets everything the SDKs would read, one at a time, and sees none of it on the
// wire, with a key of ours and without.
func TestEnvironment(t *testing.T) {
	const leak = "leak-canary"
	environment := map[string]string{
		"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "OPENAI_BASE_URL": "http://127.0.0.1:1",
		"OPENAI_CUSTOM_HEADERS": "X-Leak: " + leak,
	}
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ORG_ID",
		"OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY",
	} {
		environment[name] = leak
	}
	headers := map[string]string{"anthropic": "X-Api-Key", "openai": "Authorization"}
	paths := map[string]string{"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}
	for name, value := range environment {
		for _, key := range []string{testKey, ""} {
			for _, w := range wires {
				t.Run(name+"/"+w.name+"/"+key, func(t *testing.T) {
					t.Setenv(name, value)
					w.key = key
					var sent capture
					if _, err := w.ask(t, request(), sent.handle(w.fixture(t, "text")), nil); err != nil {
						t.Fatal(err)
					}
					var header bytes.Buffer
					if err := sent.header.Write(&header); err != nil {
						t.Fatal(err)
					}
					if bytes.Contains(header.Bytes(), []byte(leak)) || sent.path != paths[w.name] {
						t.Errorf("the environment leaks into %s\n%s", sent.path, header.String())
					}
					if got := strings.TrimPrefix(sent.header.Get(headers[w.name]), "Bearer "); got != key {
						t.Errorf("the key is %q, want %q", got, key)
					}
				})
			}
		}
	}
}
