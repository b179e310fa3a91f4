package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValuesKnowTheirPlace(t *testing.T) {
	root, err := Parse([]byte("a: b\nc: [1, 2.50]\nd:\n  - {z: true}\ne: |\n  long\n  text\n"), 10)
	if err != nil {
		t.Fatal(err)
	}
	want := Node{Line: 10, Column: 1, Kind: Table, Pairs: []Pair{
		{Key: "a", Line: 10, Column: 1, Value: Node{Line: 10, Column: 4, Kind: Text, Text: "b"}},
		{Key: "c", Line: 11, Column: 1, Value: Node{Line: 11, Column: 4, Kind: List, Items: []Node{
			{Line: 11, Column: 5, Kind: Number, Text: "1"}, {Line: 11, Column: 8, Kind: Number, Text: "2.50"},
		}}},
		{Key: "d", Line: 12, Column: 1, Value: Node{Line: 13, Column: 3, Kind: List, Items: []Node{
			{Line: 13, Column: 6, Kind: Table, Pairs: []Pair{
				{Key: "z", Line: 13, Column: 6, Value: Node{Line: 13, Column: 9, Kind: Bool, Text: "true"}},
			}},
		}}},
		{Key: "e", Line: 14, Column: 1, Value: Node{Line: 14, Column: 4, Kind: Text, Text: "long\ntext\n"}},
	}}
	if diff := cmp.Diff(want, root); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsATableWithoutPairs(t *testing.T) {
	for _, text := range []string{"", "# only a remark\n", "~\n"} {
		if root, err := Parse([]byte(text), 1); err != nil || root.Kind != Table || len(root.Pairs) > 0 {
			t.Errorf("%q is %+v, %v", text, root, err)
		}
	}
}

func TestWhatCannotBeReadIsPlaced(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\na: 2\n":                      `2:1 mapping key "a" already defined`,
		"a: b: c\n":                         "1:4 mapping value is not allowed in this context",
		"a: &x 1\nb: *x\n":                  "1:4 anchor cannot be used here; write the value out",
		"a: !!str 1\n":                      "1:4 tag cannot be used here; write the value out",
		"<<: {a: 1}\n":                      "1:1 mergekey cannot be used here; write the value out",
		"- a\n":                             "1:1 expected keys and values, found a list",
		strings.Repeat("- ", 60_000):        "1:1 it is larger than 32 KiB",
		"a: 1\n---\nb: 2\n":                 "1:1 there is more than one document",
		"a: " + strings.Repeat("[", 10_000): "1:1 too many open brackets",
		"a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100): "1:36 nested too deeply",
	} {
		_, err := Parse([]byte(text), 1)
		var c *Complaint
		if !errors.As(err, &c) {
			t.Errorf("%.20q gives %v", text, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", c.Line, c.Column, c.Text); got != want {
			t.Errorf("%.20q: %s, want %s", text, got, want)
		}
	}
}

func TestColonsAreMendedAndNothingElse(t *testing.T) {
	doc, err := Split([]byte("---\nname: x\ndescription: Use it. Example: user's wish: \"a\"\nlast: ends:\n---\nBody.\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "x", "description": `Use it. Example: user's wish: "a"`, "last": "ends:"}
	if diff := cmp.Diff(want, doc.Front.Plain()); diff != "" || !cmp.Equal(doc.Mended, []int{3, 4}) || doc.Body != "Body." {
		t.Errorf("mended %v, body %q\n%s", doc.Mended, doc.Body, diff)
	}
	if doc, err := Split([]byte("---\na: 'x: y'\nb: http://h:1/\n---\n")); err != nil || len(doc.Mended) > 0 {
		t.Errorf("mended %v: %v", doc.Mended, err)
	}
}

func TestNamesAreGuessedOnlyWhenTheyAreNear(t *testing.T) {
	known := []string{"max_iterations", "model", "tools"}
	for name, want := range map[string]string{
		"maxItterations": "max_iterations", "MODEL": "model", "modle": "model", "tool": "tools", "x": "", "colour": "",
		strings.Repeat("m", 1000): "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%.20s is taken for %q, want %q", name, got, want)
		}
	}
}
