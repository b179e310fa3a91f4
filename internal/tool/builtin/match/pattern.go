package match

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// dialect is how a pattern of an ignore file is read. These are ours and not go-git's: the tests of
// package builtin compared those with git, and they read [!a], []a] and [[:digit:]] in another way.
// Patterns of models are doublestar's.
type dialect struct {
	// loose means that ** right after the text before the first wildcard counts as if it stood
	// after a slash. Git sets that text aside before it looks at a pattern with a slash.
	loose bool
}

var (
	nameDialect     = dialect{}
	anchoredDialect = dialect{loose: true}
)

var errPattern = errors.New("not a pattern")

// compile makes a regular expression for whole paths out of a pattern: * and ? stop at a slash, **
// between slashes stands for any number of folders. Regular expressions here take linear time,
// whatever the pattern.
func (d dialect) compile(pattern string) (*regexp.Regexp, error) {
	var out strings.Builder
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; {
		case c == '*':
			n := len(pattern[i:]) - len(strings.TrimLeft(pattern[i:], "*"))
			starts := i == 0 || pattern[i-1] == '/' || d.loose && i == strings.IndexAny(pattern, `*?[\`)
			i += n
			switch {
			case n > 1 && starts && i == len(pattern):
				out.WriteString(".*")
			case n > 1 && starts && pattern[i] == '/':
				out.WriteString("(?:.*/)?")
				i++
			default:
				out.WriteString("[^/]*")
			}
		case c == '?':
			out.WriteString("[^/]")
			i++
		case c == '[':
			text, used := class(pattern[i:])
			if used == 0 {
				return nil, fmt.Errorf("%w: a [ without its ]", errPattern)
			}
			out.WriteString(text)
			i += used
		case c == '\\' && i+1 == len(pattern):
			return nil, fmt.Errorf("%w: it ends in a \\", errPattern)
		case c == '\\':
			_, size := utf8.DecodeRuneInString(pattern[i+1:])
			out.WriteString(regexp.QuoteMeta(pattern[i+1 : i+1+size]))
			i += 1 + size
		default:
			_, size := utf8.DecodeRuneInString(pattern[i:])
			out.WriteString(regexp.QuoteMeta(pattern[i : i+size]))
			i += size
		}
	}
	re, err := regexp.Compile(`(?s)\A(?:` + out.String() + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPattern, err)
	}
	return re, nil
}

// posix are the named classes, as ranges.
var posix = map[string]string{
	"alnum": "09AZaz", "alpha": "AZaz", "blank": "  \t\t", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09",
	"graph": "!~", "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "\t\r  ", "upper": "AZ",
	"xdigit": "09AFaf",
}

// class translates [a-z] and its kin, which never stand for a slash, and says how long it was; zero
// if it has no end.
func class(pattern string) (string, int) {
	i := 1
	not := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if not {
		i++
	}
	var set strings.Builder
	for first := true; i < len(pattern) && (first || pattern[i] != ']'); first = false {
		if name, ok := strings.CutPrefix(pattern[i:], "[:"); ok {
			if name, _, ok = strings.Cut(name, ":]"); ok {
				ends := posix[name]
				for j := 0; j < len(ends); j += 2 {
					addRange(&set, rune(ends[j]), rune(ends[j+1]))
				}
				i += len(name) + len("[::]")
				continue
			}
		}
		low, size := letter(pattern[i:])
		i += size
		high := low
		if strings.HasPrefix(pattern[i:], "-") && len(pattern) > i+1 && pattern[i+1] != ']' {
			high, size = letter(pattern[i+1:])
			i += 1 + size
		}
		addRange(&set, low, high)
	}
	if i >= len(pattern) {
		return "", 0
	}
	switch {
	case not:
		return "[^/" + set.String() + "]", i + 1
	case set.Len() == 0:
		return `[^\x00-\x{10FFFF}]`, i + 1
	}
	return "[" + set.String() + "]", i + 1
}

// letter reads one letter of a class, which a backslash may stand before.
func letter(text string) (rune, int) {
	escape := 0
	if text[0] == '\\' && len(text) > 1 {
		escape = 1
	}
	r, size := utf8.DecodeRuneInString(text[escape:])
	return r, escape + size
}

// addRange adds the letters from low to high, without the slash.
func addRange(set *strings.Builder, low, high rune) {
	if low <= '/' && '/' <= high {
		addRange(set, low, '/'-1)
		low = '/' + 1
	}
	if low <= high {
		fmt.Fprintf(set, `\x{%x}-\x{%x}`, low, high)
	}
}
