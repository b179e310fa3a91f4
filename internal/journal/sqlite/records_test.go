package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// TestRecordColumns compares the view of records with the columns that people rely on.
//
//
func TestRecordColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	open(t, path)
	rows, err := raw(t, path).Query("select name from pragma_table_info('records') where name <> 'tenant_id' order by cid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // it was read to its end
	var got []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(journaltest.RecordColumns, got); diff != "" || rows.Err() != nil {
		t.Errorf("columns (+) against the wanted (-):\n%s%v", diff, rows.Err())
	}
}
