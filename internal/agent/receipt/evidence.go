package receipt

import (
	"cmp"
	"slices"
)

// Evidence holds the known effects of an agent and those below it.
type Evidence struct {
	// Changed has one entry for each file that was written, as it was before the first change and is
	// after the last.
	Changed  []Change  `json:"changed,omitempty"`
	Read     []File    `json:"read,omitempty"`
	Commands []Command `json:"commands,omitempty"`
	Pages    []Page    `json:"pages,omitempty"`
	// Partial means that not all files could be looked at: others may have been changed.
	Partial bool `json:"partial,omitempty"`
	// Perhaps counts calls that began and whose effects are unknown.
	Perhaps int `json:"perhaps,omitempty"`
	// Calls, Tokens and Duration, in milliseconds, are those of the run; the tokens those of its
	// sub-agents too.
	Calls    int   `json:"calls,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
	Duration int64 `json:"duration_ms,omitempty"`
}

// Unknown replaces the hash of a file that exists or existed and was not read.
const Unknown = "?"

// Change is a file before and after. A hash is empty where there was no file, or is none.
type Change struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// First and Last say when, as places in the journal. They order what several agents did.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// differs reports whether the file is not as it was. One that was written and that nobody looked
// into counts as changed.
func (c Change) differs() bool { return c.Before != c.After || c.Before == Unknown }

// File is a file that was read.
type File struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// Command is a program that ran.
type Command struct {
	Line   string `json:"line"`
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	Tests  *Tests `json:"tests,omitempty"`
	At     int64  `json:"at"`
}

// Tests are counted from a program's output.
type Tests struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed,omitempty"`
	Skipped int `json:"skipped,omitempty"`
}

// Page is something that was fetched.
type Page struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
}

// The most that a receipt lists of each. Of files that were read and pages the first are kept, of
// commands the last.
const (
	mostChanged  = 1000
	mostRead     = 100
	mostCommands = 100
)

// Count is the number of facts.
func (e Evidence) Count() int {
	return len(e.Changed) + len(e.Read) + len(e.Commands) + len(e.Pages)
}

// Add adds the known effects of a call or a sub-agent, in any order. It does not add calls, tokens
// and duration: a run knows its own.
func (e *Evidence) Add(o Evidence) {
	for _, c := range o.Changed {
		e.change(c)
	}
	for _, f := range o.Read {
		if !slices.ContainsFunc(e.Read, func(k File) bool { return k.Path == f.Path }) && len(e.Read) < mostRead {
			e.Read = append(e.Read, f)
		}
	}
	for _, p := range o.Pages {
		if !slices.ContainsFunc(e.Pages, func(k Page) bool { return k.URL == p.URL }) && len(e.Pages) < mostRead {
			e.Pages = append(e.Pages, p)
		}
	}
	e.Commands = append(e.Commands, o.Commands...)
	slices.SortStableFunc(e.Commands, func(a, b Command) int { return cmp.Compare(a.At, b.At) })
	if over := len(e.Commands) - mostCommands; over > 0 {
		e.Commands = slices.Clone(e.Commands[over:])
		e.Perhaps++ // an unlisted command may have been a test
	}
	e.Partial = e.Partial || o.Partial
	e.Perhaps += o.Perhaps
}

// change joins the changes of one file.
func (e *Evidence) change(c Change) {
	i := slices.IndexFunc(e.Changed, func(k Change) bool { return k.Path == c.Path })
	if i < 0 {
		if len(e.Changed) == mostChanged {
			e.Partial = true
			return
		}
		e.Changed = append(e.Changed, c)
		return
	}
	if !c.differs() {
		return // it was written with its own content
	}
	k := &e.Changed[i]
	if c.First < k.First {
		k.First, k.Before = c.First, c.Before
	}
	if c.Last >= k.Last {
		k.Last, k.After = c.Last, c.After
	}
}

// complete reports whether a file that is not listed was not changed.
func (e Evidence) complete() bool { return !e.Partial && e.Perhaps == 0 }
