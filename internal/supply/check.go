package supply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Old is the age of a snapshot at which it should be taken anew.
const Old = 90 * 24 * time.Hour

// Check looks for known vulnerabilities in programs.
type Check struct {
	Root     string
	Programs []Program
	Snapshot string // its folder
	Scanner  string // the path of govulncheck
	Now      time.Time
	Out      io.Writer
}

// Run prints the age of the snapshot, its coverage and its findings. It fails when a required
// module is not covered and when a program reaches a vulnerability that is repaired in a later
// version. An old snapshot is a warning.
func (c Check) Run(ctx context.Context) error {
	s, err := Open(c.Snapshot)
	if err != nil {
		return err
	}
	age := c.Now.Sub(s.Changed)
	days := int(age.Hours() / 24)
	fmt.Fprintf(c.Out, "database: last changed on %s, %d days old; %d reports about %d modules (golang/vulndb %.12s)\n",
		s.Changed.Format(time.DateOnly), days, s.Reports, len(s.Modules), s.Commit)
	if age > Old {
		fmt.Fprintf(c.Out, "WARNING: the database is %d days old. What was found since is unknown to this check.\n"+
			"WARNING: pull golang/vulndb and run 'make vulns/update FROM=' its folder.\n", days)
	}
	required, err := Required(ctx, c.Root, c.Programs)
	if err != nil {
		return err
	}
	if missing := s.Missing(required); len(missing) > 0 {
		return fmt.Errorf("the database was not taken for %s: run 'make vulns/update FROM=' a checkout of golang/vulndb", strings.Join(missing, ", "))
	}
	var reached, others int
	for _, p := range c.Programs {
		found, err := Scan(ctx, c.Scanner, c.Snapshot, filepath.Join(c.Root, p.Module), p.Package)
		if err != nil {
			return fmt.Errorf("scan %s: %w", p.Name, err)
		}
		for _, f := range found {
			fmt.Fprintf(c.Out, "%s: %s\n", p.Name, f)
			if f.Bad() {
				reached++
			} else {
				others++
			}
		}
	}
	fmt.Fprintf(c.Out, "proof: %d programs, %d modules: %d vulnerabilities reached and repaired upstream, %d others; database %d days old\n",
		len(c.Programs), len(required), reached, others, days)
	if reached > 0 {
		return errors.New("a program reaches a known vulnerability: require the version without it")
	}
	return nil
}
