package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// screen writes for people: aligned, and in colour only where somebody looks.
type screen struct {
	out    io.Writer
	colour bool
}

// newScreen finds out whether a writer is a terminal that wants colour.
func newScreen(out io.Writer) screen {
	s := screen{out: out}
	if f, ok := out.(*os.File); ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		info, err := f.Stat()
		s.colour = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

// The styles that are used, as terminals understand them.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (s screen) paint(style, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (s screen) line(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// row is a label, a value that may take several lines, and a remark beside its first.
type row struct{ label, value, remark string }

// valueWidth is where the values of rows are wrapped.
const valueWidth = 60

// rows writes labels, values and remarks in three columns.
func (s screen) rows(list []row) {
	label, value := 0, 0
	for _, r := range list {
		label = max(label, utf8.RuneCountInString(r.label))
		for _, part := range wrap(r.value, valueWidth) {
			value = max(value, utf8.RuneCountInString(part))
		}
	}
	for _, r := range list {
		for i, part := range wrap(r.value, valueWidth) {
			name, remark := "", ""
			if i == 0 {
				name, remark = r.label, r.remark
			}
			text := "  " + pad(name, label) + "  " + part
			if remark != "" {
				text = "  " + pad(name, label) + "  " + pad(part, value) + "  " + s.paint(dim, remark)
			}
			s.line("%s", strings.TrimRight(text, " "))
		}
	}
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// wrap breaks a text at blanks. A word that is longer than the width stays whole.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// printJSON writes a value for programs.
func printJSON(out io.Writer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
