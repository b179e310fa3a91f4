//go:build services

package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

// TestTenantsHaveWorkspaces has two tenants serve workspaces of the same name.
func TestTenantsHaveWorkspaces(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	ann, bob := arrive(t, s, person("ann"))[0].ID, arrive(t, s, person("bob"))[0].ID
	later := moment.Add(time.Minute)
	ok(t, "serve", s.ServeWorkspace(t.Context(), ann, "shop", moment))
	ok(t, "serve it again", s.ServeWorkspace(t.Context(), ann, "shop", later))
	ok(t, "serve another", s.ServeWorkspace(t.Context(), ann, "docs", moment))
	ok(t, "serve bob's", s.ServeWorkspace(t.Context(), bob, "shop", moment))
	code(t, "a tenant that is not there", s.ServeWorkspace(t.Context(), "nobody", "shop", moment), chat.CodeNotFound)
	for tenant, want := range map[string][]people.Workspace{
		ann: {{Name: "docs", ServedAt: moment}, {Name: "shop", ServedAt: later}}, bob: {{Name: "shop", ServedAt: moment}},
	} {
		got, err := s.Workspaces(t.Context(), tenant)
		ok(t, "list", err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("workspaces (+) against the wanted (-):\n%s", diff)
		}
	}
}
