package role

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
)

// draft is a role while its file is being read.
type draft struct {
	Role
	from     document.OriginKind
	disabled bool
	// trusted files may allow calls that people would otherwise be asked about.
	trusted bool
	include func(name string) (string, error)

	// named means that the file lists its tools. Otherwise it starts from the reading ones, and
	// permitted ones count too.
	named            bool
	added, permitted []string
	// removed is switched off, denied has no usable verdict, and forbidden cannot be passed on
	// either.
	removed, denied, forbidden []string
	grants                     []Rule
	mode                       PermissionMode
	network                    bool
	canDelegate                *bool
	// patterns are the roles it may delegate to, as written; a ! in front takes back.
	patterns []string
	body     string
	warnings []document.Warning
}

// source is a file that may hold a role.
type source struct {
	file    string // as people know it
	data    []byte
	from    document.OriginKind
	trusted bool
	// include reads a file that the role refers to, from beside it.
	include func(name string) (string, error)
}

// read makes a draft of a file. An error is a complaint about a place in it.
func read(src source) (*draft, error) {
	d := &draft{
		from: src.from, trusted: src.trusted, include: src.include, mode: AsUsual,
		Role: Role{File: src.file, Mode: ModeAll, Model: Inherit, Context: ContextNone, CanAsk: true, Origins: map[string]document.Origin{}},
	}
	doc, err := document.Split(src.data)
	if err == nil {
		for _, line := range doc.Mended {
			d.warn(line, 1, "the value contains a colon and must be quoted; it was read as one text")
		}
		d.body = doc.Body
		err = d.take(doc.Front)
	}
	if err == nil {
		err = d.finish()
	}
	return d, err
}

// placed makes a warning of an error in a file.
func placed(file string, err error) document.Warning {
	w := document.Warning{File: file, Skipped: true, Text: err.Error()}
	var c *document.Complaint
	if errors.As(err, &c) {
		w.Line, w.Column = c.Line, c.Column
	}
	return w
}

func (d *draft) warn(line, column int, format string, args ...any) {
	d.warnings = append(d.warnings, document.Warning{
		File: d.File, Line: line, Column: column, Text: fmt.Sprintf(format, args...),
	})
}

// take hands every field of the front matter to the code that knows it.
func (d *draft) take(front document.Node) error {
	for _, p := range front.Pairs {
		f := findField(p.Key)
		if f == nil {
			d.keep(p)
			continue
		}
		if before, twice := d.Origins[f.name]; twice && !f.adds {
			d.warn(p.Line, p.Column, "%s is ignored: line %d has said it already", p.Key, before.Line)
			continue
		}
		if p.Value.Kind == document.Null {
			continue
		}
		if err := f.set(d, p.Value); err != nil {
			return inField(p, err)
		}
		d.Origins[f.name] = document.Origin{Kind: d.from, Name: d.File, Line: p.Line}
	}
	return nil
}

// inField names the field in an error that its setter returned.
func inField(p document.Pair, err error) error {
	c := &document.Complaint{Line: p.Line, Column: p.Column, Text: p.Key + ": " + err.Error()}
	var inner *document.Complaint
	if errors.As(err, &inner) {
		c.Line, c.Column = inner.Line, inner.Column
	}
	return c
}

// keep stores a field that means nothing here, and says so unless it says nothing itself.
func (d *draft) keep(p document.Pair) {
	if p.Value.Kind == document.Null || p.Value.Text == "false" {
		return
	}
	if d.Extra == nil {
		d.Extra = map[string]any{}
	}
	d.Extra[p.Key] = p.Value.Plain()
	if known, ok := foreign[document.Fold(p.Key)]; ok {
		if known {
			d.warn(p.Line, p.Column, "%s is kept, but has no effect here", p.Key)
		}
		return
	}
	text := fmt.Sprintf("%s is not a field of a role; it is kept and has no effect", p.Key)
	if best := document.Nearest(p.Key, fieldNames()); best != "" {
		text += fmt.Sprintf(" (did you mean %s?)", best)
	}
	d.warn(p.Line, p.Column, "%s", text)
}

// finish settles what depends on several fields.
func (d *draft) finish() error {
	if d.Name == "" {
		d.Name = strings.TrimSuffix(path.Base(d.File), path.Ext(d.File))
		d.Origins["name"] = document.Origin{Kind: d.from, Name: d.File, Line: 1}
	}
	if err := checkName(d.Name); err != nil {
		return err
	}
	if d.Description == "" {
		return document.At(1, 1, "description is missing: say when to use this role")
	}
	if d.Prompt == "" {
		d.Prompt = d.body
	}
	if d.Prompt == "" {
		return document.At(1, 1, "there are no instructions below the front matter")
	}
	if name := placeholder.FindString(d.Prompt); name != "" {
		d.warn(1, 1, "%s is not replaced: a role's own text has no variables", name)
	}
	d.settleTools()
	if _, err := d.Output(); err != nil {
		return document.At(max(1, d.Origins["output_schema"].Line), 1, "%v", err)
	}
	if d.ExposeAsTool {
		if _, kind := lookUp(d.Name); kind != toolUnknown {
			return document.At(1, 1, "expose_as_tool: %s is already the name of a tool", d.Name)
		}
		if !isName(d.Name) {
			return document.At(1, 1, "expose_as_tool: %s cannot be the name of a tool: use a to z, digits, - and _", d.Name)
		}
	}
	return nil
}

// checkName allows names in any script.
func checkName(name string) error {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_. ", r)
	}
	if len(name) > 64 || document.Fold(name) == "" || strings.ContainsFunc(name, odd) {
		return document.At(1, 1, "%q cannot be a name: use letters, digits, - and _, up to 64 bytes", name)
	}
	return nil
}

// settleTools works out the tools and the rules from everything the file says about them.
func (d *draft) settleTools() {
	set := d.added
	if !d.named {
		set = slices.Concat(readingTools(), d.added, d.permitted)
		if _, said := d.Origins["tools"]; !said {
			d.Origins["tools"] = document.Origin{Kind: document.FromDefault, Name: "read-only"}
		}
	}
	if d.mode == PlanOnly {
		for _, t := range tools {
			if t.write {
				d.forbidden = append(d.forbidden, t.name)
			}
		}
		d.forbidden = append(d.forbidden, "mcp__*")
	}
	set = without(set, slices.Concat(d.removed, d.denied, d.forbidden))
	d.Authority = needs(set)
	d.Authority.Network = d.Authority.Network || d.network
	d.Tools = slices.Clone(d.Authority.Tools)
	d.Rules = append(d.mode.rules(), d.grants...)
	if d.trusted {
		return
	}
	loosened := d.mode == AllowAll || d.mode == AcceptEdits
	if loosened {
		d.Rules = slices.Clone(d.grants)
	}
	for i, rule := range d.Rules {
		if rule.Verdict == agent.PolicyAllow && needs([]string{rule.Tool}).Write {
			d.Rules[i].Verdict, loosened = agent.PolicyAsk, true
		}
	}
	if loosened {
		line := max(1, d.Origins["permission_mode"].Line, d.Origins["permission"].Line)
		d.warn(line, 1, "this project is not trusted, so its roles ask before they write; list it under trust to change that")
	}
}
