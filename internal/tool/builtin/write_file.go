package builtin

import (
	"bytes"
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed write_file.md
var writeFileText string

type writeFile struct{ w *Workspace }

func (writeFile) Definition() tool.Definition {
	return tool.Definition{
		Name: "write_file", Aliases: []string{"Write"}, Description: writeFileText,
		Class: chat.ClassIdempotent, Writes: true, Timeout: writeTimeout,
		Synonyms: map[string]string{"file_path": "path", "contents": "content"},
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace. Folders that are missing are made."},
				"content": {"type": "string", "description": "The whole content of the file."},
				"expect": {"type": "string", "minLength": 4, "maxLength": 64, "description": "The sha256 of the content you are replacing, or its first 12 digits or more; none if there must be no file yet."}
			},
			"required": ["path", "content"],
			"additionalProperties": false
		}`),
	}
}

func (t writeFile) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args struct{ Path, Content, Expect string }
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	if err := onlyText(call, args.Content); err != nil {
		return tool.Result{}, err
	}
	unlock, err := t.w.Lock(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer unlock()
	folders := missingMade
	if args.Expect != "" && args.Expect != absent {
		folders = missingRefused // where no folder is, no file is either
	}
	p, err := t.w.place(args.Path, folders)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = p.dir.Close() }() // the content is synced already
	before, err := p.look(ctx)
	if err != nil {
		return tool.Result{}, t.w.explainWrite(p.path, err)
	}
	if before.info != nil && before.size == int64(len(args.Content)) && string(before.data) == args.Content {
		return alreadyThere(p, before, show(p.path)+" holds exactly this already: nothing was changed.\n"), nil
	}
	if err := before.asExpected(p.path, args.Expect); err != nil {
		return tool.Result{}, err
	}
	if args.Expect == "" {
		if err := before.asSeen(call, p.path, p.named); err != nil {
			return tool.Result{}, err
		}
	}
	after := []byte(args.Content)
	change := p.change(before, after)
	change.Added, change.Removed = lineChanges(before, after)
	if err := p.swap(ctx, before, after); err != nil {
		return tool.Result{}, t.w.explainWrite(p.path, err)
	}
	what := "Wrote a new file"
	if before.info != nil {
		what = fmt.Sprintf("Replaced the %d bytes of", before.size)
	}
	return tool.Result{
		Text: fmt.Sprintf("%s %s: %d bytes, %d lines added, %d removed, sha256 %s.\n",
			what, show(p.path), change.Bytes, change.Added, change.Removed, change.After),
		Facts: tool.Facts{Wrote: []tool.Change{change}},
	}, nil
}

// alreadyThere is the result of a call that finds its work done, by an earlier run of it perhaps.
// The receipt names the file, with the same hash before and after.
func alreadyThere(p target, h held, text string) tool.Result {
	return tool.Result{Text: text, Facts: tool.Facts{Wrote: []tool.Change{
		{Path: p.path, Before: h.hash, After: h.hash, Bytes: h.size},
	}}}
}

// diffedLines is how many lines, before and after, are compared one by one.
const diffedLines = 50_000

// lineChanges counts the lines that came and went. Of contents with very many, all did.
func lineChanges(before held, after []byte) (added, removed int) {
	added, removed = countLines(after), before.lines+countLines(before.data)
	if added == 0 || removed == 0 || added+removed > diffedLines || before.data == nil {
		return added, removed
	}
	old := string(before.data)
	added, removed = 0, 0
	for _, e := range udiff.Lines(old, string(after)) {
		added += countLines([]byte(e.New))
		removed += countLines([]byte(old[e.Start:e.End]))
	}
	return added, removed
}

func countLines(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// onlyText refuses bytes that a text file cannot hold. JSON hides broken letters behind U+FFFD, so
// the arguments are checked as they were written.
func onlyText(call tool.Call, texts ...string) error {
	if !utf8.Valid(call.Args) {
		return tool.Refuse("the text is not UTF-8: only text can be written")
	}
	total := 0
	for _, text := range texts {
		total += len(text)
		if strings.ContainsRune(text, 0) {
			return tool.Refuse("the text holds a NUL: only text can be written")
		}
		const replacement = "\uFFFD"
		if strings.Contains(text, replacement) && !bytes.Contains(call.Args, []byte(replacement)) &&
			!bytes.Contains(bytes.ToLower(call.Args), []byte(`\ufffd`)) {
			return tool.Refuse("the text holds half a letter (a lone surrogate): only text can be written")
		}
	}
	if total > keptBytes {
		return tool.Refuse("the text has %d bytes, more than the %d that are written at once", total, keptBytes)
	}
	return nil
}
