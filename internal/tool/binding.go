package tool

import (
	"context"
	"fmt"
)

// Binder is a tool whose calls depend on more than their arguments: the content of a file, the
// program behind a name, the permissions of a sandbox.
type Binder interface {
	// Binding names all of that, in any words that are the same as long as the call would do the same.
	// It changes nothing. A *chat.Error means that Run would refuse the call for the same reason.
	Binding(ctx context.Context, call Call) (string, error)
}

// Binding asks a tool what a call depends on beside its arguments. It is empty for a tool that is
// no Binder.
func (s *Set) Binding(ctx context.Context, call Call) (string, error) {
	call, e, err := s.admit(call)
	if err != nil {
		return "", err
	}
	binder, ok := e.tool.(Binder)
	if !ok {
		return "", nil
	}
	bounded, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	binding := ""
	_, err = guard(bounded, call, func(ctx context.Context, call Call) (r Result, err error) {
		binding, err = binder.Binding(ctx, call)
		return r, err
	})
	if err != nil {
		return "", fmt.Errorf("find out what %s depends on: %w", e.Name, err)
	}
	return binding, nil
}
