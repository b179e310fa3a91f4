package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Set is the tools that a host can run.
type Set struct {
	options Options
	entries []entry // sorted by name
	byName  map[string]int
}

type entry struct {
	Definition
	tool   Tool
	schema *jsonschema.Resolved
	takes  string
}

// Options are what a set may be told; the zero value means the defaults.
type Options struct {
	// Cap is the most bytes of a result that the model reads; zero means DefaultCap.
	Cap int
	// Spill keeps the whole of what is over the cap; without one the middle is lost.
	Spill Spill
}

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// NewSet checks the definitions of tools and puts them together.
func NewSet(o Options, tools ...Tool) (*Set, error) {
	if o.Cap <= 0 {
		o.Cap = DefaultCap
	}
	s := &Set{options: o, byName: map[string]int{}}
	for _, t := range tools {
		e, err := check(t)
		if err != nil {
			return nil, err
		}
		s.entries = append(s.entries, e)
	}
	slices.SortFunc(s.entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	for i, e := range s.entries {
		for _, name := range slices.Concat([]string{e.Name}, e.Aliases) {
			if j, taken := s.byName[name]; taken {
				return nil, fmt.Errorf("tool name %s belongs to both %s and %s", name, s.entries[j].Name, e.Name)
			}
			s.byName[name] = i
		}
	}
	return s, nil
}

// check reports what makes a definition unusable.
func check(t Tool) (entry, error) {
	e := entry{Definition: t.Definition(), tool: t}
	if e.Timeout <= 0 {
		e.Timeout = DefaultTimeout
	}
	for _, name := range slices.Concat([]string{e.Name}, e.Aliases) {
		if !namePattern.MatchString(name) {
			return e, fmt.Errorf("tool name %q: use up to 64 letters, digits, _ and -", name)
		}
	}
	if strings.TrimSpace(e.Description) == "" {
		return e, fmt.Errorf("tool %s: tell the model what it does", e.Name)
	}
	switch e.Class {
	case chat.ClassPure:
		if e.Writes {
			return e, fmt.Errorf("tool %s: what writes is not pure", e.Name)
		}
	case chat.ClassIdempotent, chat.ClassReconcilable, chat.ClassOnce:
	default:
		return e, fmt.Errorf("tool %s: %q is no effect class", e.Name, e.Class)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(e.Schema, &s); err != nil {
		return e, fmt.Errorf("tool %s: read schema: %w", e.Name, err)
	}
	if s.Type != "object" {
		return e, fmt.Errorf("tool %s: the schema must be of type object", e.Name)
	}
	var err error
	if e.schema, err = s.Resolve(nil); err != nil {
		return e, fmt.Errorf("tool %s: resolve schema: %w", e.Name, err)
	}
	e.takes = takes(&s)
	return e, nil
}

// takes lists the arguments of a schema for the text of an error.
func takes(s *jsonschema.Schema) string {
	var out []string
	for name, p := range s.Properties {
		kind := p.Type
		if kind == "" {
			kind = "any"
		}
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		out = append(out, fmt.Sprintf("%s (%s)", name, kind))
	}
	if len(out) == 0 {
		return "no arguments"
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Find looks a tool up by its name or an alias.
func (s *Set) Find(name string) (Definition, bool) {
	if i, ok := s.byName[name]; ok {
		return s.entries[i].Definition, true
	}
	return Definition{}, false
}

// Definitions lists the tools that a role may use, sorted by name. An entry of the list that ends in
// * stands for every tool whose name begins with the rest.
func (s *Set) Definitions(allowed []string) []Definition {
	var out []Definition
	for _, e := range s.entries {
		if slices.ContainsFunc(allowed, func(a string) bool {
			stem, pattern := strings.CutSuffix(a, "*")
			return a == e.Name || pattern && strings.HasPrefix(e.Name, stem)
		}) {
			out = append(out, e.Definition)
		}
	}
	return out
}

// longestProblem is how much of a complaint about arguments is told: it may quote them.
const longestProblem = 600

// Check holds a call against the set and its tool's schema. The error tells the model what to change.
func (s *Set) Check(call Call) error {
	i, ok := s.byName[call.Tool]
	if !ok {
		return &chat.Error{Code: chat.CodeNotFound, Message: fmt.Sprintf("there is no tool %q here: call one that you were offered", call.Tool)}
	}
	e := s.entries[i]
	var value any
	dec := json.NewDecoder(bytes.NewReader(call.Args))
	err := dec.Decode(&value)
	if err == nil && dec.More() {
		err = errors.New("there is more after the first JSON value")
	}
	if err == nil {
		err = e.schema.Validate(value)
	}
	if err != nil {
		return Refuse("the arguments of %s do not fit: %s; it takes %s",
			e.Name, shorten(clean(err.Error()), longestProblem), e.takes)
	}
	return nil
}
