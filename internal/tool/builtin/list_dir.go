package builtin

import (
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed list_dir.md
var listDirText string

type listDir struct{ w *Workspace }

// listEntries is how many entries of a folder one call shows.
const listEntries = 500

func (listDir) Definition() tool.Definition {
	return tool.Definition{
		Name: "list_dir", Aliases: []string{"LS"}, Description: listDirText,
		Class: chat.ClassPure, Timeout: readTimeout,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "description": "The folder, relative to the workspace; the workspace itself if left out."}
			},
			"additionalProperties": false
		}`),
	}
}

func (t listDir) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args struct{ Path string }
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	name, err := t.w.resolve(args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	root, err := t.w.folder(name)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	list, err := entries(ctx, root)
	if err != nil {
		return tool.Result{}, t.w.explain(name, err)
	}
	if len(list) == 0 {
		return tool.Result{Text: show(name) + " is an empty folder.\n"}, nil
	}
	var out strings.Builder
	for i, e := range list {
		line := describe(root, e)
		if i == listEntries || out.Len()+len(line) > textBytes {
			out.WriteString(atLine("%d more: narrow the question with glob", len(list)-i))
			break
		}
		out.WriteString(line)
	}
	return tool.Result{Text: out.String()}, nil
}

// folder opens a folder of the workspace as a root of its own.
func (w *Workspace) folder(name string) (*os.Root, error) {
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, w.explain(name, err)
	}
	if !info.IsDir() {
		return nil, tool.Refuse("%s is not a folder: read_file shows a file", show(name))
	}
	root, err := w.root.OpenRoot(name)
	if err != nil {
		return nil, w.explain(name, err)
	}
	return root, nil
}

// describe is the line of one entry.
func describe(root *os.Root, e fs.DirEntry) string {
	name := show(e.Name())
	switch {
	case e.IsDir():
		return name + "/\n"
	case e.Type()&fs.ModeSymlink != 0:
		target, err := root.Readlink(e.Name())
		if err != nil {
			return name + " (a link)\n"
		}
		return name + " -> " + show(target) + "\n"
	case !e.Type().IsRegular():
		return name + " (" + special(e.Type()) + ")\n"
	}
	info, err := root.Lstat(e.Name())
	if err != nil {
		return name + " (just removed)\n"
	}
	return fmt.Sprintf("%s (%d bytes)\n", name, info.Size())
}
