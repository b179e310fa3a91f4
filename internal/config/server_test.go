package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withServers is settings over a home and a project with these files of servers; empty means none.
func withServers(t *testing.T, user, project string, trusted bool) (Loaded, string) {
	t.Helper()
	home := t.TempDir()
	at := filepath.Join(home, "work")
	for path, text := range map[string]string{
		filepath.Join(home, ".config", "retinue", "mcp.json"): user, filepath.Join(at, ".mcp.json"): project,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	in := Inputs{Home: home, Project: at}
	if trusted {
		in.Flags = []Flag{{Name: "--set", Key: "trust", Value: at}}
	}
	loaded, err := LoadSettings(in)
	if err != nil {
		t.Fatal(err)
	}
	return loaded, at
}

// summary is a server in one line.
func summary(s Server) string {
	words := []string{s.Name, string(s.Scope), s.Command + s.URL}
	for _, a := range s.Args {
		words = append(words, a.Reference())
	}
	for _, table := range []map[string]Template{s.Env, s.Headers} {
		for name, value := range table {
			words = append(words, name+"="+value.Reference())
		}
	}
	return strings.Join(append(words, s.Hosts...), " ")
}

func TestServersOfPersonAndProject(t *testing.T) {
	user := `{"mcpServers": {
		"files": {"command": "node", "args": ["server.js", "--key=${FILES_KEY}"], "env": {"A": "{env:A}"}, "hosts": ["api.example.com"]},
		"web": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer {env:TOKEN}"}}}}`
	project := `{"other": 1, "mcpServers": {"web": {"command": "uvx", "args": ["web"]}}}`
	loaded, at := withServers(t, user, project, true)
	var got []string
	servers := loaded.Servers(at)
	for _, s := range servers.List {
		got = append(got, summary(s))
	}
	if diff := cmp.Diff([]string{
		"files user node server.js --key={env:FILES_KEY} A={env:A} api.example.com", "web project uvx web",
	}, got); diff != "" || len(servers.Warnings) > 0 {
		t.Error(diff, servers.Warnings)
	}

	loaded, at = withServers(t, user, project, false)
	servers = loaded.Servers(at)
	if len(servers.List) != 2 || servers.List[1].Scope != ScopeUser {
		t.Errorf("a project that is not trusted: %v", servers.List)
	}
	if len(servers.Warnings) != 1 || !strings.Contains(servers.Warnings[0].Error(), "not used: this project is not trusted") {
		t.Errorf("warnings: %v", servers.Warnings)
	}
}

func TestServersThatCannotBeUsed(t *testing.T) {
	for entry, want := range map[string]string{
		`"a": {}`:                               "a: give it a command or a url",
		`"a": {"command":"x","url":"http://y"}`: "a: it has a command and a url: give one",
		`"a__b": {"command":"x"}`:               `a server cannot be called "a__b": use up to 32 letters, digits, - and single _ between them`,
		`"_a": {"command":"x"}`:                 `a server cannot be called "_a": use up to 32 letters, digits, - and single _ between them`,
		`"a": {"command":"x","args":"y"}`:       "a.args: expected a list, found text",
		`"a": {"command":"x","env":{"K":"sk-1234567890abcdef"}}`: "a.env: K: a secret must not be written here: put it into a variable or a file, " +
			"and write {env:NAME} or {file:path}",
		`"a": {"command":"x","env":{"K":"${X:-y}"}}`:   "a.env: K: only {env:NAME}, {file:path} and ${NAME} stand for something else here",
		`"a": {"url":"ftp://x"}`:                       "a: url: write an address such as https://mcp.example.com/mcp",
		`"a": {"url":"https://u:p@x"}`:                 "a: url: a secret must not be written here: put it into a header, as {env:NAME}",
		`"a": {"type":"sse","url":"https://x"}`:        "a: the old SSE transport is not spoken here: give the server's streamable HTTP address, and type http",
		`"a": {"type":"http","command":"x"}`:           "a: type http does not fit the rest",
		`"a": {"command":"x","headers":{"K":"v"}}`:     "a: headers are for servers with a url",
		`"a": {"command":"x","hosts":["https://x/y"]}`: "a: hosts: write names such as api.example.com, *.example.com or example.com:8443",
	} {
		loaded, at := withServers(t, `{"mcpServers": {"fine": {"command": "x"}, `+entry+`}}`, "", false)
		got := loaded.Servers(at)
		if len(got.List) != 1 || got.List[0].Name != "fine" {
			t.Errorf("%s: %v", entry, got.List)
		}
		if len(got.Warnings) != 1 || got.Warnings[0].Text != want || !got.Warnings[0].Skipped {
			t.Errorf("%s:\n got %v\nwant %s", entry, got.Warnings, want)
		}
	}
}

func TestATemplateHidesItsSecrets(t *testing.T) {
	loaded, at := withServers(t, `{"mcpServers": {"a": {"command": "x", "env": {"K": "id:{env:KEY}:${OTHER}"}}}}`, "", false)
	value := loaded.Servers(at).List[0].Env["K"]
	text, secrets, err := value.Reveal(func(name string) (string, bool) { return strings.ToLower(name) + "-value", true })
	if err != nil || text != "id:key-value:other-value" || !cmp.Equal(secrets, []string{"key-value", "other-value"}) {
		t.Errorf("%q %q %v", text, secrets, err)
	}
	if _, _, err := value.Reveal(func(string) (string, bool) { return "", false }); err == nil || err.Error() != "the variable KEY is not set" {
		t.Error(err)
	}
}

// TestAFolderInThePlaceOfAFileIsNone: a sandbox puts one there while a program runs.
func TestAFolderInThePlaceOfAFileIsNone(t *testing.T) {
	loaded, at := withServers(t, `{"mcpServers": {"a": {"command": "x"}}}`, "", true)
	if err := os.Mkdir(filepath.Join(at, ".mcp.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := loaded.Servers(at); len(got.List) != 1 || len(got.Warnings) > 0 {
		t.Errorf("%v %v", got.List, got.Warnings)
	}
}

func TestPathsAndNamesAreNoKeys(t *testing.T) {
	for text, want := range map[string]bool{
		"node_modules/@modelcontextprotocol/server-filesystem/dist/index.js": false,
		"@modelcontextprotocol/server-everything@2026.8.31":                  false,
		"--allow-read-only-access-to-everything-below-2024":                  false,
		"postgresql://localhost/my_long_database_name_for_tests":             false,
		"/home/ada/Projects2024/SomethingWithALongName":                      false,
		"postgresql://ada:pass@localhost/db":                                 true,
		"host=db password=hush":                                              true,
		"sk_learn-server-for-models":                                         false,
		"sk-ant-1234":                                                        true,
		"glpat-abcd1234":                                                     true,
		"--key=8f14e45fceea167a5a36dedd4bea2543":                             true,
		"Bearer eyJhbGciOiJIUzI1NiJ9":                                        true,
	} {
		if got := holdsKey(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestServersAreAddedAndRemoved(t *testing.T) {
	loaded, at := withServers(t, `{"mine": {"a": [1]}, "mcpServers": {"old": {"command": "x", "note": "kept"}}}`, "", true)
	file, err := loaded.AddServer(ScopeUser, at, "new", ServerEntry{Command: "node", Args: []string{"a b"}, Env: map[string]string{"K": "{env:K}"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), `"note": "kept"`) || !strings.Contains(string(data), `"mine"`) {
		t.Errorf("%s %v", data, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if _, err := loaded.AddServer(ScopeUser, at, "new", ServerEntry{Command: "x"}); err == nil {
		t.Error("a server was written over")
	}
	if _, err := loaded.AddServer(ScopeUser, at, "bad", ServerEntry{Command: "x", Env: map[string]string{"K": "ghp_1234567890"}}); err == nil ||
		strings.Contains(err.Error(), "ghp_") {
		t.Errorf("a secret was written: %v", err)
	}
	if _, err := loaded.AddServer(ScopeProject, at, "ours", ServerEntry{Type: "http", URL: "http://127.0.0.1:1/mcp"}); err != nil {
		t.Error(err)
	}
	if _, err := loaded.RemoveServer(ScopeUser, at, "old"); err != nil {
		t.Error(err)
	}
	if _, err := loaded.RemoveServer(ScopeUser, at, "old"); err == nil {
		t.Error("a server was removed twice")
	}
	var got []string
	for _, s := range loaded.Servers(at).List {
		got = append(got, summary(s))
	}
	if diff := cmp.Diff([]string{"new user node a b K={env:K}", "ours project http://127.0.0.1:1/mcp"}, got); diff != "" {
		t.Error(diff)
	}
}
