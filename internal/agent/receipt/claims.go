package receipt

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Claims are the claims of a submit_result.
type Claims struct {
	Modified []string
	Created  []string
	// Run and Passed count tests; nil means that nothing is said.
	Run    *int
	Passed *int
}

// Read takes the claims out of the arguments of a submit_result. A field of another shape than it
// should have claims nothing.
func Read(args string) Claims {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &fields) != nil {
		return Claims{}
	}
	return Claims{
		Modified: list(fields["files_modified"]), Created: list(fields["files_created"]),
		Run: number(fields["tests_run"]), Passed: number(fields["tests_passed"]),
	}
}

func list(raw json.RawMessage) []string {
	var names []string
	if json.Unmarshal(raw, &names) != nil {
		var one string
		if json.Unmarshal(raw, &one) != nil {
			return nil
		}
		names = []string{one}
	}
	return slices.DeleteFunc(names, func(n string) bool { return strings.TrimSpace(n) == "" })
}

// number reads a count, also one that was written as text.
func number(raw json.RawMessage) *int {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(strings.TrimSpace(text))
	}
	var n *int
	if json.Unmarshal(raw, &n) != nil || (n != nil && *n < 0) {
		return nil
	}
	return n
}

// files are the paths that are claimed, as the facts spell them. A path that is claimed as both was
// created.
func (c Claims) files() (created, modified []string) {
	for _, name := range c.Created {
		created = append(created, clean(name))
	}
	for _, name := range c.Modified {
		if name = clean(name); !slices.Contains(created, name) {
			modified = append(modified, name)
		}
	}
	return created, modified
}

func clean(name string) string { return path.Clean(strings.TrimSpace(name)) }

// tests reports whether anything is claimed of tests.
func (c Claims) tests() bool {
	return (c.Run != nil && *c.Run != 0) || (c.Passed != nil && *c.Passed != 0)
}

// all reports whether every test is said to have passed.
func (c Claims) all() bool { return c.Passed != nil && (c.Run == nil || *c.Passed >= *c.Run) }
