package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

const memberColumns = `member_id, email, name, role, coalesce(person_id, ''), added_by, added_at, joined_at`

func scanMember(row pgx.CollectableRow) (m people.Member, err error) {
	var joined *time.Time
	err = row.Scan(&m.ID, &m.Email, &m.Name, &m.Role, &m.Person, &m.AddedBy, &m.AddedAt, &joined)
	m.AddedAt, m.JoinedAt = m.AddedAt.UTC(), moment(joined)
	return m, err
}

// moment is a time that may not have come.
func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// Members implements people.Members.
func (s *Store) Members(ctx context.Context, tenant string) (list []people.Member, err error) {
	err = s.inTenant(ctx, "list members", tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select `+memberColumns+` from people.members where tenant_id = $1
			order by added_at, member_id`, tenant)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanMember)
		return err
	})
	return list, err
}

// AddMember implements people.Members.
func (s *Store) AddMember(ctx context.Context, tenant string, m people.Member) error {
	return s.inTenant(ctx, "add a member", tenant, func(tx pgx.Tx) error {
		var there bool
		err := tx.QueryRow(ctx, `select exists (select from people.members where tenant_id = $1 and email = $2)`,
			tenant, m.Email).Scan(&there)
		if err != nil {
			return err
		}
		if there {
			return &chat.Error{Code: chat.CodeConflict, Message: m.Email + " is a member already"}
		}
		_, err = tx.Exec(ctx, insertMember, tenant, m.ID, nil, "", "", m.Email, m.Name, m.Role, m.AddedBy, m.AddedAt, nil)
		return err
	})
}

// ChangeRole implements people.Members.
func (s *Store) ChangeRole(ctx context.Context, tenant, member string, role people.Role) (m people.Member, err error) {
	err = s.inTenant(ctx, "change a role", tenant, func(tx pgx.Tx) error {
		if err := lock(ctx, tx, tenant); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `update people.members set role = $3 where tenant_id = $1 and member_id = $2
			returning `+memberColumns, tenant, member, role)
		if err != nil {
			return err
		}
		if m, err = pgx.CollectExactlyOneRow(rows, scanMember); err != nil {
			return err
		}
		return owned(ctx, tx, tenant)
	})
	return m, err
}

// RemoveMember implements people.Members. Sessions and keys go with the member.
func (s *Store) RemoveMember(ctx context.Context, tenant, member string) error {
	return s.inTenant(ctx, "remove a member", tenant, func(tx pgx.Tx) error {
		if err := lock(ctx, tx, tenant); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `delete from people.members where tenant_id = $1 and member_id = $2`, tenant, member)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return notFound()
		}
		return owned(ctx, tx, tenant)
	})
}

// lock lets one change of members happen at a time, so that no two take away the last owners.
func lock(ctx context.Context, tx pgx.Tx, tenant string) error {
	_, err := tx.Exec(ctx, `select from people.tenants where tenant_id = $1 for update`, tenant)
	return err
}

// owned refuses a change that leaves nobody in charge, and tells all servers of one that does not.
func owned(ctx context.Context, tx pgx.Tx, tenant string) error {
	var there bool
	err := tx.QueryRow(ctx, `select exists (select from people.members
		where tenant_id = $1 and role = 'owner' and person_id is not null)`, tenant).Scan(&there)
	if err != nil {
		return err
	}
	if !there {
		return &chat.Error{Code: chat.CodeConflict, Message: "a tenant needs an owner: make somebody else one first"}
	}
	return changed(ctx, tx)
}

// Keys implements people.Keys.
func (s *Store) Keys(ctx context.Context, tenant, person string) (list []people.Key, err error) {
	err = s.inTenant(ctx, "list keys", tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select k.key_id, k.person_id, m.email, k.name, k.scopes, k.made_at, k.ends_at, k.used_at, k.revoked_at
			from people.keys k join people.members m using (tenant_id, person_id)
			where k.tenant_id = $1 and ($2 = '' or k.person_id = $2) order by k.made_at, k.key_id`, tenant, person)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k people.Key, err error) {
			var used, revoked *time.Time
			err = row.Scan(&k.ID, &k.Person, &k.Email, &k.Name, &k.Scopes, &k.CreatedAt, &k.ExpiresAt, &used, &revoked)
			k.CreatedAt, k.ExpiresAt, k.UsedAt, k.RevokedAt = k.CreatedAt.UTC(), k.ExpiresAt.UTC(), moment(used), moment(revoked)
			return k, err
		})
		return err
	})
	return list, err
}

// MakeKey implements people.Keys.
func (s *Store) MakeKey(ctx context.Context, c people.Credential, k people.Key) error {
	return s.inTenant(ctx, "make a key", c.Tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into people.keys (tenant_id, key_id, hash, person_id, name, scopes, made_at, ends_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8)`,
			c.Tenant, k.ID, c.Hash(), k.Person, k.Name, k.Scopes, k.CreatedAt, k.ExpiresAt)
		return err
	})
}

// RevokeKey implements people.Keys. Doing so twice is the same as once.
func (s *Store) RevokeKey(ctx context.Context, tenant, person, id string, at time.Time) error {
	return s.inTenant(ctx, "revoke a key", tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update people.keys set revoked_at = coalesce(revoked_at, $4)
			where tenant_id = $1 and key_id = $3 and ($2 = '' or person_id = $2)`, tenant, person, id, at)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return notFound()
		}
		return changed(ctx, tx)
	})
}
