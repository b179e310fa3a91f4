// Package doctor checks an installation: its settings, roles, keys, servers, folders and programs.
// It changes nothing, and only opens connections.
//
// Package app hands in as Parts the components that only a server or a worker can open, so that
// doctor opens them as they do. The package imports chat, config and what lies below config, and
// secret. It promises that no finding shows a secret of the settings.
package doctor

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
)

// dialTimeout is how long a server may take to accept a connection.
const dialTimeout = 3 * time.Second

// Level is how a check ended.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// Finding is the result of one check.
type Finding struct {
	Level  Level  `json:"level"`
	Check  string `json:"check"`
	Detail string `json:"detail"`
	// Advice is what to do about it, if it is not fine.
	Advice string `json:"advice,omitempty"`
}

// Parts are the components of a server and a worker, which doctor opens as they do.
type Parts struct {
	// Engine connects to the Temporal server and reports whether it did so over TLS.
	Engine func(context.Context) (encrypted bool, err error)
	// Journal opens the journal and complains if it is not up to date.
	Journal func(context.Context) error
	// Certificate reads the certificate that a server shows.
	Certificate func() error
	// Pages reads the rules about pages.
	Pages func() error
	// Webhooks opens the secrets of the webhooks.
	Webhooks func(context.Context) Webhooks
	// Sandbox opens the sandbox, which tests itself.
	Sandbox func(context.Context) (Sandbox, error)
}

// Webhooks is the result of opening the secrets of the webhooks.
type Webhooks struct {
	// Count is how many webhooks have a secret.
	Count int
	// Unread is why the key of the installation could not be read; Keyless means that none is
	// configured.
	Unread  error
	Keyless bool
	// Err is why a secret could not be opened.
	Err error
}

// Sandbox are the components of the sandbox, and their faults.
type Sandbox struct{ Tier, Warning string }

// doctor collects findings.
type doctor struct {
	settings config.Settings
	loaded   config.Loaded
	parts    Parts
	lookup   func(string) (string, bool)
	found    []Finding
	vault    *secret.Vault
}

// Examine checks whether everything that the settings name exists and can be used. The error is
// that of reading the settings; the vault holds their secrets.
func Examine(ctx context.Context, loaded config.Loaded, err error, vault *secret.Vault, parts Parts) []Finding {
	d := &doctor{settings: loaded.Settings, loaded: loaded, parts: parts, lookup: os.LookupEnv, vault: vault}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			d.say(Fail, "settings", strings.TrimSpace(line), "correct it, then run doctor again")
		}
		return d.found
	}
	d.checkSettings()
	d.checkRoles()
	d.checkProviders(ctx)
	d.checkServers(ctx)
	d.checkServe(ctx)
	d.checkWeb()
	d.checkDataDir()
	if d.settings.Journal.DSN.IsZero() {
		d.checkWebhooks(ctx)
	}
	d.checkPrograms()
	d.checkSandbox(ctx)
	return d.found
}

func (d *doctor) say(level Level, check, detail, advice string) {
	d.found = append(d.found, Finding{level, check, d.vault.Redact(detail), d.vault.Redact(advice)})
}
