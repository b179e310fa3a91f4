package config

import (
	"strings"
	"testing"
)

// TestSharedServer reads the settings of a server that several people share, and the faults of
// incomplete ones.
func TestSharedServer(t *testing.T) {
	const (
		journal = "journal: {dsn: '{env:DSN}'}\n"
		oidc    = "oidc: {issuer: 'https://id.example.org', client_id: retinue, client_secret: '{env:OIDC}'}"
	)
	tests := []struct{ name, text, want string }{
		{"all of it", journal + "serve: {url: 'https://r.example.org', proxies: [10.0.0.0/8], " + oidc + "}\n", ""},
		{"on this machine", journal + "serve: {url: 'http://127.0.0.1:7433', " + oidc + "}\n", ""},
		{"no journal", "serve: {url: 'https://r.example.org', " + oidc + "}\n", "serve.oidc: several people need a journal on PostgreSQL"},
		{"no address", journal + "serve: {" + oidc + "}\n", "serve.oidc: people must find back from the provider"},
		{"no encryption", journal + "serve: {url: 'http://r.example.org', " + oidc + "}\n", "serve.url: sessions need an address that begins with https"},
		{"a path", journal + "serve: {url: 'https://r.example.org/x', " + oidc + "}\n", "serve.url: write scheme and host only"},
		{"no client", journal + "serve: {url: 'https://r.example.org', oidc: {issuer: 'https://id.example.org'}}\n", "serve.oidc: client_id and client_secret"},
		{"a plain issuer", journal + "serve: {url: 'https://r.example.org', oidc: {issuer: 'http://id.example.org'}}\n", "serve.oidc: issuer: only an address that begins with https"},
		{"no issuer", journal + "serve: {oidc: {client_id: retinue}}\n", "serve.oidc: issuer: expected an address"},
		{"a domain", journal + "serve: {url: 'https://r.example.org', " + strings.TrimSuffix(oidc, "}") + ", domains: ['@x.org']}}\n", `domains: "@x.org" is no domain`},
		{"a proxy", "serve: {proxies: [10.0.0.1]}\n", `serve.proxies: "10.0.0.1" is no network`},
		{"the secret written out", "serve: {oidc: {client_secret: abcdefghijklmnopqrstuvwxyz}}\n", "serve.oidc.client_secret: a secret must not be written here"},
	}
	for _, test := range tests {
		loaded, err := LoadSettings(places(t, "", test.text, ""))
		switch {
		case test.want == "" && (err != nil || !loaded.Settings.Shared()):
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v\nwant %s", test.name, err, test.want)
		}
	}
}

// TestZerosThatWereSetAreShown sets a bound to none on purpose.
func TestZerosThatWereSetAreShown(t *testing.T) {
	loaded, err := LoadSettings(Inputs{Home: t.TempDir(), Flags: []Flag{{Name: "--set", Key: "serve.limits.commands", Value: "0"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range loaded.Entries() {
		if e.Key == "serve.limits.commands" && e.Value == "0" {
			return
		}
	}
	t.Errorf("it is not among %+v", loaded.Entries())
}
