package builtin

import (
	"context"
	"fmt"

	"github.com/retinue-dev/retinue/internal/tool"
)

// Binding implements tool.Binder: a person who approves an edit approves it for the content that
// the file had then.
func (t editFile) Binding(ctx context.Context, call tool.Call) (string, error) {
	return t.w.binding(ctx, call)
}

// Binding implements tool.Binder: a person who lets a file be replaced lets that content be
// replaced.
func (t writeFile) Binding(ctx context.Context, call tool.Call) (string, error) {
	return t.w.binding(ctx, call)
}

// binding names the file that a path leads to, and its current content. It makes no folders.
func (w *Workspace) binding(ctx context.Context, call tool.Call) (string, error) {
	var args struct{ Path string }
	if err := call.Decode(&args); err != nil {
		return "", err
	}
	name, err := w.resolve(args.Path)
	if err != nil {
		return "", err
	}
	led, err := w.follow(name)
	if err != nil {
		return "", err
	}
	p, err := w.place(args.Path, missingRefused)
	if err != nil {
		return fmt.Sprintf("%q %s", led, absent), nil // Run reports the fault, or makes the folder
	}
	defer func() { _ = p.dir.Close() }() // nothing was written
	before, err := p.look(ctx)
	if err != nil {
		return "", w.explainWrite(p.path, err)
	}
	if before.info == nil {
		return fmt.Sprintf("%q %s", p.path, absent), nil
	}
	return fmt.Sprintf("%q %s %d", p.path, before.hash, before.size), nil
}
