package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/audit"
)

// TestTrailsInAFile adds to the chains of two tenants, and opens the file again. It finds the same
// entries, each chain continues at its end, and no tenant sees another's entries.
func TestTrailsInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.db")
	records := []audit.Record{
		{
			Action: audit.ActionDecide, Outcome: audit.Accepted, Actor: audit.Actor{User: "ann", Credential: "key_1", Source: "api"},
			Conversation: "c", Object: "main#1.0", Digest: strings.Repeat("0", 64), Detail: "allow=true", Key: "k",
		},
		{Action: audit.ActionPost, Outcome: audit.Denied, Actor: audit.Actor{User: "eve"}},
		{Action: audit.ActionPost, Outcome: audit.Accepted, Actor: audit.Actor{User: "bob"}},
	}
	at := time.UnixMilli(1_800_000_000_123).UTC()
	for _, r := range records {
		s, err := OpenSQLite(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(t.Context(), "zeta", at, []audit.Record{r}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the test is over
	if err := s.Add(t.Context(), "acme", at, records[1:2]); err != nil {
		t.Fatal(err)
	}
	got, err := s.Read(t.Context(), "zeta", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var want []audit.Entry
	sum := audit.Origin("zeta")
	for i, r := range records {
		e := audit.Entry{Seq: int64(i) + 1, At: at, Record: r}
		sum = audit.Sum("zeta", sum, e)
		e.Hash = sum
		want = append(want, e)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if page, err := s.Read(t.Context(), "zeta", 1, 1); err != nil || len(page) != 1 || page[0].Seq != 2 {
		t.Errorf("one entry after the first: %+v, %v", page, err)
	}
	for tenant, want := range map[string]audit.Head{
		"zeta": {Tenant: "zeta", Seq: 3, Hash: sum}, "acme": {Tenant: "acme", Seq: 1, Hash: audit.Sum("acme", audit.Origin("acme"), audit.Entry{Seq: 1, At: at, Record: records[1]})},
		"none": {Tenant: "none", Hash: audit.Origin("none")},
	} {
		if head, err := s.Last(t.Context(), tenant); err != nil || head != want {
			t.Errorf("the end of %s: %+v, %v, want %+v", tenant, head, err, want)
		}
	}
	if tenants, err := s.Tenants(t.Context()); err != nil || !slices.Equal(tenants, []string{"acme", "zeta"}) {
		t.Errorf("those who have a trail: %q, %v", tenants, err)
	}
}

// TestFilesThatAreNoTrail does not open another program's file, and says which file it expected.
func TestFilesThatAreNoTrail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.db")
	body := strings.Repeat("not a database ", 1000)
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSQLite(t.Context(), path); err == nil || !strings.HasPrefix(err.Error(), "open the audit trail: ") {
		t.Errorf("%v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != body {
		t.Errorf("the file is another now: %d bytes, %v", len(after), err)
	}
}
