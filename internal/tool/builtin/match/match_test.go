package match

import (
	"regexp"
	"strings"
	"testing"
)

func TestRulesLeaveAloneWhatGitDoes(t *testing.T) {
	rules := Rules(nil).With(".", "\uFEFF# a comment\r\n*.log\nbuild/\n/top\ndoc/**/x?.md\n[a-c]z\n[!a-c]y\n\\!odd\nback\\ \n[[:digit:]]q\nbad[\n")
	rules = rules.With("sub", "!keep.log\nname/\n")
	if n := len(rules.With("empty", "# nothing\n")); n != 2 {
		t.Errorf("a file without rules makes it %d files", n)
	}
	for _, test := range []struct {
		name   string
		folder bool
		want   bool
	}{
		{"a.log", false, true},
		{"deep/er/a.log", false, true},
		{"sub/a.log", false, true},
		{"sub/keep.log", false, false},
		{"build", true, true},
		{"build", false, false},
		{"top", false, true},
		{"sub/top", false, false},
		{"doc/x1.md", false, true},
		{"doc/a/b/x1.md", false, true},
		{"doc/a/b/x12.md", false, false},
		{"bz", false, true},
		{"dz", false, false},
		{"dy", false, true},
		{"by", false, false},
		{"!odd", false, true},
		{"back ", false, true},
		{"7q", false, true},
		{"xq", false, false},
		{"bad[", false, false},
		{"sub/name", true, true},
	} {
		if got := rules.Ignore(test.name, test.folder); got != test.want {
			t.Errorf("%s (folder %t): %t", test.name, test.folder, got)
		}
	}
}

func TestPatternsThatCannotBeReadAreErrors(t *testing.T) {
	for _, pattern := range []string{"[a", `a\`, "[[:alpha:]"} {
		if _, err := nameDialect.compile(pattern); err == nil {
			t.Errorf("%s was taken", pattern)
		}
	}
	if re, err := anchoredDialect.compile("a**/b"); err != nil || !re.MatchString("a/x/b") || !re.MatchString("ab") {
		t.Errorf("a**/b is %v, %v", re, err)
	}
}

// TestWidenedExpressionsMatchWhereOursDo reads what Widen writes as bytes, as ripgrep does.
func TestWidenedExpressionsMatchWhereOursDo(t *testing.T) {
	for _, test := range []struct{ expression, text string }{
		{"^abc$", "abc"},
		{"a|b+c*d?", "bbcd"},
		{"(?i)straße", "STRASSE straße"},
		{"[a-f]{2,4}x", "cafex"},
		{"x{3,}", "xxxx"},
		{`\bé.\w`, "éaa"},
		{"[à-ü]n", "én"},
		{"[a-zà-ü]n", "én an"},
		{"(a(b)c)", "abc"},
		{"", "x"},
	} {
		wide, ok := Widen(test.expression)
		if !ok {
			t.Errorf("%s cannot be written", test.expression)
			continue
		}
		bytes := func(text string) string { // each byte as a letter, which is how (?-u) sees it
			var out strings.Builder
			for _, b := range []byte(text) {
				out.WriteRune(rune(b))
			}
			return out.String()
		}
		ours, theirs := regexp.MustCompile(test.expression), regexp.MustCompile(strings.TrimPrefix(wide, "(?-u)"))
		if ours.MatchString(test.text) && !theirs.MatchString(bytes(test.text)) {
			t.Errorf("%s is written as %s, which does not match %q", test.expression, wide, test.text)
		}
	}
	for _, expression := range []string{"a\nb", "[", "[^\\x00-\\x{10FFFF}]", "(ab|\n)"} {
		if wide, ok := Widen(expression); ok {
			t.Errorf("%q was written as %s", expression, wide)
		}
	}
}
