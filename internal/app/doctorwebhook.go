package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/retinue-dev/retinue/internal/seal"
	webhookstore "github.com/retinue-dev/retinue/internal/webhook/store"
)

// checkWebhooks says whether the secrets of the webhooks that there are can be opened, as they must be
// when something is sent.
func (d *doctor) checkWebhooks(ctx context.Context) {
	const check = "webhooks"
	keys, unread := readKeys(d.settings, d.lookup, d.vault)
	if unread != nil && !errors.Is(unread, fs.ErrNotExist) {
		d.say(LevelFail, check, said(unread), "correct it; without it no server starts")
		return
	}
	store, err := d.openWebhooks(ctx, keys)
	if store == nil && err == nil {
		return // there never were any
	}
	count := 0
	if err == nil {
		count, err = store.Sealed(ctx)
		err = errors.Join(err, store.Close())
	}
	const back = "set sealing.key to the one before, or put its file back; if it is lost, remove the webhooks and add them again"
	switch {
	case count > 0 && unread != nil:
		d.say(LevelFail, check, fmt.Sprintf("%d cannot be sent, since their key is not there: %s", count, said(unread)), back)
	case err != nil && keys == nil: // as for workers, who need none
		d.say(LevelWarn, check, said(err), "set sealing.key where servers run")
	case err != nil:
		d.say(LevelFail, check, said(err), back)
	case count > 0:
		d.say(LevelOK, check, fmt.Sprintf("%d, whose secrets can be opened", count), "")
	}
}

// openWebhooks opens the webhooks to be read; nil where there never were any.
func (d *doctor) openWebhooks(ctx context.Context, keys *seal.Keys) (*webhookstore.Store, error) {
	if !d.settings.Journal.DSN.IsZero() {
		dsn, err := d.settings.Journal.DSN.Reveal(d.lookup)
		if err != nil {
			return nil, err
		}
		return webhookstore.OpenPostgres(ctx, dsn, "", keys)
	}
	path := webhooksPath(d.settings)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as it says
	}
	return webhookstore.ReadSQLite(ctx, path, keys)
}
