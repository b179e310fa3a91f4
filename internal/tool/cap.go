package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// OutputPrefix before the name of a call, in place of a path, means the whole output of the call.
const OutputPrefix = "output:"

// DefaultCap is the most bytes of one result that a model reads.
const DefaultCap = 32 << 10

// markBytes is room for the words and numbers of the mark in the middle, without where the rest is.
const markBytes = 80

// shape makes a result's text fit to be recorded and read.
func (s *Set) shape(call Call, r Result) Result {
	if s.options.Redact != nil {
		r.Text = s.options.Redact(r.Text)
	}
	r.Text = clean(r.Text)
	if strings.TrimSpace(r.Text) == "" {
		r.Text = "(no output)"
	}
	if len(r.Text) <= s.options.Cap {
		return r
	}
	kept := "The rest is not kept: ask for less."
	if call.Name != "" {
		r.Whole, kept = r.Text, "The whole is kept: read_file reads it as "+OutputPrefix+call.Name+"."
	}
	r.Text = headAndTail(r.Text, max(s.options.Cap-len(kept)-markBytes, 2), kept)
	return r
}

// headAndTail cuts the middle out of a text, at ends of lines where there are any nearby.
func headAndTail(text string, limit int, kept string) string {
	tail := len(text) - limit/3
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	if i := strings.IndexByte(text[tail:], '\n'); i >= 0 && i < limit/6 {
		tail += i + 1
	}
	head := shorten(text, limit-limit/3)
	if i := strings.LastIndexByte(head, '\n'); i > limit/2 {
		head = head[:i+1]
	}
	left := text[len(head):tail]
	return fmt.Sprintf("%s\n[%d bytes and %d line ends left out here. %s]\n%s",
		head, len(left), strings.Count(left, "\n"), kept, text[tail:])
}

// clean makes a text that every part after this one can store and send.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// shorten cuts a text to so many bytes, between letters.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
