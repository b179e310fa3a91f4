package supply

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

const noticeHead = `Retinue

This product contains work of others, listed here with their licences. Their
texts follow; one that several parts share stands there once, below the
copyright lines of each. Written by 'make notice', not by hand.

Source code of parts under MPL-2.0 is at the address that is their name.

`

// group is a licence text that parts share, with the authors of each part.
type group struct {
	text  string
	parts []string // each with its copyright lines
}

// Notice writes down the licences of all parts: a line for each, then the texts. It leaves versions
// out, so that it changes only when a part comes, goes or changes its licence.
func Notice(parts []Part) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(noticeHead)
	groups := map[string]*group{}
	var order []*group
	var last string
	for i := range parts {
		p := &parts[i]
		licences, err := Licences(p)
		if err != nil {
			return nil, err
		}
		line := fmt.Sprintf("%s %s: %s\n", label[p.Kind], p.Name, strings.Join(Names(p, licences), ", "))
		if line != last {
			out.WriteString(line)
			last = line
		}
		if known, ok := judged[p.Name]; ok {
			fmt.Fprintf(&out, "    %s\n", known.why)
		}
		for _, l := range licences {
			owners, text := split(l.Text)
			key := sameness(text, l.Names) // empty where a notice has copyright lines alone
			if groups[key] == nil {
				groups[key] = &group{text: text}
				order = append(order, groups[key])
			}
			g := groups[key]
			entry := strings.Join(append([]string{p.Name}, owners...), "\n    ")
			if !slices.Contains(g.parts, entry) {
				g.parts = append(g.parts, entry)
			}
		}
	}
	for _, g := range order {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(g.parts, "\n"), strings.Repeat("-", 80), g.text)
	}
	return out.Bytes(), nil
}

var label = map[Kind]string{Go: "Go", NPM: "npm"}

var (
	copyright = regexp.MustCompile(`^[\s*#>]*(Copyright\b|\(c\) |© |All rights reserved\.?\s*$)`)
	title     = regexp.MustCompile(`(?i)^[\s*#=-]*((the )?(mit|isc|bsd)( 3-clause)? licen[cs]e)?( \(.*\))?[\s*#=:-]*$`)
)

// split separates the lines that name authors from the text of the licence.
func split(text string) (owners []string, rest string) {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimRight(line, " \t\n")
		switch {
		case copyright.MatchString(line):
			owners = append(owners, strings.TrimSpace(line))
		case title.MatchString(line) && len(lines) == 0:
		default:
			lines = append(lines, line)
		}
	}
	return owners, strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// sameness is equal for texts with the same meaning. Whitespace and signs do not count, and
// Apache-2.0, which comes in many layouts and names nobody, is one text.
func sameness(text string, names []string) string {
	if slices.Equal(names, []string{"Apache-2.0"}) && licensecheck.Scan([]byte(text)).Percent > 99 {
		return names[0]
	}
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), notLetter), " ")
}

func notLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
