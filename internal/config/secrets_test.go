package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllSecretsAreFound(t *testing.T) {
	s := Defaults("/data")
	s.Journal.DSN = Secret{ref: "{env:DSN}"}
	s.Live.NATS = Secret{plain: "nats://localhost:4222"}
	got := map[string]string{}
	for name, found := range s.Secrets() {
		got[name] = found.Reference()
	}
	want := map[string]string{
		"providers.anthropic.key": "{env:ANTHROPIC_API_KEY}", "providers.openai.key": "{env:OPENAI_API_KEY}",
		"web.search.key": "{env:TAVILY_API_KEY}",
		"journal.dsn":    "{env:DSN}", "live.nats_url": "nats://localhost:4222",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
