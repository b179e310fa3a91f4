package supply

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Snapshot is a part of Go's vulnerability database, kept in a folder: the reports about modules
// that we require. The folder has the form of the whole (ID, index), which govulncheck reads, and
// snapshot.json.
type Snapshot struct {
	// Changed is when a report of the whole database was last changed, and so how old the snapshot is.
	Changed time.Time `json:"changed"`
	Commit  string    `json:"commit"`
	// Modules are those that reports were kept for.
	Modules []string `json:"modules"`
	Reports int      `json:"reports"`
}

const snapshotFile = "snapshot.json"

// report is what we need of a report in the OSV format. When it was changed is not in the file: in
// the repository that is the time of the commit.
type report struct {
	ID       string
	Aliases  []string
	Affected []struct {
		Package struct{ Name string }
		Ranges  []struct{ Events []struct{ Fixed string } }
	}
	text []byte
}

// Take makes a snapshot of the database's repository (a checkout or a bare one) in a folder, where
// it replaces an earlier one.
func Take(ctx context.Context, repository, dir string, modules []string) (Snapshot, error) {
	if _, err := os.Stat(dir); err == nil {
		if _, err := Open(dir); err != nil {
			return Snapshot{}, fmt.Errorf("%s exists and is no snapshot: remove it or name another folder", dir)
		}
	}
	s := Snapshot{Modules: modules}
	last, err := output(ctx, repository, "git", "log", "-1", "--format=%cI %H", "--", "data/osv")
	if err != nil {
		return s, err
	}
	when, commit, _ := strings.Cut(strings.TrimSpace(string(last)), " ")
	if s.Changed, err = time.Parse(time.RFC3339, when); err != nil {
		return s, fmt.Errorf("%s has no data/osv: it is no copy of golang/vulndb: %w", repository, err)
	}
	s.Changed, s.Commit = s.Changed.UTC(), commit
	archive, err := output(ctx, repository, "git", "archive", "--format=tar", "HEAD", "data/osv")
	if err != nil {
		return s, err
	}
	all, err := reports(bytes.NewReader(archive))
	if err != nil {
		return s, fmt.Errorf("read reports of %s: %w", repository, err)
	}
	var kept []report
	for _, r := range all {
		if slices.ContainsFunc(modules, r.about) {
			kept = append(kept, r)
		}
	}
	s.Reports = len(kept)
	return s, write(dir, s, kept)
}

// Open reads what a folder says of its snapshot.
func Open(dir string) (Snapshot, error) {
	var s Snapshot
	text, err := os.ReadFile(filepath.Join(dir, snapshotFile))
	if err != nil {
		return s, fmt.Errorf("no snapshot of the vulnerability database: clone github.com/golang/vulndb and run 'make vulns/update FROM=' its folder: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", snapshotFile, err)
	}
	return s, nil
}

// Missing are those of the modules that the snapshot was not made for: nothing would be found in
// them.
func (s Snapshot) Missing(modules []string) []string {
	return slices.DeleteFunc(slices.Clone(modules), func(m string) bool { return slices.Contains(s.Modules, m) })
}

func (r report) about(module string) bool {
	for _, a := range r.Affected {
		if a.Package.Name == module {
			return true
		}
	}
	return false
}

// fixed is the last version that a report calls repaired, "" if none is.
func (r report) fixed(module string) string {
	var last string
	for _, a := range r.Affected {
		for _, ranges := range a.Ranges {
			for _, e := range ranges.Events {
				if a.Package.Name == module && e.Fixed != "" {
					last = e.Fixed
				}
			}
		}
	}
	return last
}

func reports(archive io.Reader) ([]report, error) {
	var all []report
	for files := tar.NewReader(archive); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if head.Typeflag != tar.TypeReg || path.Ext(head.Name) != ".json" {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		r := report{text: text}
		if err := json.Unmarshal(text, &r); err != nil || r.ID+".json" != path.Base(head.Name) {
			return nil, fmt.Errorf("%s is no report: %w", head.Name, err)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, errors.New("there are none")
	}
	slices.SortFunc(all, func(a, b report) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

type (
	moduleEntry struct {
		Path  string      `json:"path"`
		Vulns []vulnEntry `json:"vulns"`
	}
	vulnEntry struct {
		ID       string    `json:"id"`
		Modified time.Time `json:"modified"`
		Fixed    string    `json:"fixed,omitempty"`
		Aliases  []string  `json:"aliases,omitempty"`
	}
)

// write lays a snapshot out as go.dev/doc/security/vuln/database describes.
func write(dir string, s Snapshot, kept []report) error {
	files := map[string]any{
		snapshotFile: s, "index/db.json": struct {
			Modified time.Time `json:"modified"`
		}{s.Changed},
	}
	modules, vulns := []moduleEntry{}, []vulnEntry{}
	for _, m := range s.Modules {
		entry := moduleEntry{Path: m}
		for _, r := range kept {
			if r.about(m) {
				entry.Vulns = append(entry.Vulns, vulnEntry{ID: r.ID, Modified: s.Changed, Fixed: r.fixed(m)})
			}
		}
		if len(entry.Vulns) > 0 {
			modules = append(modules, entry)
		}
	}
	for _, r := range kept {
		vulns = append(vulns, vulnEntry{ID: r.ID, Modified: s.Changed, Aliases: r.Aliases})
		files["ID/"+r.ID+".json"] = json.RawMessage(r.text)
	}
	files["index/modules.json"], files["index/vulns.json"] = modules, vulns
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the old snapshot: %w", err)
	}
	for name, value := range files {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
		if err := os.WriteFile(name, append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
	}
	return nil
}
