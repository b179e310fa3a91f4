//go:build services

package postgres_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// TestRecordColumns compares the view of records with the columns that people rely on.
//
//
func TestRecordColumns(t *testing.T) {
	t.Parallel()
	got := query(t, connect(t, database(t), ""), `select attname::text from pg_attribute
		where attrelid = 'records'::regclass and attnum > 0 and attname <> 'tenant_id' order by attnum`)
	if diff := cmp.Diff(journaltest.RecordColumns, got); diff != "" {
		t.Errorf("columns (+) against the wanted (-):\n%s", diff)
	}
}
