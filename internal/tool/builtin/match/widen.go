package match

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// anyLetter matches a letter that is not spelled out: one of ASCII, or the bytes of another one,
// roughly. The end of a line is none.
const (
	asciiLetter = `[\x00-\x09\x0b-\x7f]`
	otherLetter = `[\x80-\xff]{1,4}`
	anyLetter   = `(?:` + asciiLetter + `|` + otherLetter + `)`
)

// Widen writes an expression of ours for ripgrep so that it matches wherever ours does, and maybe
// elsewhere: in bytes, without ^, $ and \b, and with letters beyond ASCII taken for each other
// where there are classes of them. The two libraries differ in what those mean; in what is left
// they do not. It is not ok if that cannot be done.
func Widen(expression string) (string, bool) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", false
	}
	var out strings.Builder
	out.WriteString(`(?-u)`)
	if !widenTree(&out, tree) {
		return "", false
	}
	return out.String(), true
}

func widenTree(out *strings.Builder, re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		out.WriteString(`(?:)`)
		return true
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if !widenLetter(out, r, re.Flags&syntax.FoldCase != 0) {
				return false
			}
		}
		return true
	case syntax.OpCharClass:
		return widenClass(out, re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteString(anyLetter)
		return true
	case syntax.OpCapture, syntax.OpConcat:
		return widenAll(out, re.Sub, "")
	case syntax.OpAlternate:
		return widenAll(out, re.Sub, "|")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		if !widenAll(out, re.Sub, "") {
			return false
		}
		out.WriteString(repetition(re))
		return true
	case syntax.OpNoMatch:
		return false
	}
	return false
}

func widenAll(out *strings.Builder, all []*syntax.Regexp, between string) bool {
	out.WriteString(`(?:`)
	for i, re := range all {
		if i > 0 {
			out.WriteString(between)
		}
		if !widenTree(out, re) {
			return false
		}
	}
	out.WriteString(`)`)
	return true
}

func repetition(re *syntax.Regexp) string {
	switch {
	case re.Op == syntax.OpStar:
		return "*"
	case re.Op == syntax.OpPlus:
		return "+"
	case re.Op == syntax.OpQuest:
		return "?"
	case re.Max < 0:
		return fmt.Sprintf("{%d,}", re.Min)
	}
	return fmt.Sprintf("{%d,%d}", re.Min, re.Max)
}

// widenLetter writes the bytes of a letter, in either case if that is the same.
func widenLetter(out *strings.Builder, r rune, fold bool) bool {
	switch r {
	case '\n':
		return false // no line holds one
	case utf8.RuneError: // our library reads broken bytes as this
		out.WriteString(anyLetter)
		return true
	}
	out.WriteString(`(?:`)
	for other, first := r, true; first || fold && other != r; other, first = unicode.SimpleFold(other), false {
		if !first {
			out.WriteString(`|`)
		}
		for _, b := range []byte(string(other)) {
			fmt.Fprintf(out, `\x%02x`, b)
		}
	}
	out.WriteString(`)`)
	return true
}

// widenClass writes a set of letters, given as pairs of the first and the last.
func widenClass(out *strings.Builder, pairs []rune) bool {
	var ascii strings.Builder
	wide := false
	for i := 0; i+1 < len(pairs); i += 2 {
		low, high := pairs[i], pairs[i+1]
		wide = wide || high > unicode.MaxASCII
		for r := low; r <= min(high, unicode.MaxASCII); r++ {
			if r != '\n' {
				fmt.Fprintf(&ascii, `\x%02x`, r)
			}
		}
	}
	switch {
	case ascii.Len() == 0 && !wide:
		return false
	case ascii.Len() == 0:
		out.WriteString(`(?:` + otherLetter + `)`)
	case wide:
		out.WriteString(`(?:[` + ascii.String() + `]|` + otherLetter + `)`)
	default:
		out.WriteString(`[` + ascii.String() + `]`)
	}
	return true
}
