package document

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// value parses one value; it stands at 1:4.
func value(t *testing.T, text string) Node {
	t.Helper()
	root, err := Parse([]byte("a: "+text+"\n"), 1)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return root.Pairs[0].Value
}

// reading compares the values read, or the messages about them.
func reading[T any](t *testing.T, read func(Node, *T) error, cases map[string]any) {
	t.Helper()
	for text, want := range cases {
		var got T
		err := read(value(t, text), &got)
		if words, isText := want.(error); isText {
			var c *Complaint
			if !errors.As(err, &c) || c.Text != words.Error() || c.Line != 1 {
				t.Errorf("%s: %v, want the complaint %q", text, err, words)
			}
			var none T
			if diff := cmp.Diff(none, got); diff != "" {
				t.Errorf("%s is refused and read all the same: %s", text, diff)
			}
			continue
		}
		if diff := cmp.Diff(want, any(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", text, err, diff)
		}
	}
}

func TestTimes(t *testing.T) {
	bounds, form := errors.New("expected a time above zero and up to 168h0m0s"), errors.New("expected a time such as 90s or 5m")
	reading(t, func(n Node, to *int64) error { return n.ToMillis(time.Second, to) }, map[string]any{
		"90s": int64(90_000), "5m": int64(300_000), "1h30m": int64(5_400_000), "90": int64(90_000), "0.5": int64(500), `"7"`: int64(7000),
		"168h": int64(604_800_000),
		"0":    bounds, "-1": bounds, "169h": bounds, "604801": bounds, "1us": bounds, `"nan"`: bounds,
		"soon": form, "true": form, "5 m": form,
	})
	reading(t, func(n Node, to *int64) error { return n.ToMillis(time.Millisecond, to) }, map[string]any{"90": int64(90)})
	for millis, want := range map[Millis]string{
		7_200_000: "2 hours", 5_400_000: "90 minutes", 300_000: "5 minutes", 90_000: "90 seconds", 60_000: "60 seconds", 1500: "1.5s",
	} {
		if got := millis.Words(); got != want {
			t.Errorf("%d are %q, want %q", millis, got, want)
		}
	}
}

func TestAmounts(t *testing.T) {
	price, budget := errors.New("expected an amount of US dollars"), errors.New("expected an amount of US dollars above zero")
	reading(t, Node.ToPrice, map[string]any{
		"1.25": int64(1_250_000), `"$0.10"`: int64(100_000), "0": int64(0), "0.0000001": int64(1), "1000000": int64(1_000_000_000_000),
		"-1": price, "1000001": price, "1e3": price, "much": price, `"$"`: price, "[1]": price,
	})
	reading(t, Node.ToMicros, map[string]any{"2": int64(2_000_000), "free": budget, "-1": budget})
	var none int64
	if err := value(t, "0").ToMicros(&none); err == nil || err.Error() != budget.Error() {
		t.Errorf("a budget of nothing: %v", err)
	}
}

func TestScalars(t *testing.T) {
	count := errors.New("expected a whole number from 1 to 1000")
	reading(t, func(n Node, to *int) error { return n.ToCount(to, 1000) }, map[string]any{
		"1": 1, "1_000": 1000, `"20"`: 20, "0": count, "1001": count, "1.5": count, "true": count, "many": count,
	})
	reading(t, Node.ToText, map[string]any{
		"plain": "plain", `" spaced "`: "spaced", "12": "12", "true": "true",
		"~": errors.New("expected text, found nothing"), "[a]": errors.New("expected text, found a list"),
		"{b: c}": errors.New("expected text, found a table of keys and values"),
	})
	flag := errors.New("expected true or false")
	reading(t, Node.ToBool, map[string]any{"true": true, "yes": true, "ON": true, "false": false, "no": false, "Off": false, "maybe": flag, "1": flag})
}

type colour string

func TestWordsOutOfAFew(t *testing.T) {
	reading(t, func(n Node, to *colour) error { return ToWord(n, to, "dark_red", "blue", "true") }, map[string]any{
		"dark_red": colour("dark_red"), "darkRed": colour("dark_red"), "BLUE": colour("blue"), `"true"`: colour("true"),
		"blu":   errors.New(`"blu" is not among the words for it: did you mean "blue"? known are dark_red, blue, true`),
		"green": errors.New(`"green" is not among the words for it: known are dark_red, blue, true`),
		"true":  errors.New(`"true" is not among the words for it: did you mean "true"? known are dark_red, blue, true`),
		"12":    errors.New(`"12" is not among the words for it: known are dark_red, blue, true`),
	})
}

// TestAliasesAreGuessed has a name close to one of another program's: the message suggests it, and
// the list does not have it.
func TestAliasesAreGuessed(t *testing.T) {
	const want = `did you mean "maxTurns"? known are limits, model`
	if got := Meant("maxTurn", []string{"limits", "model"}, "maxTurns"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestListsOfNames(t *testing.T) {
	words := func(n Node, to *[]string) error {
		items, err := n.Words()
		for _, item := range items {
			*to = append(*to, item.Text)
		}
		return err
	}
	reading(t, words, map[string]any{
		"[Read, 2, true]": []string{"Read", "2", "true"}, "Read, Agent(a, b), , Write": []string{"Read", "Agent(a, b)", "Write"},
		"one": []string{"one"}, "~": []string(nil), `"a), b"`: []string{"a)", "b"},
		"{a: b}":   errors.New("expected a list of names, found a table of keys and values"),
		"[a, [b]]": errors.New("expected a name, found a list"),
		"[a, ~]":   errors.New("expected a name, found nothing"),
		"[{a: b}]": errors.New("expected a name, found a table of keys and values"),
	})
}

func TestSchemas(t *testing.T) {
	schema := func(n Node, to *string) error {
		var raw json.RawMessage
		err := n.ToSchema(&raw)
		*to = string(raw)
		return err
	}
	reading(t, schema, map[string]any{
		"{type: object, required: [b, a], properties: {a: {maximum: 1.50}, b: ~}, strict: true, version: 0x10, more: +1.5}": `{"more":"+1.5","properties":{"a":{"maximum":1.5},"b":null},"required":["b","a"],"strict":true,"type":"object","version":"0x10"}`,
		"object": errors.New("expected a JSON Schema"),
	})
}

func TestFilesThatAreRead(t *testing.T) {
	files := fstest.MapFS{
		"a.md": {Data: []byte("hello")}, "large.md": {Data: make([]byte, FileCap+1)}, "full.md": {Data: make([]byte, FileCap)},
		"folder/b.md": {Data: []byte("b")}, "pipe": {Mode: fs.ModeNamedPipe},
	}
	if data, err := ReadFile(files, "a.md"); string(data) != "hello" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := ReadFile(files, "full.md"); len(data) != FileCap || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for name, want := range map[string]string{
		"large.md": "it is larger than 256 KiB", "folder": "it is not an ordinary file", "pipe": "it is not an ordinary file",
		"none.md": "file does not exist",
	} {
		if data, err := ReadFile(files, name); err == nil || err.Error() != want || data != nil {
			t.Errorf("%s: %d bytes and %v, want %s", name, len(data), err, want)
		}
	}
}

func TestFrontMatter(t *testing.T) {
	doc, err := Split([]byte("\xef\xbb\xbf--- \r\nname: x\r\n---\r\nBody.\r\n"))
	if err != nil || doc.Body != "Body." || !cmp.Equal(doc.Front.Plain(), any(map[string]any{"name": "x"})) || doc.Mended != nil {
		t.Errorf("%+v, %v", doc, err)
	}
	for text, want := range map[string]string{
		"---\nname: x\n": "1 the front matter has no end: a line with --- alone", "name: x\n": "1 there is no front matter: the first line must be ---",
		"---\nname: \xff\n---\n": "1 the file is not UTF-8 text", "---\na: 1\na: 2\n---\n": `3 mapping key "a" already defined`,
		"---\nb: x: y\na: 1\na: 2\n---\n": "2 mapping value is not allowed in this context",
	} {
		_, err := Split([]byte(text))
		var c *Complaint
		if !errors.As(err, &c) || string(rune('0'+c.Line))+" "+c.Error() != want {
			t.Errorf("%q: %+v, want %s", text, err, want)
		}
	}
}

// TestOriginsAndWarnings compares the texts for the origin of a value and the faults of a file.
func TestOriginsAndWarnings(t *testing.T) {
	for want, origin := range map[string]Origin{
		"default": {Kind: FromDefault}, "default (HOME)": {Kind: FromDefault, Name: "HOME"}, "built-in coder.md:4": {Kind: FromBuiltIn, Name: "coder.md", Line: 4},
		"roles/coder.md:4": {Kind: FromFile, Name: "roles/coder.md", Line: 4, Column: 2}, "RETINUE_DATA_DIR": {Kind: FromEnv, Name: "RETINUE_DATA_DIR"},
		"--data-dir": {Kind: FromFlag, Name: "--data-dir"}, "settings roles.coder": {Kind: FromSettings, Name: "roles.coder"}, "elsewhere": {Kind: "elsewhere"},
	} {
		if got := origin.String(); got != want {
			t.Errorf("%+v is %q, want %q", origin, got, want)
		}
	}
	for want, warning := range map[string]Warning{
		"a.md: too long": {File: "a.md", Text: "too long"}, "a.md:3:7: unknown": {File: "a.md", Line: 3, Column: 7, Text: "unknown"},
		"a.md:1:1: not used: empty": {File: "a.md", Line: 1, Column: 1, Skipped: true, Text: "empty"},
	} {
		if got := warning.Error(); got != want {
			t.Errorf("%+v is %q, want %q", warning, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "exactly ten": "exactly ten", "one two three four": "one two …", "onetwothreefour": "onetwothree …",
		"eins zwei ä": "eins zwei …", "eins zweiäöü": "eins …", strings.Repeat("ä", 8): strings.Repeat("ä", 5) + " …",
	} {
		if got := Clip(text, 11); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}
