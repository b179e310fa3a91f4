package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/tool"
)

func TestAProbeTellsWhetherAnEditWasMade(t *testing.T) {
	for name, c := range map[string]struct {
		content, args string
		want          tool.Happened
	}{
		"not yet":                  {"a old b", `"old":"old","new":"new"`, tool.HappenedNo},
		"made":                     {"a new b", `"old":"old","new":"new"`, tool.HappenedYes},
		"neither":                  {"a b", `"old":"old","new":"new"`, tool.HappenedUnknown},
		"twice there":              {"new new", `"old":"old","new":"new"`, tool.HappenedUnknown},
		"ambiguous":                {"old old", `"old":"old","new":"new"`, tool.HappenedUnknown},
		"both":                     {"old new", `"old":"old","new":"new"`, tool.HappenedNo},
		"addition, not yet":        {"a b", `"old":"a","new":"a+"`, tool.HappenedNo},
		"addition, made":           {"a+ b", `"old":"a","new":"a+"`, tool.HappenedYes},
		"removal, not yet":         {"a b", `"old":"a","new":""`, tool.HappenedNo},
		"removal, no trace":        {" b", `"old":"a","new":""`, tool.HappenedUnknown},
		"everywhere, not yet":      {"a a", `"old":"a","new":"b","replace_all":true`, tool.HappenedNo},
		"everywhere, made":         {"b b", `"old":"a","new":"b","replace_all":true`, tool.HappenedYes},
		"everywhere, longer, made": {"aa aa", `"old":"a","new":"aa","replace_all":true`, tool.HappenedYes},
		"expected, not yet":        {"a old b", `"old":"old","new":"new","expect":"` + hashOf("a old b") + `"`, tool.HappenedNo},
		"expected, made":           {"a new b new", `"old":"old","new":"new","expect":"` + hashOf("a new b old")[:12] + `"`, tool.HappenedYes},
		"expected, changed since":  {"a new c", `"old":"old","new":"new","expect":"` + hashOf("a old b") + `"`, tool.HappenedUnknown},
		"expected, all made":       {"b b", `"old":"a","new":"b","replace_all":true,"expect":"` + hashOf("a a") + `"`, tool.HappenedYes},
		"line ends":                {"1\r\n2\r\n", `"old":"0\n2","new":"1\n2"`, tool.HappenedYes},
		"nothing to change":        {"a", `"old":"a","new":"a"`, tool.HappenedNo},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"f": c.content})
			s := openWriting(t, dir)
			call := tool.Call{ID: "1.0", Tool: "edit_file", Args: json.RawMessage(`{"path":"f",` + c.args + `}`)}
			r, happened, err := s.Probe(t.Context(), call)
			if happened != c.want || err != nil {
				t.Errorf("%s, %v", happened, err)
			}
			var wrote []tool.Change
			if c.want == tool.HappenedYes {
				wrote = []tool.Change{{Path: "f", Before: hashOf(c.content), After: hashOf(c.content), Bytes: int64(len(c.content))}}
			}
			if diff := cmp.Diff(wrote, r.Facts.Wrote); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"./": "", "f": c.content}, contents(t, dir)); diff != "" {
				t.Errorf("a probe changed something: %s", diff)
			}
			if c.want != tool.HappenedYes {
				return
			}
			if again := ask(t, s, "edit_file", string(call.Args)); again.End != tool.EndOK || contents(t, dir)["f"] != c.content {
				t.Errorf("run again: %s %s", again.End, again.Text)
			}
		})
	}
	s := openWriting(t, t.TempDir())
	if _, happened, err := s.Probe(t.Context(), tool.Call{Tool: "edit_file", Args: json.RawMessage(`{"path":"f","old":"a","new":"b"}`)}); happened != tool.HappenedUnknown || err != nil {
		t.Errorf("without the file: %s, %v", happened, err)
	}
}

// TestAnEditCanBeTakenBack makes random edits, each followed by its opposite, and each run twice.
func TestAnEditCanBeTakenBack(t *testing.T) {
	dir := t.TempDir()
	s := openWriting(t, dir)
	text := func(least, most int, ends ...string) *rapid.Generator[string] {
		piece := rapid.SampledFrom(append(ends, "a", "b", "é", "\t", "{}", "aa", " ", "\\", "\u2028", "👍"))
		return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, least, most).Draw(t, "pieces"), "") })
	}
	edited, refused := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		// A file has one kind of line end, or both and then none in the replaced text.
		around := rapid.SampledFrom([][]string{{"\n"}, {"\r\n"}, {"\n", "\r\n"}}).Draw(r, "line ends")
		inside := around
		if len(around) > 1 {
			inside = nil
		}
		old, fresh := text(1, 4, inside...).Draw(r, "old"), text(0, 4, inside...).Draw(r, "new")
		content := text(0, 12, around...).Draw(r, "head") + old + text(0, 12, around...).Draw(r, "tail")
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			r.Fatal(err)
		}
		held := func() string {
			data, err := os.ReadFile(file)
			if err != nil {
				r.Fatal(err)
			}
			return string(data)
		}
		there := ask(t, s, "edit_file", arguments(t, "path", "f", "old", old, "new", fresh, "expect", hashOf(content)))
		after := held()
		if there.End != tool.EndOK {
			refused++
			if after != content {
				r.Fatalf("refused, and changed %q to %q", content, after)
			}
			return
		}
		edited++
		if after == content {
			r.Fatalf("%q stayed: %s", content, there.Text)
		}
		if got := there.Facts.Wrote[0]; got.Before != hashOf(content) || got.After != hashOf(after) {
			r.Fatalf("facts %+v", got)
		}
		again := ask(t, s, "edit_file", arguments(t, "path", "f", "old", old, "new", fresh, "expect", hashOf(content)))
		if held() != after || fresh != "" && again.End != tool.EndOK {
			r.Fatalf("the same call again made %q of %q: %s", held(), after, again.Text)
		}
		if fresh == "" {
			return // there is no text to find the place by
		}
		back := ask(t, s, "edit_file", arguments(t, "path", "f", "old", fresh, "new", old, "expect", hashOf(after)))
		if back.End == tool.EndOK && held() != content {
			r.Fatalf("%q became %q and then %q", content, after, held())
		}
		if back.End != tool.EndOK && !strings.Contains(back.Text, "occurs ") {
			r.Fatalf("not taken back: %s", back.Text)
		}
	})
	t.Logf("%d edits, %d refused", edited, refused)
	if edited == 0 {
		t.Error("no edit was made: the test shows nothing")
	}
}
