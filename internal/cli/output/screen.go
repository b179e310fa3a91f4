package output

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Screen writes for people: aligned, and in colour only where somebody looks.
type Screen struct {
	Out    io.Writer
	Colour bool
}

// New finds out whether a writer is a terminal that wants colour.
func New(out io.Writer) Screen {
	s := Screen{Out: out}
	if f, ok := out.(*os.File); ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		info, err := f.Stat()
		s.Colour = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The styles that are used, as terminals understand them.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// Paint writes a text in a style, if there is colour.
func (s Screen) Paint(style, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// Line writes a line.
func (s Screen) Line(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", args...) }

// Row is a label, a value that may take several lines, and a remark beside its first.
type Row struct{ Label, Value, Remark string }

// valueWidth is where the values of rows are wrapped.
const valueWidth = 60

// Rows writes labels, values and remarks in three columns.
func (s Screen) Rows(list []Row) {
	label, value := 0, 0
	for _, r := range list {
		label = max(label, utf8.RuneCountInString(r.Label))
		for _, part := range Wrap(r.Value, valueWidth) {
			value = max(value, utf8.RuneCountInString(part))
		}
	}
	for _, r := range list {
		for i, part := range Wrap(r.Value, valueWidth) {
			name, remark := "", ""
			if i == 0 {
				name, remark = r.Label, r.Remark
			}
			text := "  " + Pad(name, label) + "  " + part
			if remark != "" {
				text = "  " + Pad(name, label) + "  " + Pad(part, value) + "  " + s.Paint(Dim, remark)
			}
			s.Line("%s", strings.TrimRight(text, " "))
		}
	}
}

// Pad fills a text up with blanks.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// Wrap breaks a text at blanks. A word that is longer than the width stays whole.
func Wrap(text string, width int) []string {
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

// JSON writes a value for programs.
func JSON(out io.Writer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
