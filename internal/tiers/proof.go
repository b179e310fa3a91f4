package tiers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// proofHead is what docs/proof.md begins with.
const proofHead = `# Proof

What each suite showed when ` + "`make prove`" + ` ran it last. The program writes this page after every suite, so rows can be of
different commits. A suite that failed or missed its target says so. A plus after a commit means that there were changes
on top of it. ` + "`make prove ONLY=tenancy`" + ` runs one suite and writes its row again.

| suite | result | figures | took | commit | date | machine |
|---|---|---|---|---|---|---|
`

// Proof is the page that says what has been shown, and when.
type Proof struct {
	Path    string
	Table   Table // the order of its rows; what is not in it is dropped
	Commit  string
	Machine string
	Now     func() time.Time
}

// Record writes the row of one suite and keeps those of the others.
func (p *Proof) Record(r Result) error {
	text, err := os.ReadFile(p.Path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read proof: %w", err)
	}
	rows := proofRows(string(text))
	rows[r.Suite] = p.row(r)
	var page strings.Builder
	page.WriteString(proofHead)
	for _, s := range p.Table.In(Prove) {
		page.WriteString(rows[s.Name])
	}
	if err := os.WriteFile(p.Path, []byte(page.String()), 0o644); err != nil {
		return fmt.Errorf("write proof: %w", err)
	}
	return nil
}

func (p *Proof) row(r Result) string {
	result := "passed"
	if r.Failed {
		result = "**failed**"
	}
	shown := slices.Clone(r.Figures)
	for i, figure := range shown {
		shown[i] = strings.ReplaceAll(strings.ReplaceAll(figure, "|", "/"), "<", "&lt;")
	}
	return fmt.Sprintf("| `%s` | %s | %s | %.0f s | `%s` | %s | %s |\n", r.Suite, result, strings.Join(shown, "<br>"),
		r.Took.Seconds(), p.Commit, p.Now().UTC().Format(time.DateOnly), p.Machine)
}

// proofRows reads the rows that a page has, by suite.
func proofRows(page string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			rows[name] = line
		}
	}
	return rows
}
