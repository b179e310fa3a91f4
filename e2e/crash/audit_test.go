//go:build services

package crash

import (
	"io"
	"testing"

	"github.com/retinue-dev/retinue/internal/app"
)

// audited compares the journal after a run of faults with the audit trail: after any kill, each
// decision and each call that must not happen twice is on it, and the chain is whole.
func (w *world) audited(t *testing.T) {
	t.Helper()
	o, err := w.part.options(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	auditor, err := app.OpenAuditor(t.Context(), o.Loaded.Settings, o.Lookup)
	if err != nil {
		t.Fatal(err)
	}
	defer auditor.Close() //nolint:errcheck // it was only read
	report, err := auditor.Verify(t.Context(), app.LocalTenant, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, gap := range report.Gaps {
		if i < 40 {
			t.Error("not on the trail:", gap)
		}
	}
	t.Logf("audit trail        %d entries; %d decisions and effects in %d conversations, %d without an entry",
		report.Entries, report.Checked, report.Conversations, len(report.Gaps))
}
