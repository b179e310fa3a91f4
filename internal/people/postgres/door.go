package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

// Session implements people.Credentials. It is one round trip.
func (s *Store) Session(ctx context.Context, c people.Credential, at time.Time) (people.Holder, error) {
	h := people.Holder{Tenant: c.Tenant, Scopes: people.AllScopes()}
	err := s.pool.QueryRow(ctx, `select person, email, role, until, deleting from people.session($1, $2, $3, $4)`,
		c.Tenant, c.Hash(), at, people.SessionIdle).Scan(&h.Person, &h.Email, &h.Role, &h.Until, &h.Deleting)
	if err != nil {
		return people.Holder{}, fault("look up a session", err)
	}
	return h, nil
}

// Key implements people.Credentials. It is one round trip.
func (s *Store) Key(ctx context.Context, c people.Credential, at time.Time) (people.Holder, error) {
	h := people.Holder{Tenant: c.Tenant}
	err := s.pool.QueryRow(ctx, `select person, email, role, id, scopes, until, deleting from people.key($1, $2, $3)`,
		c.Tenant, c.Hash(), at).Scan(&h.Person, &h.Email, &h.Role, &h.ID, &h.Scopes, &h.Until, &h.Deleting)
	if err != nil {
		return people.Holder{}, fault("look up a key", err)
	}
	return h, nil
}

// Changes implements people.Credentials.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.pool.QueryRow(ctx, `select n from people.changes`).Scan(&n)
	return n, fault("look for changes", err)
}

// BeginLogin implements people.Logins. It also forgets logins that nobody carried out.
func (s *Store) BeginLogin(ctx context.Context, l people.Login) error {
	return s.showing(ctx, "begin a login", "login:"+hex.EncodeToString(l.State), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `delete from people.logins where ends_at < now()`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into people.logins (state, nonce, verifier, next, ends_at) values ($1, $2, $3, $4, $5)`,
			l.State, l.Nonce, l.Verifier, l.Next, l.Until)
		return err
	})
}

// TakeLogin implements people.Logins. Of several who try at once, one gets it.
func (s *Store) TakeLogin(ctx context.Context, state []byte, at time.Time) (l people.Login, err error) {
	err = s.showing(ctx, "take up a login", "login:"+hex.EncodeToString(state), func(tx pgx.Tx) error {
		l.State = state
		return tx.QueryRow(ctx, `delete from people.logins where state = $1 and ends_at > $2
			returning nonce, verifier, next, ends_at`, state, at).Scan(&l.Nonce, &l.Verifier, &l.Next, &l.Until)
	})
	return l, err
}

// Arrive implements people.Logins.
func (s *Store) Arrive(ctx context.Context, p people.Person, at time.Time, taking people.Taking) ([]people.Tenant, error) {
	email, err := people.Email(p.Email)
	if err != nil {
		return nil, err
	}
	p.Email = email
	if err := s.settle(ctx, p, at); err != nil {
		return nil, err
	}
	invited, err := s.places(ctx, "email:"+p.Email, `email = $1 and person_id is null`, p.Email)
	if err != nil {
		return nil, err
	}
	for _, i := range invited {
		err := taking(i, func() error { return s.join(ctx, i, p, at) })
		if errors.Is(err, errMember) {
			err = s.drop(ctx, i)
		}
		if err != nil {
			return nil, err
		}
	}
	known, err := s.places(ctx, "person:"+p.ID(), `person_id = $1`, p.ID())
	if err != nil {
		return nil, err
	}
	for _, k := range known {
		err := s.inTenant(ctx, "note who logged in", k.Tenant, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `update people.members set email = $3, name = $4
				where tenant_id = $1 and member_id = $2 and (email, name) <> ($3, $4)`, k.Tenant, k.Member, p.Email, p.Name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return s.TenantsOf(ctx, p.ID())
}

// settle makes a person's own tenant, if there is none.
func (s *Store) settle(ctx context.Context, p people.Person, at time.Time) error {
	name := p.Name
	if name == "" {
		name = p.Email
	}
	return s.inTenant(ctx, "make a person's tenant", p.Home(), func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `insert into people.tenants (tenant_id, name, personal, made_by, made_at)
			values ($1, $2, true, $3, $4) on conflict do nothing`, p.Home(), name, p.ID(), at)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, insertMember, p.Home(), people.NewID("m"), p.ID(), p.Issuer, p.Subject, p.Email, p.Name,
			people.RoleOwner, p.Email, at, at)
		return err
	})
}

const insertMember = `insert into people.members
	(tenant_id, member_id, person_id, issuer, subject, email, name, role, added_by, added_at, joined_at)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

// join takes up an invitation. A person who is a member already stays what they are: errMember.
func (s *Store) join(ctx context.Context, i people.Invitation, p people.Person, at time.Time) error {
	return s.inTenant(ctx, "take up an invitation", i.Tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `update people.members set person_id = $3, issuer = $4, subject = $5, name = $6, joined_at = $7
			where tenant_id = $1 and member_id = $2 and person_id is null`,
			i.Tenant, i.Member, p.ID(), p.Issuer, p.Subject, p.Name, at)
		if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) && pgErr.Code == "23505" {
			return errMember
		}
		return err
	})
}

