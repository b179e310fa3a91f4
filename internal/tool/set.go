package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	// Redact takes out of a result what must not surface, before it is capped or kept; nil takes out
	// nothing.
	Redact func(text string) string
	// Marked reports whether a text contains a mark of Redact. Tools that write refuse it, because
	// the redacted value would be lost.
	Marked func(text string) bool
	// Leaks looks up the values that must not leave now. The find that it returns names those in a
	// text; empty means none. Nil means that everything may leave.
	Leaks func() (find func(text string) string, err error)
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
	case chat.ClassReconcilable:
		if _, ok := t.(Prober); !ok {
			return e, fmt.Errorf("tool %s: what can be reconciled has a probe", e.Name)
		}
	case chat.ClassIdempotent, chat.ClassOnce:
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
	for theirs, ours := range e.Synonyms {
		if s.Properties[theirs] != nil || ours != "" && s.Properties[ours] == nil {
			return e, fmt.Errorf("tool %s: %s cannot stand for %q", e.Name, theirs, ours)
		}
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

// Definitions lists the tools that a role may use, sorted by name. An entry of the list that ends
// in
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

// Check says whether a call fits the set and its tool's schema. The error tells the model what to
// change.
func (s *Set) Check(call Call) error {
	_, _, err := s.admit(call)
	return err
}

// admit checks a call and gives it our names, of the tool and of the arguments.
func (s *Set) admit(call Call) (Call, entry, error) {
	i, ok := s.byName[call.Tool]
	if !ok {
		return call, entry{}, &chat.Error{Code: chat.CodeNotFound, Message: fmt.Sprintf("there is no tool %q here: call one that you were offered", call.Tool)}
	}
	e := s.entries[i]
	call.Tool = e.Name
	var value any
	dec := json.NewDecoder(bytes.NewReader(call.Args))
	err := dec.Decode(&value)
	if err == nil && dec.More() {
		err = errors.New("there is more after the first JSON value")
	}
	if err == nil {
		call.Args, err = e.translate(call.Args, value)
	}
	if err == nil {
		err = e.schema.Validate(value)
	}
	if err != nil {
		return call, e, Refuse("the arguments of %s do not fit: %s; it takes %s",
			e.Name, shorten(clean(err.Error()), longestProblem), e.takes)
	}
	if err := s.leaves(e, call.Args, value); err != nil {
		return call, e, err
	}
	if e.Writes && s.options.Marked != nil && s.options.Marked(string(call.Args)) {
		return call, e, Refuse("the arguments of %s hold a mark such as [secret:NAME], which stands for a secret that you are not "+
			"shown: leave the place where it is alone, edit around it, or use the variable of that name", e.Name)
	}
	return call, e, nil
}

// translate renames synonyms, in the decoded arguments and in a copy of their text. Arguments
// without any stay as they were written, byte by byte.
func (e entry) translate(args json.RawMessage, value any) (json.RawMessage, error) {
	object, ok := value.(map[string]any)
	if !ok || !slices.ContainsFunc(slices.Collect(maps.Keys(e.Synonyms)), func(name string) bool {
		_, used := object[name]
		return used
	}) {
		return args, nil
	}
	var texts map[string]json.RawMessage
	if err := json.Unmarshal(args, &texts); err != nil {
		return nil, err
	}
	for _, theirs := range slices.Sorted(maps.Keys(e.Synonyms)) {
		given, used := object[theirs]
		if !used {
			continue
		}
		if ours := e.Synonyms[theirs]; ours != "" {
			if _, twice := object[ours]; twice {
				return nil, fmt.Errorf("%s and %s are the same argument: give one", ours, theirs)
			}
			object[ours], texts[ours] = given, texts[theirs]
		}
		delete(object, theirs)
		delete(texts, theirs)
	}
	return json.Marshal(texts)
}
