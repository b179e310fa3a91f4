package supply

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	isc = `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby
granted, provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.
`
	gpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public
License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty
of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU General Public License for more details.

You should have received a copy of the GNU General Public License along with this program. If not, see
<https://www.gnu.org/licenses/>.
`
)

// part lays out a part with two folders, of which one is used.
func part(t *testing.T, name, declared string, files map[string]string) Part {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"used/deep", "unused"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Part{Kind: Go, Name: name, Version: "v1.0.0", Dir: dir, Folders: []string{filepath.Join(dir, "used", "deep")}, Declared: declared}
}

func TestLicences(t *testing.T) {
	for name, c := range map[string]struct {
		declared string
		files    map[string]string
		names    []string
		says     string
	}{
		"its file":                     {"", map[string]string{"LICENSE": isc}, []string{"ISC"}, ""},
		"what it declares":             {"MIT", nil, []string{"MIT"}, ""},
		"both":                         {"MIT", map[string]string{"license.md": isc}, []string{"ISC", "MIT"}, ""},
		"none":                         {"", nil, nil, "no licence says"},
		"a notice is no licence":       {"", map[string]string{"NOTICE": isc}, nil, "no licence says"},
		"one that is not allowed":      {"", map[string]string{"COPYING": gpl}, nil, "licence GPL-3.0-or-later is not one of"},
		"one is declared and not":      {"SSPL-1.0", map[string]string{"LICENSE": isc}, nil, "licence SSPL-1.0 is not one of"},
		"a choice that nobody made":    {"(MIT OR GPL-3.0)", nil, nil, "is not one of"},
		"a second one beside":          {"", map[string]string{"LICENSE": isc, "LICENSE-GPL": gpl}, nil, "licence GPL-3.0-or-later is not one of"},
		"in a folder that is used":     {"", map[string]string{"LICENSE": isc, "used/COPYING": gpl}, nil, "licence GPL-3.0-or-later is not one of"},
		"in a folder that is not used": {"", map[string]string{"LICENSE": isc, "unused/COPYING": gpl}, []string{"ISC"}, ""},
		"words of somebody's own":      {"", map[string]string{"LICENSE": "Take it, but not on Sundays."}, nil, "no licence that we know"},
		"terms beside a licence": {
			"", map[string]string{"LICENSE": isc + strings.Repeat("Nobody may sell what was made with this. ", 40)}, nil, "no licence that we know",
		},
		"a file of source code": {"MIT", map[string]string{"license.go": "package x"}, []string{"MIT"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := part(t, "example.com/m", c.declared, c.files)
			licences, err := Licences(&p)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("got %v, want %q", err, c.says)
				}
				return
			}
			if diff := cmp.Diff(c.names, Names(&p, licences)); diff != "" || err != nil {
				t.Fatal(diff, err)
			}
		})
	}
}

func TestEveryJudgementSaysWhy(t *testing.T) {
	for name, j := range judged {
		if j.why == "" {
			t.Errorf("%s: nobody said why", name)
		}
	}
}
