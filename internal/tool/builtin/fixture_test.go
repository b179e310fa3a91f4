package builtin_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
)

var update = flag.Bool("update", false, "write the golden files again")

// tree writes files into a new folder. A path that ends in / is a folder, a content that begins
// with
// -> is a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(full, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			must(t, os.Symlink(target, full))
			continue
		}
		must(t, os.WriteFile(full, []byte(content), 0o644))
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openSet makes the tools on a folder.
func openSet(t testing.TB, dir string) *tool.Set {
	t.Helper()
	w, err := builtin.Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	if always {
		w.AlwaysRipgrep()
	}
	s, err := tool.NewSet(tool.Options{}, w.Tools()...)
	must(t, err)
	return s
}

// ask runs one call. Arguments are given as JSON.
func ask(t testing.TB, s *tool.Set, name, args string) tool.Result {
	t.Helper()
	r, err := s.Run(t.Context(), tool.Call{ID: "1.0", Tool: name, Args: json.RawMessage(args)})
	must(t, err)
	return r
}

// quote writes arguments with one text in them.
func quote(key, text string) string {
	value, err := json.Marshal(text)
	if err != nil {
		return "{}"
	}
	return fmt.Sprintf(`{%q:%s}`, key, value)
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-) against what came (+); -update writes it again:\n%s", file, diff)
	}
}

// growth is by how much the heap grew at most while something ran, seen every millisecond.
func growth(run func()) uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, stats.HeapAlloc
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	for {
		select {
		case <-done:
			return most - before
		case <-time.After(time.Millisecond):
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
	}
}
