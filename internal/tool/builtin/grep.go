package builtin

import (
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"regexp/syntax"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed grep.md
var grepText string

type grep struct{ w *Workspace }

func (grep) Definition() tool.Definition {
	return tool.Definition{
		Name: "grep", Aliases: []string{"Grep"}, Description: grepText,
		Class: chat.ClassPure, Timeout: searchTimeout,
		Synonyms: map[string]string{"-i": "ignore_case", "-C": "context", "-n": ""}, // lines have their numbers anyway
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"pattern": {"type": "string", "minLength": 1, "description": "A regular expression (RE2), matched with each line."},
				"path": {"type": "string", "description": "The folder or file to search, relative to the workspace; the workspace itself if left out."},
				"glob": {"type": "string", "minLength": 1, "description": "Search only files whose path fits, for example *.go or src/**/*.ts."},
				"literal": {"type": "boolean", "description": "Take the pattern as plain text."},
				"ignore_case": {"type": "boolean", "description": "Take upper and lower case as the same."},
				"context": {"type": "integer", "minimum": 0, "maximum": 10, "description": "How many lines to show before and after each match."},
				"output": {"type": "string", "enum": ["lines", "files", "counts"], "description": "Matching lines (as if left out), only the paths, or the number of matching lines per file."}
			},
			"required": ["pattern"],
			"additionalProperties": false
		}`),
	}
}

type grepArgs struct {
	Pattern, Path, Glob, Output string
	Literal                     bool
	IgnoreCase                  bool `json:"ignore_case"`
	Context                     int
}

func (t grep) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args grepArgs
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	base, err := t.w.resolve(args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	s := search{output: args.Output, context: args.Context}
	if s.re, err = expression(args); err != nil {
		return tool.Result{}, err
	}
	s.prefix, _ = s.re.LiteralPrefix()
	fits := func(string) bool { return true }
	if args.Glob != "" {
		p, err := t.w.namePattern(args.Glob, base)
		if err != nil {
			return tool.Result{}, err
		}
		fits = p.fits
	}
	info, err := t.w.root.Stat(base)
	if err != nil {
		return tool.Result{}, t.w.explain(base, err)
	}
	if !info.IsDir() {
		return t.one(ctx, &s, base)
	}
	if s.cleared, err = t.cleared(ctx, &s, base, fits); err != nil {
		return tool.Result{}, err
	}
	k := walker{w: t.w, visit: func(root *os.Root, name string, e fs.DirEntry) error {
		if !e.Type().IsRegular() || !fits(name) {
			return nil
		}
		return s.file(ctx, root, name)
	}}
	if err := k.walk(ctx, base); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: s.text() + k.remark(), Facts: tool.Facts{Read: s.read}}, nil
}

// one searches the file that a model named, and says why if that cannot be done.
func (t grep) one(ctx context.Context, s *search, name string) (tool.Result, error) {
	f, err := open(t.w.root, name)
	if err != nil {
		return tool.Result{}, t.w.explain(name, err)
	}
	kind, size := "", 0
	fact, err := read(ctx, f, func(data []byte) bool {
		kind, size = binary(data), len(data)
		return s.look(ctx, data)
	})
	if err := errors.Join(err, ctx.Err(), f.Close()); err != nil {
		return tool.Result{}, err
	}
	if kind != "" {
		return tool.Result{}, refuseBinary(name, kind, size)
	}
	s.files++
	s.add(name, fact)
	return tool.Result{Text: s.text(), Facts: tool.Facts{Read: s.read}}, nil
}

// expression compiles the search pattern.
func expression(args grepArgs) (*regexp.Regexp, error) {
	text := args.Pattern
	if args.Literal {
		text = regexp.QuoteMeta(text)
	}
	if args.IgnoreCase {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err == nil {
		return re, nil
	}
	reason := err.Error()
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		reason = string(e.Code) + ": " + e.Expr
	}
	return nil, tool.Refuse("the pattern is not a regular expression as RE2 has them (%s). Look-around such as (?=x) "+
		"and back references such as \\1 do not exist; put \\ before ( ) [ ] { } . * + ? | ^ $ to mean the letter, "+
		"or set literal to true to search for the text as it is", reason)
}

// file searches one file of a folder. One that cannot be searched is counted and left out.
func (s *search) file(ctx context.Context, root *os.Root, name string) error {
	f, err := open(root, path.Base(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since the folder was read
	}
	if err != nil {
		s.unread = append(s.unread, name)
		return nil
	}
	if s.passes(f, name) {
		_ = f.Close() // nothing was written
		s.files++
		return nil
	}
	fact, err := read(ctx, f, func(data []byte) bool { return s.look(ctx, data) })
	_ = f.Close() // nothing was written
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.unread = append(s.unread, name)
		return nil
	}
	s.files++
	s.add(name, fact)
	return nil
}

// passes reports whether a file need not be read, since nothing in it matches. A file that may have
// a line that is too long for us must be read: the answer reports such lines.
func (s *search) passes(f *os.File, name string) bool {
	if !s.cleared[name] {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Size() <= searchedBytes
}
