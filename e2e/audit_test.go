//go:build services

package e2e

import (
	"testing"

	"github.com/retinue-dev/retinue/internal/app"
)

// audited checks all that scenarios left on a stack against the audit trail: each decision and each
// call that must not happen twice is on it.
func audited(t *testing.T, s *stack) {
	t.Helper()
	spec := s.spec()
	spec.Home = s.dir
	loaded, err := spec.settings()
	if err != nil {
		t.Fatal(err)
	}
	auditor, err := app.OpenAuditor(t.Context(), loaded.Settings, func(name string) (string, bool) {
		return s.dsn, name == dsnName
	})
	if err != nil {
		t.Fatal(err)
	}
	defer auditor.Close() //nolint:errcheck // it was only read
	head, err := auditor.Head(t.Context(), app.LocalTenant)
	if err != nil {
		t.Fatal(err)
	}
	report, err := auditor.Verify(t.Context(), app.LocalTenant, []string{head})
	if err != nil {
		t.Fatal(err)
	}
	for _, gap := range report.Gaps {
		t.Errorf("%s: not on the trail: %s", s.name, gap)
	}
	t.Logf("%s: %d entries; %d decisions and effects in %d conversations are on the trail",
		s.name, report.Entries, report.Checked, report.Conversations)
}
