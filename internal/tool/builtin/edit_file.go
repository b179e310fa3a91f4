package builtin

import (
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed edit_file.md
var editFileText string

type editFile struct{ w *Workspace }

func (editFile) Definition() tool.Definition {
	return tool.Definition{
		Name: "edit_file", Aliases: []string{"Edit"}, Description: editFileText,
		Class: chat.ClassReconcilable, Writes: true, Timeout: writeTimeout,
		Synonyms: map[string]string{"file_path": "path", "old_string": "old", "new_string": "new", "old_str": "old", "new_str": "new"},
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace."},
				"old": {"type": "string", "minLength": 1, "description": "The text to replace, letter by letter as it is in the file."},
				"new": {"type": "string", "description": "The text to put in its place."},
				"replace_all": {"type": "boolean", "description": "Replace every occurrence; without it there must be exactly one."},
				"expect": {"type": "string", "minLength": 12, "maxLength": 64, "description": "The sha256 of the content you saw, or its first 12 digits or more."}
			},
			"required": ["path", "old", "new"],
			"additionalProperties": false
		}`),
	}
}

type editArgs struct {
	Path, Old, New, Expect string
	ReplaceAll             bool `json:"replace_all"`
}

func (t editFile) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := editArguments(call)
	if err != nil {
		return tool.Result{}, err
	}
	unlock, err := t.w.Lock(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer unlock()
	p, before, err := t.look(ctx, args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = p.dir.Close() }() // the content is synced already
	e := findEdit(string(before.data), args)
	if unexpected := before.asExpected(p.path, args.Expect); unexpected != nil {
		if e.undoes(args.Expect) {
			return e.done(p, before), nil
		}
		return tool.Result{}, unexpected
	}
	if args.Expect == "" && e.applied() {
		return e.done(p, before), nil
	}
	if err := e.problem(p.path); err != nil {
		return tool.Result{}, err
	}
	after := e.after()
	if len(after) > keptBytes {
		return tool.Result{}, tool.Refuse("%s would have %d bytes, more than the %d that can be edited", show(p.path), len(after), keptBytes)
	}
	change := p.change(before, []byte(after))
	diff, err := e.diff(&change)
	if err != nil {
		return tool.Result{}, err
	}
	if err := p.swap(ctx, before, []byte(after)); err != nil {
		return tool.Result{}, t.w.explainWrite(p.path, err)
	}
	return tool.Result{Text: editText(e, change, diff), Facts: tool.Facts{Wrote: []tool.Change{change}}}, nil
}

// Probe tells from the content of the file whether an edit was made.
func (t editFile) Probe(ctx context.Context, call tool.Call) (tool.Result, tool.Happened, error) {
	args, err := editArguments(call)
	if err != nil {
		return tool.Result{}, tool.HappenedNo, nil // Run refuses the same arguments
	}
	p, before, err := t.look(ctx, args.Path)
	if err != nil {
		return tool.Result{}, tool.HappenedUnknown, err
	}
	defer func() { _ = p.dir.Close() }() // nothing was written
	e := findEdit(string(before.data), args)
	switch {
	case args.Expect != "" && before.asExpected(p.path, args.Expect) == nil:
		return tool.Result{}, tool.HappenedNo, nil
	case args.Expect != "" && e.undoes(args.Expect), args.Expect == "" && e.applied():
		return e.done(p, before), tool.HappenedYes, nil
	case args.Expect == "" && e.problem(p.path) == nil:
		return tool.Result{}, tool.HappenedNo, nil
	}
	return tool.Result{}, tool.HappenedUnknown, nil
}

func editArguments(call tool.Call) (editArgs, error) {
	var args editArgs
	if err := call.Decode(&args); err != nil {
		return args, err
	}
	if args.Old == args.New {
		return args, tool.Refuse("old and new are the same: there is nothing to change")
	}
	return args, onlyText(call, args.Old, args.New)
}

// look reads the file to edit.
func (t editFile) look(ctx context.Context, given string) (target, held, error) {
	p, err := t.w.place(given, missingRefused)
	if err != nil {
		return target{}, held{}, err
	}
	before, err := p.look(ctx)
	switch {
	case err != nil:
		err = t.w.explainWrite(p.path, err)
	case before.info == nil:
		err = t.w.explain(p.path, fs.ErrNotExist)
	case before.size > keptBytes || before.data == nil:
		err = tool.Refuse("%s has %d bytes, more than the %d that can be edited", show(p.path), before.size, keptBytes)
	case binary(before.data) != "" || !utf8.Valid(before.data):
		err = tool.Refuse("%s is not text in UTF-8: it cannot be edited", show(p.path))
	}
	if err != nil {
		return target{}, held{}, errors.Join(err, p.dir.Close())
	}
	return p, before, nil
}

// editText is the answer to an edit that was made.
func editText(e edit, change tool.Change, diff string) string {
	times := ""
	if len(e.at) > 1 {
		times = fmt.Sprintf(" in %d places", len(e.at))
	}
	head := fmt.Sprintf("Edited %s%s: %d lines added, %d removed, sha256 %s.\n", show(change.Path), times, change.Added, change.Removed, change.After)
	if len(head)+len(diff) <= textBytes {
		return head + diff
	}
	shown := strings.ToValidUTF8(diff[:textBytes-len(head)], "")
	return head + shown[:strings.LastIndexByte(shown, '\n')+1] + atLine("the rest of the diff is left out: it has %d bytes", len(diff))
}
