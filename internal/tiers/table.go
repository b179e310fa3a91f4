package tiers

import (
	"fmt"
	"slices"
	"strings"
)

// Tier is a set of suites that run together.
type Tier string

// The tiers, from the quickest to the most thorough.
const (
	Check Tier = "check"
	Gate  Tier = "gate"
	Prove Tier = "prove"
)

// columns are the tiers in the order of the table's columns.
var columns = []Tier{Check, Gate, Prove}

// Suite is one row of the table: a target of the Makefile.
type Suite struct {
	Name   string
	Build  bool          // it makes what others need, so it runs before them and alone
	With   map[Tier]Cell // the tiers it is part of
	Guards []string      // folders and files whose changes it guards; "." is all of them
}

// Cell is how a tier runs a suite: variables of make, such as MINUTES=1.
type Cell []string

// Table is every suite, in the order in which they run.
type Table []Suite

// Parse reads the table. Its columns are suite, check, gate, prove and guards, with a bar between
// them. In the columns of tiers "-" means that the tier leaves the suite out, "+" that it runs it
// as it is, and anything else is variables for make. The rows above the line "---" are builds.
func Parse(text string) (Table, error) {
	var table Table
	builds := true
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == "---":
			builds = false
		default:
			suite, err := parseRow(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			if slices.ContainsFunc(table, func(s Suite) bool { return s.Name == suite.Name }) {
				return nil, fmt.Errorf("line %d: %s is listed twice", n+1, suite.Name)
			}
			suite.Build = builds
			table = append(table, suite)
		}
	}
	return table, nil
}

func parseRow(line string) (Suite, error) {
	cells := strings.Split(line, "|")
	if want := len(columns) + 2; len(cells) != want {
		return Suite{}, fmt.Errorf("%d columns, want %d: suite, check, gate, prove, guards", len(cells), want)
	}
	suite := Suite{Name: strings.TrimSpace(cells[0]), With: map[Tier]Cell{}, Guards: strings.Fields(cells[len(cells)-1])}
	for i, tier := range columns {
		switch words := strings.Fields(cells[i+1]); {
		case len(words) == 0:
			return Suite{}, fmt.Errorf("%s: the column %s is empty: write - or +", suite.Name, tier)
		case words[0] == "-":
		case words[0] == "+":
			suite.With[tier] = Cell{}
		default:
			suite.With[tier] = words
		}
	}
	if len(suite.With) == 0 {
		return Suite{}, fmt.Errorf("%s: no tier runs it", suite.Name)
	}
	if len(suite.Guards) == 0 {
		return Suite{}, fmt.Errorf("%s: it guards nothing", suite.Name)
	}
	return suite, nil
}

// In returns the suites of a tier.
func (t Table) In(tier Tier) Table {
	return slices.DeleteFunc(slices.Clone(t), func(s Suite) bool { return !s.in(tier) })
}

// Command returns the words after make that run a suite as a tier does.
func (t Table) Command(tier Tier, name string) ([]string, error) {
	at := slices.IndexFunc(t, func(s Suite) bool { return s.Name == name })
	if at < 0 || !t[at].in(tier) {
		return nil, fmt.Errorf("%s is no suite of make %s", name, tier)
	}
	return t[at].command(tier), nil
}

func (s Suite) in(tier Tier) bool {
	_, ok := s.With[tier]
	return ok
}

func (s Suite) command(tier Tier) []string {
	return append([]string{s.Name}, s.With[tier]...)
}
