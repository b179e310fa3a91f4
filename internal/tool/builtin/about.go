package builtin

import (
	"slices"

	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
)

// about is the subject of a call with a path: the path as rules are written, relative to the
// workspace and without detours, and where links lead it.
func (w *Workspace) about(call tool.Call) tool.About {
	var args struct{ Path string }
	if err := call.Decode(&args); err != nil {
		return hidden("")
	}
	name, err := w.resolve(args.Path)
	if err != nil {
		return hidden(args.Path)
	}
	if name == "." {
		return tool.About{Matters: []tool.Matter{{Forms: []string{name}}}, Pattern: name}
	}
	led, err := w.follow(name)
	if err != nil {
		return hidden(name)
	}
	return tool.About{Matters: []tool.Matter{{Forms: slices.Compact([]string{name, led})}}, Pattern: led}
}

// aboutWriting is the same for a tool that writes. A person decides each time about text that later
// agents obey.
func (w *Workspace) aboutWriting(call tool.Call) tool.About {
	about := w.about(call)
	for i, m := range about.Matters {
		if slices.ContainsFunc(m.Forms, sandbox.IsAdvice) {
			about.Matters[i].Asked, about.Pattern = true, ""
		}
	}
	return about
}

// About implements tool.Accountable.
func (t readFile) About(call tool.Call) tool.About { return t.w.about(call) }

// About implements tool.Accountable.
func (t readImage) About(call tool.Call) tool.About { return t.w.about(call) }

// About implements tool.Accountable.
func (t listDir) About(call tool.Call) tool.About { return t.w.about(call) }

// About implements tool.Accountable.
func (t glob) About(call tool.Call) tool.About { return t.w.about(call) }

// About implements tool.Accountable.
func (t grep) About(call tool.Call) tool.About { return t.w.about(call) }

// About implements tool.Accountable.
func (t writeFile) About(call tool.Call) tool.About { return t.w.aboutWriting(call) }

// About implements tool.Accountable.
func (t editFile) About(call tool.Call) tool.About { return t.w.aboutWriting(call) }

// hidden is about something that no rule for some calls knows.
func hidden(text string) tool.About {
	return tool.About{Matters: []tool.Matter{{Forms: []string{text}, Hidden: true}}}
}