// errMember says that an invited person belongs to the tenant already.
var errMember = &chat.Error{Code: chat.CodeConflict, Message: "they are a member already"}

// drop removes an invitation that is not taken up.
func (s *Store) drop(ctx context.Context, i people.Invitation) error {
	return s.inTenant(ctx, "drop an invitation", i.Tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `delete from people.members where tenant_id = $1 and member_id = $2 and person_id is null`, i.Tenant, i.Member)
		return err
	})
}

// places lists where a person or an address is known.
func (s *Store) places(ctx context.Context, what, which, value string) (out []people.Invitation, err error) {
	err = s.showing(ctx, "look for tenants", what, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select tenant_id, member_id from people.members where `+which, value)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[people.Invitation])
		return err
	})
	return out, err
}

// StartSession implements people.Logins. It also forgets the tenant's sessions that have ended.
func (s *Store) StartSession(ctx context.Context, n people.Session) error {
	tenant := n.Credential.Tenant
	return s.inTenant(ctx, "begin a session", tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `delete from people.sessions where tenant_id = $1 and (ends_at < $2 or used_at < $3)`,
			tenant, n.At, n.At.Add(-people.SessionIdle))
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `insert into people.sessions (tenant_id, hash, person_id, began_at, used_at, ends_at)
			select $1, $2, m.person_id, $4, $4, $5 from people.members m where m.tenant_id = $1 and m.person_id = $3`,
			tenant, n.Credential.Hash(), n.Person, n.At, n.Until)
		if err == nil && tag.RowsAffected() == 0 {
			err = notFound()
		}
		return err
	})
}

// EndSession implements people.Logins.
func (s *Store) EndSession(ctx context.Context, c people.Credential) error {
	return s.inTenant(ctx, "end a session", c.Tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `delete from people.sessions where tenant_id = $1 and hash = $2`, c.Tenant, c.Hash())
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return changed(ctx, tx)
	})
}

// TenantsOf implements people.Tenants.
func (s *Store) TenantsOf(ctx context.Context, person string) ([]people.Tenant, error) {
	places, err := s.places(ctx, "person:"+person, `person_id = $1 order by joined_at, tenant_id`, person)
	if err != nil {
		return nil, err
	}
	var shared, own []people.Tenant
	for _, place := range places {
		t := people.Tenant{ID: place.Tenant}
		err := s.inTenant(ctx, "read a tenant", t.ID, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, `select t.name, t.personal and t.made_by = m.person_id, m.role,
				exists (select from people.deletions d where d.tenant_id = t.tenant_id) from people.tenants t
				join people.members m using (tenant_id) where t.tenant_id = $1 and m.person_id = $2`,
				t.ID, person).Scan(&t.Name, &t.Personal, &t.Role, &t.Deleting)
		})
		if err != nil {
			return nil, fmt.Errorf("tenant %s: %w", t.ID, err)
		}
		if t.Personal {
			own = append(own, t)
		} else {
			shared = append(shared, t)
		}
	}
	return append(shared, own...), nil
}

// MakeTenant implements people.Tenants.
func (s *Store) MakeTenant(ctx context.Context, id, name string, by people.Holder, at time.Time) error {
	var issuer, subject, called string
	err := s.inTenant(ctx, "look up who asks", by.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `select issuer, subject, name from people.members where tenant_id = $1 and person_id = $2`,
			by.Tenant, by.Person).Scan(&issuer, &subject, &called)
	})
	if err != nil {
		return err
	}
	return s.inTenant(ctx, "make a tenant", id, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into people.tenants (tenant_id, name, personal, made_by, made_at) values ($1, $2, false, $3, $4)`,
			id, name, by.Person, at)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insertMember, id, people.NewID("m"), by.Person, issuer, subject, by.Email, called,
			people.RoleOwner, by.Email, at, at)
		return err
	})
}
