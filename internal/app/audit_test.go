package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	auditstore "github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
)

// installation is a data folder with the trails of two tenants.
func installation(t *testing.T) (dir string, log *sqlite.Log) {
	t.Helper()
	dir = t.TempDir()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "journal.db")})
	if err != nil {
		t.Fatal(err)
	}
	store, err := auditstore.OpenSQLite(t.Context(), filepath.Join(dir, "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"t_acme", "t_other"} {
		for _, id := range []string{"c1", "c2"} {
			r := audit.Record{Action: audit.ActionOpen, Outcome: audit.Accepted, Conversation: id}
			if err := store.Add(t.Context(), tenant, time.Now().Add(-time.Hour), []audit.Record{r}); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(log.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return dir, log
}

func openAuditor(t *testing.T, dir string) *Auditor {
	t.Helper()
	a, err := OpenAuditor(t.Context(), config.Settings{DataDir: dir}, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// TestAMistypedFolderHasNoTrail and gets none by being looked into.
func TestAMistypedFolderHasNoTrail(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenAuditor(t.Context(), config.Settings{DataDir: dir}, os.LookupEnv); chat.CodeOf(err) != chat.CodeNotFound ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("the answer is %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%v were made, %v", files, err)
	}
}

func TestEveryTenantIsVerified(t *testing.T) {
	dir, _ := installation(t)
	a := openAuditor(t, dir)
	all, err := a.Tenants(t.Context(), "", nil)
	if err != nil || !slices.Equal(all, []string{"t_acme", "t_other"}) {
		t.Fatalf("the tenants are %q, %v", all, err)
	}
	if _, err := a.Tenants(t.Context(), LocalTenant, nil); chat.CodeOf(err) != chat.CodeNotFound || !strings.Contains(err.Error(), "t_acme, t_other") {
		t.Errorf("a tenant that nobody knows: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, keyName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key was made by looking: %v", err)
	}
	var heads []string
	for _, tenant := range all {
		head, err := a.Head(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, head)
	}
	for _, tenant := range all {
		if r, err := a.Verify(t.Context(), tenant, append(heads, heads[0])); err != nil || r.Entries != 2 || r.Heads == 0 || r.Heads > 2 {
			t.Errorf("%s: %+v, %v", tenant, r, err)
		}
	}
	another, _ := installation(t)
	b := openAuditor(t, another)
	if _, err := b.Tenants(t.Context(), "", heads); err == nil || !strings.Contains(err.Error(), "audit.key is not in "+another) {
		t.Errorf("heads of elsewhere without a key: %v", err)
	}
	if _, err := b.Head(t.Context(), "t_acme"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Tenants(t.Context(), "", heads); err == nil || !strings.Contains(err.Error(), "audit.key of the machine") {
		t.Errorf("heads of elsewhere with another key: %v", err)
	}
}

// TestArchivedConversationsAreLookedThrough and imported ones are not: nobody decided anything in
// them here.
func TestArchivedConversationsAreLookedThrough(t *testing.T) {
	dir, log := installation(t)
	for _, id := range []string{"archived", journal.ImportPrefix + "x"} {
		decide(t.Context(), t, log, journal.Ref{Tenant: "t_acme", Conversation: id})
	}
	r, err := openAuditor(t, dir).Verify(t.Context(), "t_acme", nil)
	if err != nil || len(r.Gaps) != 1 || !strings.HasPrefix(r.Gaps[0], "archived, ") {
		t.Errorf("%+v, %v", r, err)
	}
}

// decide writes a decision past the trail, and takes the conversation off the list.
func decide(ctx context.Context, t *testing.T, log journal.Log, ref journal.Ref) {
	t.Helper()
	in := journal.In{Agent: "main", Task: "main"}
	_, err := log.Append(ctx, ref, time.Now(), journal.Opened{By: "ann"}, journal.TaskAssigned{In: in, Role: "main"},
		journal.ApprovalRequested{In: in, Call: "1.0", Tool: "shell", Hash: "h"},
		journal.ApprovalDecided{In: in, Call: "1.0", Hash: "h", Allow: true, By: "ann"}, journal.Archived{By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
}
