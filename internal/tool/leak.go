package tool

import (
	"encoding/json"
	"fmt"

	"github.com/retinue-dev/retinue/internal/chat"
)

// leaks checks the data that a call sends, nil if it sends nothing or everything may leave.
func (s *Set) leaks(e entry) (func(text string) string, error) {
	if s.options.Leaks == nil || !e.Network && !e.Unconfined {
		return nil, nil //nolint:nilnil // no search is set up
	}
	find, err := s.options.Leaks()
	if err != nil {
		return nil, &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf(
			"%s is not called: what must not leave this machine cannot be looked up: %v", e.Name, err)}
	}
	return find, nil
}

// leaves refuses arguments that hold a value which must not leave. No rule and no approval
// overrides it: a person would see a mask, or a value in an encoding that they cannot read.
func (s *Set) leaves(e entry, args json.RawMessage, value any) error {
	find, err := s.leaks(e)
	if err != nil || find == nil {
		return err
	}
	what := find(string(args))
	if s.options.Marked != nil && s.options.Marked(string(args)) {
		what = "a mark such as [secret:NAME], which stands for a secret that you are not shown"
	}
	if what == "" {
		what = leakIn(value, find)
	}
	if what == "" {
		return nil
	}
	return &chat.Error{Code: chat.CodeDenied, Message: fmt.Sprintf(
		"%s was not called: its arguments hold %s. It must not leave this machine, and nobody can allow it. "+
			"Leave it out, or tell the person what you need it for.", e.Name, what)}
}

// leakIn looks through the texts of a decoded value, which may be escaped in its source.
func leakIn(value any, find func(string) string) string {
	switch x := value.(type) {
	case string:
		return find(x)
	case []any:
		for _, item := range x {
			if what := leakIn(item, find); what != "" {
				return what
			}
		}
	case map[string]any:
		for name, field := range x {
			if what := find(name); what != "" {
				return what
			}
			if what := leakIn(field, find); what != "" {
				return what
			}
		}
	}
	return ""
}
