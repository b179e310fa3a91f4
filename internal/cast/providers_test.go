package cast

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// play serves a script until the test ends.
func play(t *testing.T, text string) *scripted.Server {
	t.Helper()
	script, err := scripted.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := scripted.New(script, scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := scripted.Listen("127.0.0.1:0", m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// TestModels asks tiers and named models of a scripted server over both wires, through everything
// that stands between a caller and a provider: router, rate limiter, prices, adapter.
func TestModels(t *testing.T) {
	server := play(t, `
rules:
  - when: {model: dead}
    reply: {fault: {name: overloaded}}
default: {text: hello, usage: {input: 20, output: 4}}
`)
	managed := t.TempDir()
	text := fmt.Sprintf(`
providers:
  a: {kind: anthropic, base_url: %q, key: '{env:TEST_KEY}'}
  o: {kind: openai, base_url: %q, key: '{env:TEST_KEY}', concurrency: 2, requests_per_minute: 6000}
  gone: {kind: openai, base_url: 'http://127.0.0.1:9', key: '{env:NO_SUCH_KEY}'}
tiers: {fast: o/small, balanced: a/dead}
fallbacks: {balanced: [o/large], a/dead: [o/small]}
models: {o/large: {input_usd: 3, output_usd: 15}}
`, server.AnthropicURL(), server.OpenAIURL())
	if err := os.WriteFile(filepath.Join(managed, "retinue.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.LoadSettings(config.Inputs{Managed: managed, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	variables := func(name string) (string, bool) { return "k", name == "TEST_KEY" }
	router, err := Models(loaded.Settings, variables)
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Name     string
		Cost     int64
		Unpriced int64
		Kind     chat.ErrorKind
	}
	got := map[string]answer{}
	for _, name := range []string{"fast", "balanced", "a/large", "a/dead", "o/dead"} {
		var told strings.Builder
		reply, err := router.Generate(t.Context(), model.Request{
			Model: name, MaxOutput: 100_000, Turn: 1,
			Transcript: chat.Transcript{{ID: "m", Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: "hi"}}}},
		}, func(d model.Delta) { told.WriteString(d.Text) })
		a := answer{Name: reply.Name, Cost: reply.Usage.Cost, Unpriced: reply.Usage.Unpriced}
		if err != nil {
			failure, _ := err.(*model.Error) //nolint:errorlint // the port promises this very type
			a.Kind = failure.Kind
		} else if told.String() != "hello" {
			t.Errorf("%s: told %q", name, told.String())
		}
		got[name] = a
	}
	want := map[string]answer{
		"fast":     {Name: "o/small", Unpriced: 1},
		"balanced": {Name: "o/large", Cost: 20*3 + 4*15},
		"a/large":  {Name: "a/large", Unpriced: 1},
		"a/dead":   {Name: "o/small", Unpriced: 1},
		"o/dead":   {Kind: chat.KindServerError},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (+) against the wanted (-):\n%s", diff)
	}

	loaded.Settings.Tiers.Strong = "gone/m"
	if _, err := Models(loaded.Settings, variables); err == nil || !strings.Contains(err.Error(), "NO_SUCH_KEY") {
		t.Errorf("a tier whose key is missing gives %v, want the name of the variable", err)
	}
}
