package builtin

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/retinue-dev/retinue/internal/tool"
)

const (
	// grepLines is how many matching lines one call shows, and grepBytes how much of each.
	grepLines = 200
	grepBytes = 400
	// searchedBytes is how much of one line is searched.
	searchedBytes = 256 << 10
)

// search is a grep on its way.
type search struct {
	re *regexp.Regexp
	// prefix is the common beginning of every match.
	prefix  string
	output  string
	context int
	// cleared are files that are known to hold no match.
	cleared map[string]bool

	// data, hits and long are of the file looked at last; long means that a line was not searched
	// to its end.
	data []byte
	hits []hit
	long bool

	out strings.Builder
	// files counts the searched files, matched those with a match, cut those with too long a line.
	files, matched, cut int
	// shown counts the matches in the answer, more those that did not fit, and moreIn the files of
	// the latter.
	shown, more, moreIn int
	full                bool
	unread              []string
	read                []tool.File
}

// hit is a matching line: its number from zero, its offset, and the offset of the match in it.
type hit struct{ line, start, end, at int }

// look finds the matching lines of a content, and reports whether there are any. A binary has none.
func (s *search) look(ctx context.Context, data []byte) bool {
	s.hits, s.data, s.long = s.hits[:0], data, false
	if !bytes.Contains(data, []byte(s.prefix)) || binary(data) != "" {
		return false
	}
	for line, start := 0, 0; start < len(data); line++ {
		const often = 256
		if line%often == 0 && ctx.Err() != nil {
			return false
		}
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i
		}
		text := bytes.TrimSuffix(data[start:end], []byte("\r"))
		if len(text) > searchedBytes {
			text, s.long = text[:searchedBytes], true
		}
		if m := s.re.FindIndex(text); m != nil {
			s.hits = append(s.hits, hit{line: line, start: start, end: end, at: m[0]})
		}
		start = end + 1
	}
	return len(s.hits) > 0
}

// add adds the last results to the answer.
func (s *search) add(name string, fact tool.File) {
	if s.long {
		s.cut++
	}
	if len(s.hits) == 0 {
		return
	}
	s.matched++
	before := s.out.Len()
	left := 0
	switch s.output {
	case "files":
		left = s.put(show(name)+"\n", globPaths)
	case "counts":
		left = s.put(fmt.Sprintf("%s: %d\n", show(name), len(s.hits)), globPaths)
	default:
		left = s.lines(name)
	}
	s.more += left
	if left > 0 {
		s.moreIn++
	}
	if s.out.Len() > before {
		fact.Path = name
		s.read = append(s.read, fact)
	}
	s.data = nil
}

// put writes one piece of the answer if it still fits, and returns how many were left out.
func (s *search) put(text string, most int) int {
	if s.full || s.shown == most || s.out.Len()+len(text) > textBytes {
		s.full = true
		return 1
	}
	s.out.WriteString(text)
	s.shown++
	return 0
}

// lines writes the matching lines of a file with those around them, and returns how many were left
// out.
func (s *search) lines(name string) int {
	var all [][]byte
	if s.context > 0 {
		all = bytes.Split(bytes.TrimSuffix(s.data, []byte("\n")), []byte("\n"))
	}
	last := -1 // the last line that was written
	for i, h := range s.hits {
		var b strings.Builder
		from := max(h.line-s.context, last+1)
		if s.context > 0 && (last >= 0 && from > last+1 || last < 0 && s.out.Len() > 0) {
			b.WriteString("--\n")
		}
		for n := from; n < h.line; n++ {
			fmt.Fprintf(&b, "%s-%d-%s\n", show(name), n+1, cutLine(all[n], 0, grepBytes))
		}
		from = 0
		if h.at > grepBytes/2 {
			from = h.at - grepBytes/4
		}
		fmt.Fprintf(&b, "%s:%d:%s\n", show(name), h.line+1, cutLine(s.data[h.start:h.end], from, grepBytes))
		last = h.line
		next := len(all)
		if i+1 < len(s.hits) {
			next = s.hits[i+1].line
		}
		for n := h.line + 1; n < next && n <= h.line+s.context; n++ {
			fmt.Fprintf(&b, "%s-%d-%s\n", show(name), n+1, cutLine(all[n], 0, grepBytes))
			last = n
		}
		if s.put(b.String(), grepLines) > 0 {
			return len(s.hits) - i
		}
	}
	return 0
}

// text is the whole answer.
func (s *search) text() string {
	if s.matched == 0 {
		fmt.Fprintf(&s.out, "No line matches in %d files. Binary files and those that git ignores are not searched.\n", s.files)
	}
	switch {
	case s.more > 0 && (s.output == "files" || s.output == "counts"):
		s.out.WriteString(atLine("%d more files: narrow the pattern, or give path or glob", s.more))
	case s.more > 0:
		s.out.WriteString(atLine("%d more matching lines in %d files: narrow the pattern, or give path or glob", s.more, s.moreIn))
	}
	if s.cut > 0 {
		s.out.WriteString(atLine("of lines over %d bytes only the beginning was searched; files with such lines: %d", searchedBytes, s.cut))
	}
	if n := len(s.unread); n > 0 {
		s.out.WriteString(atLine("files that could not be searched (unreadable, changing or over %d bytes): %d, among them %s", fileBytes, n, show(s.unread[0])))
	}
	return s.out.String()
}
