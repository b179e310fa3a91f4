package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAProjectCanOnlyAddCanaries has a project that is not trusted name values, and try to shorten
// the list of files.
func TestAProjectCanOnlyAddCanaries(t *testing.T) {
	in := places(t, "", "canaries: {values: [mine-0123]}\n", "canaries: {values: [theirs-0123], files: []}\n")
	loaded, err := LoadSettings(in)
	if err != nil {
		t.Fatal(err)
	}
	want := Canaries{Values: []string{"mine-0123", "theirs-0123"}, Files: usualCanaries.Files}
	if diff := cmp.Diff(want, loaded.Settings.Canaries); diff != "" {
		t.Error(diff)
	}
	own := settings(t, places(t, "", "canaries: {files: []}\n", ""))
	if len(own.Settings.Canaries.Files) != 0 {
		t.Errorf("a person cannot do without: %v", own.Settings.Canaries.Files)
	}
	for text, want := range map[string]string{
		"canaries: {values: [short]}\n":      "give at least 8",
		"canaries: {files: [/etc/passwd]}\n": "expected a path from the top of the workspace",
		"canaries: {files: ['../x']}\n":      "expected a path from the top of the workspace",
		"canaries: {files: ['[']}\n":         "expected a path from the top of the workspace",
	} {
		if _, err := LoadSettings(places(t, "", text, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
