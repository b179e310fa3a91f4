//go:build services

package docs

import "testing"

// TestMatches breaks what a page says.
func TestMatches(t *testing.T) {
	tests := []struct {
		want, got string
		ok        bool
	}{
		{"", "", true},
		{"", "a\n", false},
		{"a\n", "a\n", true},
		{"a\n", "a\nb\n", false},
		{"a...c\n", "abbc\n", true},
		{"a...c\n", "ab\nbc\n", false},
		{"a\n...\nc\n", "a\nb\nb\nc\n", true},
		{"a\n...\nc\n", "a\nb\n", false},
		{"a.c\n", "abc\n", false},
		{"[1]\n", "1\n", false},
	}
	for _, test := range tests {
		if matches(test.want, test.got) != test.ok {
			t.Errorf("%q against %q is not %v", test.want, test.got, test.ok)
		}
	}
}
