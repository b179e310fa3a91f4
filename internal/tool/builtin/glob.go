package builtin

import (
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed glob.md
var globText string

type glob struct{ w *Workspace }

// globPaths is how many paths one call shows.
const globPaths = 1000

func (glob) Definition() tool.Definition {
	return tool.Definition{
		Name: "glob", Aliases: []string{"Glob"}, Description: globText,
		Class: chat.ClassPure, Timeout: searchTimeout,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"pattern": {"type": "string", "minLength": 1, "description": "What the paths look like, for example src/**/*.go or *.{ts,tsx}."},
				"path": {"type": "string", "description": "The folder to search, relative to the workspace; the workspace itself if left out."}
			},
			"required": ["pattern"],
			"additionalProperties": false
		}`),
	}
}

func (t glob) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args struct{ Pattern, Path string }
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	base, err := t.w.resolve(args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	p, err := t.w.namePattern(args.Pattern, base)
	if err != nil {
		return tool.Result{}, err
	}
	var out strings.Builder
	found, more := 0, 0
	k := walker{w: t.w, visit: func(_ *os.Root, name string, _ fs.DirEntry) error {
		if !p.fits(name) {
			return nil
		}
		line := show(name) + "\n"
		found++
		if more > 0 || found > globPaths || out.Len()+len(line) > textBytes {
			more++
			return nil
		}
		out.WriteString(line)
		return nil
	}}
	if err := k.walk(ctx, base); err != nil {
		return tool.Result{}, err
	}
	if found == 0 {
		out.WriteString("No file fits " + show(args.Pattern) + ". Files that git ignores are not listed.\n")
	}
	if more > 0 {
		out.WriteString(atLine("%d more: narrow the pattern", more))
	}
	return tool.Result{Text: out.String() + k.remark()}, nil
}

// namePattern is a pattern for paths below a folder.
type namePattern struct {
	text string
	// below is the folder and a slash; nothing for the workspace.
	below string
	// anywhere means that the pattern speaks of the last part of a path.
	anywhere bool
}

// namePattern reads a model's pattern. An absolute one must begin with the workspace.
func (w *Workspace) namePattern(pattern, base string) (namePattern, error) {
	p := namePattern{}
	if base != "." {
		p.below = base + "/"
	}
	text := strings.TrimPrefix(pattern, "./")
	if path.IsAbs(text) {
		i := slices.IndexFunc(w.dirs, func(dir string) bool { return within(dir, text) })
		if i < 0 {
			return p, outside(pattern)
		}
		text, p.below = strings.TrimPrefix(strings.TrimPrefix(text, w.dirs[i]), "/"), ""
	} else {
		p.anywhere = !strings.Contains(text, "/")
	}
	if slices.Contains(strings.Split(text, "/"), "..") {
		return p, tool.Refuse("a pattern holds no ..: give the folder as path")
	}
	if !doublestar.ValidatePattern(text) {
		return p, tool.Refuse("%s is not a pattern: a [ without its ], a { without its }, or a \\ at its end. "+
			"Known are *, **, ?, [a-z], {a,b}; put \\ before one of these to mean itself", show(pattern))
	}
	if len(text) > patternBytes || alternatives(text) > patternChoices {
		return p, tool.Refuse("the pattern is too large: it may have %d bytes, and stand for %d choices of {a,b}", patternBytes, patternChoices)
	}
	p.text = text
	return p, nil
}

// patternBytes and patternChoices keep the time for one name far below the time that a cancelled
// call may still run. Braces are tried one after another, so every further pair doubles the time.
const (
	patternBytes   = 500
	patternChoices = 64
)

// alternatives is the product of the choices that the braces of a pattern give.
func alternatives(pattern string) int {
	total := 1
	var open []int
	for i := 0; i < len(pattern) && total <= patternChoices; i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				total *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return total
}

func (p namePattern) fits(name string) bool {
	if p.anywhere {
		return doublestar.MatchUnvalidated(p.text, path.Base(name))
	}
	return doublestar.MatchUnvalidated(p.text, strings.TrimPrefix(name, p.below))
}
