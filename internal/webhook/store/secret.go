package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/webhook"
)

// sealedVersion is that of a secret: it never changes.
const sealedVersion = 1

func secretName(hook string) string { return "webhook/" + hook }

// noKey is the answer of a server that cannot seal.
func noKey() error {
	return &chat.Error{
		Code: chat.CodeConflict, Message: "this server has no key to keep the secrets of webhooks under: its operator sets sealing.key",
	}
}

// otherKey is the answer of a server whose key is not the one that secrets were sealed with.
func otherKey(err error) error {
	return fmt.Errorf("%w: %w", &chat.Error{
		Code: chat.CodeConflict, Message: "sealing.key is not the key that the secrets of webhooks were sealed with: its operator sets that " +
			"one again, or names it as sealing.former; if it is lost, remove the webhooks and add them again",
	}, err)
}

// sealed is the stored form of a hook's secret.
func (s *Store) sealed(ctx context.Context, tx *sql.Tx, h webhook.Hook) (string, error) {
	key, err := s.key(ctx, tx, h.Tenant)
	if err != nil {
		return "", err
	}
	return key.Seal(secretName(h.ID), sealedVersion, h.Secret), nil
}

// unseal opens the secrets of a tenant's hooks.
func (s *Store) unseal(ctx context.Context, tx *sql.Tx, list []webhook.Hook) error {
	for i := range list {
		h := &list[i]
		key, err := s.key(ctx, tx, h.Tenant)
		if err != nil {
			return err
		}
		if h.Secret, err = key.Open(secretName(h.ID), sealedVersion, h.Secret); err != nil {
			return fmt.Errorf("open the secret of webhook %s: %w", h.ID, otherKey(err))
		}
	}
	return nil
}

// key is that of a tenant; one is made if there is none. One that a former key of the installation
// wrapped is wrapped anew.
func (s *Store) key(ctx context.Context, tx *sql.Tx, tenant string) (*seal.Tenant, error) {
	if s.keys == nil {
		return nil, noKey()
	}
	wrapped, err := wrappedKey(ctx, tx, tenant)
	if errors.Is(err, sql.ErrNoRows) {
		made, err := s.keys.NewTenant(tenant)
		if err != nil {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, `insert into webhook_keys (tenant_id, wrapped) values ($1, $2) on conflict (tenant_id) do nothing`,
			tenant, s.keys.Wrap(made))
		if err != nil {
			return nil, err
		}
		wrapped, err = wrappedKey(ctx, tx, tenant) // which may be another process's that was faster
		if err != nil {
			return nil, err
		}
		return s.unwrap(ctx, tx, tenant, wrapped)
	}
	if err != nil {
		return nil, err
	}
	return s.unwrap(ctx, tx, tenant, wrapped)
}

func wrappedKey(ctx context.Context, tx *sql.Tx, tenant string) (wrapped string, err error) {
	err = tx.QueryRowContext(ctx, `select wrapped from webhook_keys where tenant_id = $1`, tenant).Scan(&wrapped)
	return wrapped, err
}

func (s *Store) unwrap(ctx context.Context, tx *sql.Tx, tenant, wrapped string) (*seal.Tenant, error) {
	key, stale, err := s.keys.Unwrap(tenant, wrapped)
	if err != nil {
		return nil, otherKey(err)
	}
	if stale {
		_, err = tx.ExecContext(ctx, `update webhook_keys set wrapped = $3 where tenant_id = $1 and wrapped = $2`,
			tenant, wrapped, s.keys.Wrap(key))
	}
	return key, err
}

// Sealed counts the hooks of all tenants, and complains unless the keys open what seals their
// secrets. It changes nothing.
func (s *Store) Sealed(ctx context.Context) (count int, err error) {
	tenants, err := s.Tenants(ctx)
	for _, t := range tenants {
		var list []webhook.Hook
		failed := s.db.In(ctx, t.ID, func(tx *sql.Tx) (err error) {
			if list, err = hooks(ctx, tx, t.ID); err != nil || len(list) == 0 {
				return err
			}
			if s.keys == nil {
				return noKey()
			}
			wrapped, err := wrappedKey(ctx, tx, t.ID)
			if err != nil {
				return fmt.Errorf("read the key of the webhooks of %s: %w", t.ID, err)
			}
			if _, _, err := s.keys.Unwrap(t.ID, wrapped); err != nil {
				return otherKey(err)
			}
			return nil
		})
		count += len(list)
		err = cmp.Or(err, failed)
	}
	return count, err
}

// shred deletes the key of a tenant that has no hooks. Copies of its secrets, such as in a backup
// of the table, can then no longer be opened.
func shred(ctx context.Context, tx *sql.Tx, tenant string) error {
	_, err := tx.ExecContext(ctx, `delete from webhook_keys where tenant_id = $1
		and not exists (select 1 from webhooks where tenant_id = $1)`, tenant)
	return err
}
