package supply

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// database is a repository like golang/vulndb, with reports of our own.
func database(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for id, module := range map[string]string{"GO-0001-0001": "example.com/a", "GO-0001-0002": "example.com/b", "GO-0001-0003": Standard} {
		file := filepath.Join(dir, "data", "osv", id+".json")
		text := `{"id": "` + id + `", "aliases": ["CVE-0001"], "affected": [{"package": {"name": "` + module + `"},
			"ranges": [{"events": [{"introduced": "0"}, {"fixed": "1.2.3"}]}]}]}`
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05+02:00")
	run(t, "git", "-C", dir, "init", "-q")
	run(t, "git", "-C", dir, "add", ".")
	run(t, "git", "-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "reports")
	return dir
}

func TestASnapshotHasWhatWasAskedFor(t *testing.T) {
	ctx, from, dir := context.Background(), database(t), filepath.Join(t.TempDir(), "snapshot")
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "make vulns/update FROM=") {
		t.Errorf("no snapshot: %v", err)
	}
	if _, err := Take(ctx, from, dir, []string{"example.com/b"}); err != nil { // the next one replaces it
		t.Fatal(err)
	}
	taken, err := Take(ctx, from, dir, []string{"example.com/a", "example.com/c", Standard})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if diff := cmp.Diff(taken, s); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if s.Reports != 2 || !s.Changed.Equal(time.Date(2026, 1, 2, 1, 4, 5, 0, time.UTC)) {
		t.Errorf("got %+v", s)
	}
	if diff := cmp.Diff([]string{"example.com/b"}, s.Missing([]string{"example.com/b", "example.com/c"})); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{
		"index/db.json": `{"modified":"2026-01-02T01:04:05Z"}`,
		"index/modules.json": `[{"path":"example.com/a","vulns":[{"id":"GO-0001-0001","modified":"2026-01-02T01:04:05Z","fixed":"1.2.3"}]},` +
			`{"path":"stdlib","vulns":[{"id":"GO-0001-0003","modified":"2026-01-02T01:04:05Z","fixed":"1.2.3"}]}]`,
		"index/vulns.json": `[{"id":"GO-0001-0001","modified":"2026-01-02T01:04:05Z","aliases":["CVE-0001"]},` +
			`{"id":"GO-0001-0003","modified":"2026-01-02T01:04:05Z","aliases":["CVE-0001"]}]`,
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if diff := cmp.Diff(want+"\n", string(got)); diff != "" || err != nil {
			t.Error(name, diff, err)
		}
	}
	reports, err := os.ReadDir(filepath.Join(dir, "ID"))
	if len(reports) != 2 || err != nil {
		t.Errorf("kept %v, %v", reports, err)
	}
}

func TestWhatIsNoSnapshotStays(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(context.Background(), database(t), dir, nil); err == nil {
		t.Error("a folder of something else was replaced")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if _, err := Take(context.Background(), root, filepath.Join(t.TempDir(), "s"), nil); err == nil {
		t.Error("a repository without reports gave a snapshot")
	}
}

// stored writes a snapshot of nothing, changed at a time.
func stored(t *testing.T, s Snapshot) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, snapshotFile), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
