package builtin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/retinue-dev/retinue/internal/tool"
)

// edit is a replacement, and its places in a content.
type edit struct {
	content  string
	old, new string
	all      bool
	// at are the places of old, there those of new, both with overlaps.
	at, there []int
}

// findEdit looks for the place of an edit. Models see lines without their ends: in a file whose
// lines all end in CRLF, their text gets CRLF too, and in a mixed one that is tried second.
func findEdit(content string, args editArgs) edit {
	given := edit{content: content, old: args.Old, new: args.New, all: args.ReplaceAll}.find()
	windows := edit{content: content, old: crlf(args.Old), new: crlf(args.New), all: args.ReplaceAll}
	ends := strings.Count(content, "\r\n")
	if ends == 0 || windows.old == windows.new {
		return given
	}
	if pure := ends == strings.Count(content, "\n"); !pure && (len(given.at) > 0 || given.applied()) {
		return given
	}
	return windows.find()
}

func crlf(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

func (e edit) find() edit {
	e.at, e.there = places(e.content, e.old), places(e.content, e.new)
	return e
}

// mostPlaces is how many places one edit changes.
const mostPlaces = 2000

// places are where a text begins, with those that overlap, and one more than may be changed at
// most.
func places(content, text string) []int {
	var at []int
	for from := 0; text != "" && len(at) <= mostPlaces; {
		i := strings.Index(content[from:], text)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

// applied reports whether the content looks edited: it has the new text, and the old text at most
// as a part of that. An edit that only removes leaves no trace.
func (e edit) applied() bool {
	if len(e.there) == 0 || len(e.there) > 1 && !e.all || len(e.there) > mostPlaces || len(e.at) > mostPlaces {
		return false
	}
	return !slices.ContainsFunc(e.at, func(at int) bool {
		after, found := slices.BinarySearch(e.there, at)
		if found {
			after++
		}
		return after == 0 || at+len(e.old) > e.there[after-1]+len(e.new)
	})
}

// undoes reports whether taking the edit back leads to the content with a hash.
func (e edit) undoes(hash string) bool {
	for _, there := range e.there {
		undone := e.content[:there] + e.old + e.content[there+len(e.new):]
		if e.all {
			undone = strings.ReplaceAll(e.content, e.new, e.old)
		}
		sum := sha256.Sum256([]byte(undone))
		if len(hash) >= shortest && strings.HasPrefix(hex.EncodeToString(sum[:]), strings.ToLower(hash)) {
			return true
		}
		if e.all || len(e.there) > mostUndone {
			return false
		}
	}
	return false
}

// mostUndone is how many ways of taking an edit back are tried.
const mostUndone = 20

// done is the result of an edit that was made before.
func (e edit) done(p target, h held) tool.Result {
	return alreadyThere(p, h, fmt.Sprintf("Nothing was changed: %s holds the new text already, at %s, and the old text nowhere else. "+
		"To put it in once more, give more of the lines around as old.\n", show(p.path), e.lines(e.there)))
}

// problem says why an edit cannot be made.
func (e edit) problem(name string) error {
	switch {
	case len(e.at) == 0:
		return tool.Refuse("the old text does not occur in %s: read it again and copy the lines as they are, without their numbers%s",
			show(name), e.almost())
	case len(e.at) > mostPlaces:
		return tool.Refuse("the old text occurs more than %d times in %s: give a longer one", mostPlaces, show(name))
	case len(e.at) > 1 && !e.all:
		return tool.Refuse("the old text occurs %d times in %s, at %s: give more of the lines around, or set replace_all",
			len(e.at), show(name), e.lines(e.at))
	}
	return nil
}

// almost points at lines that differ from the old text in spaces only.
func (e edit) almost() string {
	squeeze := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	first, _, _ := strings.Cut(strings.TrimSpace(e.old), "\n")
	if first = squeeze(first); first == "" {
		return ""
	}
	line := 0
	for text := range strings.SplitSeq(e.content, "\n") {
		if line++; squeeze(text) == first {
			return fmt.Sprintf(". Line %d differs from its first line in spaces only", line)
		}
	}
	return ""
}

// lines names the lines of some places.
func (e edit) lines(at []int) string {
	const named = 10
	var names []string
	for _, i := range at[:min(named, len(at))] {
		names = append(names, fmt.Sprint(1+strings.Count(e.content[:i], "\n")))
	}
	text := "line " + names[0]
	if len(names) > 1 {
		text = "lines " + strings.Join(names, ", ")
	}
	if len(at) > named {
		text += fmt.Sprintf(" and %d more", len(at)-named)
	}
	return text
}

// edits are the replacements, without those that overlap one before. Text that old and new have in
// common at their ends is left out, so that a diff shows a line that was added as added.
func (e edit) edits() []udiff.Edit {
	head := 0
	for head < min(len(e.old), len(e.new)) && e.old[head] == e.new[head] {
		head++
	}
	tail := 0
	for tail < min(len(e.old), len(e.new))-head && e.old[len(e.old)-1-tail] == e.new[len(e.new)-1-tail] {
		tail++
	}
	var out []udiff.Edit
	end := 0
	for _, at := range e.at {
		if at >= end {
			end = at + len(e.old)
			out = append(out, udiff.Edit{Start: at + head, End: end - tail, New: e.new[head : len(e.new)-tail]})
		}
	}
	return out
}

// after is the content with the edit made.
func (e edit) after() string {
	var out strings.Builder
	from := 0
	for _, r := range e.edits() {
		out.WriteString(e.content[from:r.Start])
		out.WriteString(r.New)
		from = r.End
	}
	out.WriteString(e.content[from:])
	return out.String()
}

// diff is the edit as a unified diff, and counts its lines. A file with very many lines has none:
// to split it takes many times its size.
func (e edit) diff(change *tool.Change) (string, error) {
	edits := e.edits()
	if countLines([]byte(e.content)) > diffedLines {
		for _, r := range edits {
			change.Added += countLines([]byte(r.New))
			change.Removed += countLines([]byte(e.content[r.Start:r.End]))
		}
		return atLine("no diff: the file has more than %d lines", diffedLines), nil
	}
	diff, err := udiff.ToUnifiedDiff("a/"+change.Path, "b/"+change.Path, e.content, edits, udiff.DefaultContextLines)
	if err != nil {
		return "", err
	}
	for _, h := range diff.Hunks {
		for _, line := range h.Lines {
			switch line.Kind {
			case udiff.Insert:
				change.Added++
			case udiff.Delete:
				change.Removed++
			case udiff.Equal:
			}
		}
	}
	return diff.String(), nil
}
