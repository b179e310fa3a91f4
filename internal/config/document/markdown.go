package document

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Markdown is a Markdown file: the text between the two lines of dashes, and the rest.
type Markdown struct {
	Front Node
	Body  string
	// Mended are the lines whose values had to be quoted before they could be read.
	Mended []int
}

// Split reads a Markdown file with front matter. A byte order mark and Windows line ends are
// ordinary.
func Split(data []byte) (Markdown, error) {
	if !utf8.Valid(data) {
		return Markdown{}, &Complaint{1, 1, "the file is not UTF-8 text"}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return Markdown{}, &Complaint{1, 1, "there is no front matter: the first line must be ---"}
	}
	front, body, ok := cutDashes(rest)
	if !ok {
		return Markdown{}, &Complaint{1, 1, "the front matter has no end: a line with --- alone"}
	}
	doc := Markdown{Body: strings.TrimSpace(body)}
	var err error
	if doc.Front, err = Parse([]byte(front), 2); err == nil {
		return doc, nil
	}
	mended, lines := mend(front)
	if len(lines) == 0 {
		return Markdown{}, err
	}
	again, second := Parse([]byte(mended), 2)
	if second != nil {
		return Markdown{}, err
	}
	doc.Front, doc.Mended = again, lines
	return doc, nil
}

// cutDashes cuts a text at the first line that consists of three dashes.
func cutDashes(text string) (before, after string, ok bool) {
	at := 0
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, " \t\n") == "---" {
			return text[:at], text[at+len(line):], true
		}
		at += len(line)
	}
	return "", "", false
}

// plainLine is a key at the margin and a value that begins with an ordinary character.
var plainLine = regexp.MustCompile("^([A-Za-z][A-Za-z0-9_-]*):[ \t]+([^\\s'\"\\[\\]{}|>&*!%@`#-].*)$")

// mend quotes values that contain a colon and a blank. Such files are common, because other tools
// read them, and they are not YAML.
func mend(front string) (string, []int) {
	var out strings.Builder
	var lines []int
	number := 1 // the line of dashes
	for line := range strings.Lines(front) {
		number++
		m := plainLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || !strings.Contains(strings.TrimSpace(m[2])+" ", ": ") {
			out.WriteString(line)
			continue
		}
		lines = append(lines, number)
		out.WriteString(m[1] + ": '" + strings.ReplaceAll(strings.TrimSpace(m[2]), "'", "''") + "'\n")
	}
	return out.String(), lines
}
