package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/tool"
)

var update = flag.Bool("update", false, "write the golden files again")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask runs one call. Arguments are given as JSON.
func ask(t testing.TB, s *tool.Set, name, args string) tool.Result {
	t.Helper()
	r, err := s.Run(t.Context(), tool.Call{ID: "1.0", Tool: name, Args: json.RawMessage(args)})
	must(t, err)
	return r
}

// arguments writes arguments with one text in them.
func arguments(t testing.TB, key, text string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{key: text})
	must(t, err)
	return string(args)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
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
