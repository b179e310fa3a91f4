//go:build services

package postgres_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	journal "github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/people/postgres"
)

// TestOpenRefusesPowerfulRoles connects as somebody whom the policies do not bind, as an owner of
// tables, who could turn them off, and with settings under which a commit may be lost.
func TestOpenRefusesPowerfulRoles(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	owner := "retinue_owner_" + strings.ToLower(rand.Text())
	conn := connect(t, dsn, "")
	run := func(ctx context.Context, statements ...string) {
		for _, sql := range statements {
			if _, err := conn.Exec(ctx, sql); err != nil {
				t.Error(err)
			}
		}
	}
	run(t.Context(), "create role "+owner, "grant "+journal.Role+" to "+owner, "alter table people.keys owner to "+owner)
	defer run(context.Background(), "reassign owned by "+owner+" to current_user", "drop role "+owner)
	for name, o := range map[string]postgres.Options{
		"superuser":          {DSN: dsn},
		"an owner of tables": {DSN: dsn, Role: owner},
		"no durability":      {DSN: dsn + "&options=-csynchronous_commit%3Doff", Role: journal.Role},
	} {
		s, err := postgres.Open(t.Context(), o)
		if chat.CodeOf(err) != chat.CodeDenied {
			t.Errorf("%s: error is %v, want a refusal", name, err)
		}
		if s != nil {
			s.Close()
		}
	}
}
