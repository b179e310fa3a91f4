package sqlite

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestKeysAreFoundByTheirIndex asks SQLite how it looks keys up. A walk through the conversation
// gives the same entries, and a turn that costs more than the one before it.
func TestKeysAreFoundByTheirIndex(t *testing.T) {
	queries, err := os.ReadFile("queries/read.sql")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)-- name: EntriesByKey :many\n(.*?);`).FindSubmatch(queries)
	if text == nil {
		t.Fatal("there is no query EntriesByKey")
	}
	log := opened(t, filepath.Join(t.TempDir(), "journal.db"))
	asked := regexp.MustCompile(`@\w+`).ReplaceAllString(string(text[1]), "likely('[]')")
	rows, err := log.reader.QueryContext(t.Context(), "explain query plan "+asked)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // it has been read to its end
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(plan, "\n"); !strings.Contains(all, "AND key=?") {
		t.Errorf("keys are not looked up:\n%s", all)
	}
}
