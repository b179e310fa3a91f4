package supply

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Allowed are the licences that a part may have, by their SPDX names.
var Allowed = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-2-Clause-Views", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "OFL-1.1", "Unlicense", "blessing",
}

// judged are the licences that a person had to look up: by name of the part, or of its file. A file
// without a licence is left out.
var judged = map[string]struct{ name, why string }{
	"github.com/cactus/go-statsd-client/statsd": {
		"MIT", "The module lies in a folder of its repository, whose root has the licence; its files name it.",
	},
	"github.com/nexus-rpc/nexus-proto-annotations": {
		"MIT", "No licence is stated. The makers of Temporal wrote it for their API, which imports it and is under MIT.",
	},
	"modernc.org/memory/LICENSE-LOGO":         {"", "An address of a picture, which is not linked."},
	"modernc.org/sqlite/LICENSE-3RD-PARTY.md": {"", "Lists its whole module graph. What is linked is a part of its own here."},
	"modernc.org/sqlite/LICENSE-SQLITE":       {"blessing", "Public domain; blessing is what SPDX calls SQLite's dedication."},
}

// Licence is a file of a part with its licence or its required notices.
type Licence struct {
	Part *Part
	Path string // from the folder of the part
	Text string
	// Names are the SPDX names of the licences in it. Notices have none.
	Names []string
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-_][^.]*)?(\.(md|txt|libyaml))?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents|copyright)(\.(md|txt))?$`)
)

// Licences reads the licences of a part, and fails when there is none, one is not recognised or one
// is not allowed.
func Licences(p *Part) ([]Licence, error) {
	var found []Licence
	for _, dir := range above(p) {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, f := range files {
			licence, notice := licenceFile.MatchString(f.Name()), noticeFile.MatchString(f.Name())
			if !f.Type().IsRegular() || !licence && !notice {
				continue
			}
			l, err := readLicence(p, filepath.Join(dir, f.Name()))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			if len(l.Names) > 0 || notice {
				found = append(found, l)
			}
		}
	}
	names := Names(p, found)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no licence says what one may do with it", p.Name)
	}
	for _, name := range names {
		if !slices.Contains(Allowed, name) {
			return nil, fmt.Errorf("%s: licence %s is not one of %s", p.Name, name, strings.Join(Allowed, ", "))
		}
	}
	return found, nil
}

// readLicence reads a licence file. It leaves out the notices for other packages that the makers
// bundled into a tool of their own.
func readLicence(p *Part, file string) (Licence, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Licence{}, err
	}
	path, err := filepath.Rel(p.Dir, file)
	if err != nil {
		return Licence{}, err
	}
	own, _, _ := strings.Cut(string(text), "\n# Licenses of bundled dependencies")
	l := Licence{Part: p, Path: filepath.ToSlash(path), Text: own}
	if noticeFile.MatchString(filepath.Base(file)) {
		return l, nil
	}
	if found, ok := judged[p.Name+"/"+l.Path]; ok {
		if found.name != "" {
			l.Names = []string{found.name}
		}
		return l, nil
	}
	l.Names = recognise(own)
	if len(l.Names) == 0 {
		return Licence{}, fmt.Errorf("%s is no licence that we know, or has terms beside one", l.Path)
	}
	return l, nil
}

// Names are the SPDX names of the licences of a part, in order: those in its files, the one that it
// declares, and the one that a person found.
func Names(p *Part, licences []Licence) []string {
	var names []string
	for _, name := range []string{p.Declared, judged[p.Name].name} {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, l := range licences {
		names = append(names, l.Names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// above are the folders of a part in which licences count.
func above(p *Part) []string {
	var dirs []string
	for _, dir := range p.Folders {
		for ; len(dir) > len(p.Dir); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	dirs = append(dirs, p.Dir)
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// known is the share of a text, in percent, that must match licences for it to count as one. The
// lowest match is modernc.org/libc's list of its origins.
const known = 50

// recognise names the licences in a text, none if too much of it is something else.
func recognise(text string) []string {
	var names []string
	seen := licensecheck.Scan([]byte(text))
	for _, m := range seen.Match {
		if !m.IsURL && seen.Percent >= known && !slices.Contains(names, m.ID) {
			names = append(names, m.ID)
		}
	}
	return names
}
