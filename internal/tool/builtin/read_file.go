package builtin

import (
	"bytes"
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed read_file.md
var readFileText string

type readFile struct{ w *Workspace }

// readLines and lineBytes bound what one call shows: lines, and bytes of each.
const (
	readLines = 2000
	lineBytes = 2000
)

func (readFile) Definition() tool.Definition {
	return tool.Definition{
		Name: "read_file", Aliases: []string{"Read"}, Description: readFileText,
		Class: chat.ClassPure, Timeout: readTimeout,
		Synonyms: map[string]string{"file_path": "path"},
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace."},
				"offset": {"type": "integer", "minimum": 1, "description": "The first line to show, counted from 1."},
				"limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to show; 2000 if left out."}
			},
			"required": ["path"],
			"additionalProperties": false
		}`),
	}
}

func (t readFile) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args := struct {
		Path          string
		Offset, Limit int
	}{Offset: 1, Limit: readLines}
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	if output, ok := strings.CutPrefix(args.Path, tool.OutputPrefix); ok && call.Output != nil {
		whole, err := call.Output(output)
		if err != nil {
			return tool.Result{}, err
		}
		text, err := page(args.Path, []byte(whole), args.Offset, args.Limit)
		return tool.Result{Text: text}, err
	}
	name, err := t.w.resolve(args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	f, err := open(t.w.root, name)
	if err != nil {
		return tool.Result{}, t.w.explain(name, err)
	}
	var text string
	var problem error
	fact, err := read(ctx, f, func(data []byte) bool {
		text, problem = page(name, data, args.Offset, args.Limit)
		return true
	})
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = problem
	}
	if err != nil {
		return tool.Result{}, err
	}
	fact.Path = name
	return tool.Result{Text: text, Facts: tool.Facts{Read: []tool.File{fact}}}, nil
}

// page shows some lines of a text with their numbers, and says how to see the others.
func page(name string, data []byte, offset, limit int) (string, error) {
	if kind := binary(data); kind != "" {
		return "", refuseBinary(name, kind, len(data))
	}
	if len(data) == 0 {
		return show(name) + " is empty.\n", nil
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if offset > len(lines) {
		return "", tool.Refuse("%s has %d lines: offset %d is past its end", show(name), len(lines), offset)
	}
	var out strings.Builder
	shown := offset - 1
	for ; shown < len(lines) && shown < offset-1+limit; shown++ {
		line := fmt.Sprintf("%6d\t%s\n", shown+1, cutLine(lines[shown], 0, lineBytes))
		if out.Len()+len(line) > textBytes {
			break
		}
		out.WriteString(line)
	}
	out.WriteString(remarks(data, lines))
	if shown < len(lines) {
		out.WriteString(atLine("lines %d to %d of %d: go on with offset %d", offset, shown, len(lines), shown+1))
	}
	return out.String(), nil
}

// remarks says what the lines alone do not show.
func remarks(data []byte, lines [][]byte) string {
	text := ""
	if n := bytes.Count(data, []byte("\r\n")); n > 0 {
		text += atLine("%d of %d lines end in CRLF", n, len(lines))
	}
	if !utf8.Valid(data) {
		text += atLine("the file is not UTF-8: what could not be read is shown as \uFFFD")
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		text += atLine("the last line has no line end")
	}
	return text
}

// cutLine shows at most so many bytes of a line, from a place in it.
func cutLine(line []byte, from, most int) string { return tool.CutLine(line, from, most) }
