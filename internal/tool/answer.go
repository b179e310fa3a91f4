package tool

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AnswerBytes is the most that an answer takes if it says itself how to read further. It is less
// than DefaultCap, so that the answer ends where it says and is not cut in the middle.
const AnswerBytes = 28 << 10

// Show writes a name so that it stays on one line.
func Show(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}

// Note ends an answer that is not complete.
func Note(format string, args ...any) string { return fmt.Sprintf("["+format+"]\n", args...) }

// CutLine shows so many bytes of a line from a place on, and notes the omitted part.
func CutLine(line []byte, from, most int) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	text := strings.ToValidUTF8(string(line[from:min(len(line), from+most)]), "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if rest := len(line) - from - most; rest > 0 {
		text += fmt.Sprintf("… (%d bytes more)", rest)
	}
	return text
}

// sniffed is how much of a content tells text from binary, as git looks at it.
const sniffed = 8000

// Binary says what kind of binary a content is; of text it says nothing.
func Binary(data []byte) string {
	if bytes.IndexByte(data[:min(len(data), sniffed)], 0) < 0 {
		return ""
	}
	return http.DetectContentType(data)
}
