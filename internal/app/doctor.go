package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/doctor"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/listener"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/toolbox"
	webhookstore "github.com/retinue-dev/retinue/internal/webhook/store"
)

// Doctor checks whether everything that the settings speak of is there and can be used. It changes
// nothing and sends nothing but the opening of a connection.
func Doctor(ctx context.Context, in config.Inputs) []doctor.Finding {
	loaded, err := config.LoadSettings(in)
	c := checkup{settings: loaded.Settings, lookup: os.LookupEnv, vault: secret.New(in.Environ)}
	Hide(c.vault, c.settings, c.lookup)
	return doctor.Examine(ctx, loaded, err, c.vault, doctor.Parts{
		Engine: c.engine, Journal: c.journal, Certificate: c.certificate, Pages: c.pages, Webhooks: c.webhooks, Sandbox: c.sandbox,
	})
}

// checkup opens the parts of a server and a worker for doctor, and closes them again.
type checkup struct {
	settings config.Settings
	lookup   func(string) (string, bool)
	vault    *secret.Vault
}

func (c checkup) engine(ctx context.Context) (encrypted bool, err error) {
	at := c.settings.Engine
	secure, key, err := engineCredentials(at, c.lookup)
	if err != nil {
		return false, err
	}
	engine, err := durable.Connect(ctx, durable.ConnectOptions{
		Address: at.Temporal, Namespace: at.Namespace, TLS: secure, APIKey: key, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return false, err
	}
	engine.Close()
	return secure != nil, nil
}

func (c checkup) journal(ctx context.Context) error {
	log, done, err := openJournal(ctx, c.settings, c.lookup)
	if err != nil {
		return err
	}
	if migrated, ok := log.(interface{ Ready(context.Context) error }); ok {
		err = migrated.Ready(ctx)
	}
	return errors.Join(err, done())
}

func (c checkup) certificate() error {
	_, err := listener.Certificate(c.settings.Serve.TLS)
	return err
}

func (c checkup) pages() error {
	_, err := toolbox.Pages(c.settings.Web, c.lookup)
	return err
}

func (c checkup) webhooks(ctx context.Context) doctor.Webhooks {
	keys, unread := readKeys(c.settings, c.lookup, c.vault)
	out := doctor.Webhooks{Unread: unread, Keyless: keys == nil}
	if unread != nil && !errors.Is(unread, fs.ErrNotExist) {
		return out
	}
	store, err := c.openWebhooks(ctx, keys)
	if store != nil && err == nil {
		out.Count, err = store.Sealed(ctx)
		err = errors.Join(err, store.Close())
	}
	out.Err = err
	return out
}

// openWebhooks opens the webhooks to be read; nil where there never were any.
func (c checkup) openWebhooks(ctx context.Context, keys *seal.Keys) (*webhookstore.Store, error) {
	if !c.settings.Journal.DSN.IsZero() {
		dsn, err := c.settings.Journal.DSN.Reveal(c.lookup)
		if err != nil {
			return nil, err
		}
		return webhookstore.OpenPostgres(ctx, dsn, "", keys)
	}
	path := webhooksPath(c.settings)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as it says
	}
	return webhookstore.ReadSQLite(ctx, path, keys)
}

func (c checkup) sandbox(ctx context.Context) (doctor.Sandbox, error) {
	e := toolbox.NewSandboxes(c.settings.Sandbox)
	_, err := e.Enter(ctx)
	err = errors.Join(err, e.Close())
	return doctor.Sandbox{Tier: string(e.Options.Tier), Warning: e.Options.Warning()}, err
}
