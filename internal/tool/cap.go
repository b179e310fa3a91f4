package tool

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Spill keeps texts that are too long for a model.
type Spill interface {
	// Keep stores the whole text of a call's result and returns where. Keeping it again under the
	// same call is no error.
	Keep(ctx context.Context, call, text string) (string, error)
}

// DefaultCap is the most bytes of one result that a model reads.
const DefaultCap = 32 << 10

// markBytes is room for the words and numbers of the mark in the middle, without where the rest is.
const markBytes = 80

// shape makes a result's text fit to be recorded and read.
func (s *Set) shape(ctx context.Context, call Call, r Result) (Result, error) {
	r.Text = clean(r.Text)
	if strings.TrimSpace(r.Text) == "" {
		r.Text = "(no output)"
	}
	if len(r.Text) <= s.options.Cap {
		return r, nil
	}
	kept := "The rest is not kept: ask for less."
	if s.options.Spill != nil {
		where, err := s.options.Spill.Keep(ctx, call.ID, r.Text)
		if err != nil {
			return Result{}, fmt.Errorf("keep the output of call %s: %w", call.ID, err)
		}
		r.Whole, kept = where, "The whole is kept as "+where+"."
	}
	r.Text = headAndTail(r.Text, max(s.options.Cap-len(kept)-markBytes, 2), kept)
	return r, nil
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
