// Package command lists the commands of a shell line before it runs, also those behind &&, in
// pipes, substitutions and functions. Rules apply to each of them, and people see them.
//
// It imports tool. It serves rules and people, not safety: the sandbox decides what a line may
// touch, since no reading of a line tells what a program does.
package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/retinue-dev/retinue/internal/tool"
)

// Line is a shell line taken apart.
type Line struct {
	// Commands are all that it may run, in the order of the line.
	Commands []Command
	// Problem says why the line cannot be read; then there are no commands.
	Problem string
}

// Command is one program with its arguments, an assignment, or a file that is written.
type Command struct {
	// Text is the command with its words separated by blanks and without needless quotes: "git push
	// origin main". A write to a file is "> file".
	Text string
	// Program is the last part of the program's path; empty if it is none, or nobody knows which.
	Program string
	// Hidden means that a part of it is known only when it runs.
	Hidden bool

	words []string
	// path means that the program is named by a path, assigned that assignments stand before it.
	path, assigned bool
}

// longestLine is how much is read: a longer line is nobody's to judge at a glance.
const longestLine = 64 << 10

// Parse takes a line apart.
func Parse(line string) Line {
	if len(line) > longestLine {
		return Line{Problem: "it is longer than anybody can check"}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return Line{Problem: "it is no shell command: " + err.Error()}
	}
	var l Line
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			l.add(append(assignments(n.Assigns), words(n.Args)...), len(n.Assigns))
		case *syntax.DeclClause:
			l.add(append([]word{{text: n.Variant.Value}}, assignments(n.Args)...), 0)
		case *syntax.Redirect:
			l.redirect(n)
		}
		return true
	})
	return l
}

// add adds a command, whose first words are so many assignments.
func (l *Line) add(all []word, assigned int) {
	if len(all) == 0 {
		return
	}
	var c Command
	for i, w := range all {
		c.words = append(c.words, w.text)
		c.Hidden = c.Hidden || w.hidden
		if i == assigned && !w.hidden {
			c.Program, c.path = path.Base(w.text), strings.Contains(w.text, "/")
		}
	}
	c.Text = strings.Join(c.words, " ")
	c.words, c.assigned = c.words[assigned:], assigned > 0
	l.Commands = append(l.Commands, c)
}

// redirect adds the file that a redirection writes.
func (l *Line) redirect(r *syntax.Redirect) {
	to := wordOf(r.Word)
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplOut:
		if !to.hidden && strings.Trim(to.text, "0123456789-") == "" {
			return // a copy of a descriptor; anything else is a file
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.AppAll,
		syntax.RdrAllClob, syntax.AppAllClob:
	}
	if to.hidden || to.text != "/dev/null" {
		l.Commands = append(l.Commands, Command{Text: "> " + to.text, Hidden: to.hidden})
	}
}

// word is a word as written, or hidden: its value is known only when the line runs.
type word struct {
	text   string
	hidden bool
}

func words(list []*syntax.Word) []word {
	out := make([]word, 0, len(list))
	for _, w := range list {
		out = append(out, wordOf(w))
	}
	return out
}

func assignments(list []*syntax.Assign) []word {
	out := make([]word, 0, len(list))
	for _, a := range list {
		w := wordOf(a.Value)
		if a.Naked && a.Name != nil { // export NAME
			w.text = a.Name.Value
		} else if a.Name != nil {
			w.text = a.Name.Value + "=" + w.text
		}
		w.hidden = w.hidden || a.Index != nil || a.Array != nil
		out = append(out, w)
	}
	return out
}

// wordOf reads a word. Quotes that only hold text go, so that "rm" and \rm are rm.
func wordOf(w *syntax.Word) word {
	if w == nil {
		return word{}
	}
	var b strings.Builder
	hidden := false
	for _, p := range w.Parts {
		hidden = part(&b, p) || hidden
	}
	text := b.String()
	if text == "" && !hidden {
		text = "''"
	}
	return word{text: text, hidden: hidden}
}

// part writes a part of a word, as it stands there if it is hidden.
func part(b *strings.Builder, p syntax.WordPart) (hidden bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.WriteString(unescape(p.Value))
		return strings.ContainsAny(p.Value, "{}") // the shell expands the braces
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
		return p.Dollar
	case *syntax.DblQuoted:
		hidden = p.Dollar
		for _, inner := range p.Parts {
			hidden = part(b, inner) || hidden
		}
		return hidden
	default:
		if err := syntax.NewPrinter().Print(b, p); err != nil {
			b.WriteString("?")
		}
		return true
	}
}

// unescape takes the backslashes out of unquoted text.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// About is the subject of a call that runs a line. A line that cannot be read has a hidden subject.
func About(line string) tool.About {
	l := Parse(line)
	if l.Problem != "" {
		return tool.About{Matters: []tool.Matter{{Forms: []string{line}, Hidden: true}}}
	}
	about := tool.About{Pattern: l.Pattern()}
	for _, c := range l.Commands {
		inside, all := c.inside(0)
		about.Matters = append(about.Matters, tool.Matter{Forms: c.Forms(), Inside: inside, Hidden: c.Hidden || !all})
	}
	return about
}

// Forms are the texts that a rule may know the command by: as it stands there, and with its program
// under its bare name.
func (c Command) Forms() []string {
	if !c.path || c.Program == "" {
		return []string{c.Text}
	}
	bare := append([]string{c.Program}, c.words[1:]...)
	return []string{c.Text, strings.Join(bare, " ")}
}

// Words are the program and its arguments, each without needless quotes.
func (c Command) Words() []string { return slices.Clone(c.words) }

// Launches reports whether it runs what its arguments say, as interpreters do.
func (c Command) Launches() bool { return c.launches() }

// Pattern is the wider scope that a person may allow for later calls: the line itself, or, for a
// single command that only reads, that command with any arguments that leave it so. It is empty if
// every such call should be looked at.
func (l Line) Pattern() string {
	if l.Problem != "" || len(l.Commands) == 0 {
		return ""
	}
	var texts []string
	for _, c := range l.Commands {
		if c.Hidden || c.Program == "" || c.launches() || c.destroys() {
			return ""
		}
		texts = append(texts, c.Text)
	}
	if family := l.Commands[0].family(); family != "" && len(l.Commands) == 1 {
		return family
	}
	return strings.Join(texts, "\n")
}
