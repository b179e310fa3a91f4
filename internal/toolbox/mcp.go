package toolbox

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool/mcp"
)

// toolServers has the MCP servers of each workspace.
type toolServers struct {
	loaded    config.Loaded
	lookup    func(string) (string, bool)
	pins      *mcp.Pins
	logger    *slog.Logger
	sandboxes *Sandboxes
	vault     *secret.Vault

	mu    sync.Mutex
	known map[string]*knownServers
}

type knownServers struct {
	*mcp.Servers
	read time.Time
}

// serversFor is how long the files of servers that were read count as current: an edit is seen
// soon, and a burst of work reads them once.
const serversFor = 5 * time.Second

// pinsName is the file in the data folder with what people have approved of MCP servers.
const pinsName = "mcp.lock.json"

func newToolServers(
	loaded config.Loaded, lookup func(string) (string, bool), logger *slog.Logger, room *Sandboxes, vault *secret.Vault,
) *toolServers {
	return &toolServers{
		loaded: loaded, lookup: lookup, logger: logger, sandboxes: room, vault: vault, known: map[string]*knownServers{},
		pins: mcp.OpenPins(filepath.Join(loaded.Settings.DataDir, pinsName)),
	}
}

// box is the sandbox that servers run in.
func (t *toolServers) box(ctx context.Context) (*sandbox.Box, error) {
	room, err := t.sandboxes.Enter(ctx)
	return room.Box, err
}

// in is the servers of a folder, as the files describe them now or did a moment ago.
func (t *toolServers) in(folder string) *mcp.Servers {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.known[folder]
	if !ok {
		k = &knownServers{Servers: mcp.New(mcp.Options{
			Workspace: folder, Box: t.box, Pins: t.pins, Version: "1", Logger: t.logger,
			HostBytes: int64(t.loaded.Settings.Sandbox.HostBytes),
			Leaks:     t.sieve(folder).without,
		})}
		t.known[folder] = k
	}
	if time.Since(k.read) >= serversFor {
		entries, warnings := t.entries(folder)
		if k.read.IsZero() {
			for _, w := range warnings {
				t.logger.Warn("mcp server not used", "error", w.Error())
			}
		}
		k.read = time.Now()
		k.Use(entries)
	}
	return k.Servers
}

// entries reads which servers may be used in a folder.
func (t *toolServers) entries(folder string) ([]mcp.Entry, []document.Warning) {
	found := t.loaded.Servers(folder)
	var out []mcp.Entry
	for _, s := range found.List {
		if !s.Disabled {
			out = append(out, t.entry(s, folder))
		}
	}
	return out, found.Warnings
}

func (t *toolServers) entry(s config.Server, folder string) mcp.Entry {
	e := mcp.Entry{
		Name: s.Name, Scope: string(s.Scope), Command: s.Command, Cwd: s.Cwd, Hosts: s.Hosts, URL: s.URL,
		Env: t.texts(s.Env), Headers: t.texts(s.Headers),
	}
	if s.Scope == config.ScopeProject {
		e.Scope = folder
	}
	for _, a := range s.Args {
		e.Args = append(e.Args, t.text(a))
	}
	return e
}

func (t *toolServers) texts(table map[string]config.Template) map[string]mcp.Text {
	out := map[string]mcp.Text{}
	for name, value := range table {
		out[name] = t.text(value)
	}
	return out
}

func (t *toolServers) text(value config.Template) mcp.Text {
	return mcp.Text{
		Reference: value.Reference(),
		Reveal: func() (string, []string, error) {
			text, secrets, err := value.Reveal(t.lookup)
			for _, s := range secrets {
				t.vault.Add("mcp", s)
			}
			return text, secrets, err
		},
	}
}

// close ends all servers.
func (t *toolServers) close() error {
	t.mu.Lock()
	known := t.known
	t.known = map[string]*knownServers{}
	t.mu.Unlock()
	for _, k := range known {
		k.Close()
	}
	return nil
}
