package builtin_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
)

// openWriting makes the tools that write on a folder.
func openWriting(t testing.TB, dir string) *tool.Set {
	t.Helper()
	w, err := builtin.Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	s, err := tool.NewSet(tool.Options{}, w.Writing()...)
	must(t, err)
	return s
}

// arguments writes a call's arguments: key, value, key, value.
func arguments(t testing.TB, pairs ...any) string {
	t.Helper()
	object := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		object[fmt.Sprint(pair[0])] = pair[1]
	}
	text, err := json.Marshal(object)
	must(t, err)
	return string(text)
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// contents reads a whole tree: files with their content, links with where they lead.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		short, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			found[short] = "->" + target
			return err
		case e.Type().IsRegular():
			data, err := os.ReadFile(name)
			found[short] = string(data)
			return err
		case e.IsDir():
			found[short+"/"] = ""
		default:
			found[short] = e.Type().String()
		}
		return nil
	}))
	return found
}

func TestDefinitionsOfWritingTools(t *testing.T) {
	s := openWriting(t, t.TempDir())
	classes := map[string]chat.EffectClass{}
	for _, d := range s.Definitions([]string{"*"}) {
		classes[d.Name+" "+strings.Join(d.Aliases, " ")] = d.Class
		if !d.Writes || d.Network {
			t.Errorf("%s: %+v", d.Name, d)
		}
	}
	want := map[string]chat.EffectClass{"write_file Write": chat.ClassIdempotent, "edit_file Edit": chat.ClassReconcilable}
	if diff := cmp.Diff(want, classes); diff != "" {
		t.Error(diff)
	}
}

func TestWritingAnswers(t *testing.T) {
	dir := tree(t, map[string]string{
		"old.txt": "one\ntwo\nthree\n", "crlf.txt": "one\r\ntwo\r\nthree", "empty.txt": "", "zero.txt": "", "over.txt": "aaa\n", "same.txt": "x\nx\nx\n",
		"latin1.txt": "caf\xe9\n", "binary.bin": "a\x00b", "folder/": "", "link.txt": "->old.txt", "read-only.txt": "kept\n",
	})
	must(t, os.Chmod(filepath.Join(dir, "read-only.txt"), 0o444))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	s := openWriting(t, dir)
	var out strings.Builder
	for _, c := range []struct{ tool, args string }{
		{"write_file", `{"path":"a/b/new.txt","content":"first\nsecond\n"}`},
		{"write_file", `{"path":"a/b/new.txt","content":"first\nsecond\n"}`},
		{"Write", `{"file_path":"a/b/new.txt","content":"first\nthird"}`},
		{"write_file", `{"path":"a/b/new.txt","content":"x","expect":"none"}`},
		{"write_file", `{"path":"a/b/new.txt","content":"x","expect":"0123456789abcdef"}`},
		{"write_file", arguments(t, "path", "a/b/new.txt", "content", "x", "expect", hashOf("first\nthird")[:12])},
		{"write_file", arguments(t, "path", "a/b/new.txt", "content", "y", "expect", hashOf("x")[:11])},
		{"write_file", `{"path":"gone.txt","content":"x","expect":"0123456789abcdef"}`},
		{"write_file", `{"path":"fresh.txt","content":"x","expect":"none"}`},
		{"write_file", `{"path":"empty.txt","content":"now\n"}`},
		{"write_file", `{"path":"old.txt","content":""}`},
		{"write_file", `{"path":"link.txt","content":"one\ntwo\nthree\n"}`},
		{"write_file", `{"path":"folder","content":"x"}`},
		{"write_file", `{"path":"folder/","content":"x"}`},
		{"write_file", `{"path":"pipe","content":"x"}`},
		{"write_file", `{"path":"old.txt/below","content":"x"}`},
		{"write_file", `{"path":"read-only.txt","content":"x"}`},
		{"write_file", `{"path":"nul.txt","content":"a\u0000b"}`},
		{"write_file", `{"path":"half.txt","content":"a\ud800b"}`},
		{"write_file", "{\"path\":\"bytes.txt\",\"content\":\"a\xffb\"}"},
		{"write_file", `{"path":"mark.txt","content":"a\uFFFDb"}`},
		{"edit_file", `{"path":"old.txt","old":"two","new":"2"}`},
		{"edit_file", `{"path":"old.txt","old":"two","new":"2"}`},
		{"Edit", `{"file_path":"old.txt","old_string":"one\n","new_string":"one\nand a half\n"}`},
		{"edit_file", `{"path":"old.txt","old":"one\n","new":"one\nand a half\n"}`},
		{"edit_file", `{"path":"link.txt","old":"three\n","new":""}`},
		{"edit_file", `{"path":"old.txt","old":"three\n","new":""}`},
		{"edit_file", `{"path":"old.txt","old":"ONE","new":"x"}`},
		{"edit_file", `{"path":"old.txt","old":"  and  a half","new":"x"}`},
		{"edit_file", `{"path":"old.txt","old":"one","new":"x","expect":"0123456789abcdef"}`},
		{"edit_file", `{"path":"old.txt","old":"one","new":"one"}`},
		{"edit_file", `{"path":"old.txt","old":"","new":"one"}`},
		{"edit_file", `{"path":"same.txt","old":"x","new":"y"}`},
		{"edit_file", `{"path":"same.txt","old":"x","new":"xx","replace_all":true}`},
		{"edit_file", `{"path":"same.txt","old":"x","new":"xx","replace_all":true}`},
		{"edit_file", `{"path":"crlf.txt","old":"one\ntwo","new":"one\n1.5\ntwo"}`},
		{"edit_file", `{"path":"crlf.txt","old":"three","new":"3\n4"}`},
		{"edit_file", `{"path":"over.txt","old":"aa","new":"x"}`},
		{"write_file", `{"path":"nowhere/x.txt","content":"x","expect":"0123456789abcdef"}`},
		{"edit_file", `{"path":"zero.txt","old":"caf","new":"x"}`},
		{"edit_file", `{"path":"latin1.txt","old":"caf","new":"x"}`},
		{"edit_file", `{"path":"binary.bin","old":"a","new":"x"}`},
		{"edit_file", `{"path":"empty.txt/x","old":"a","new":"x"}`},
		{"edit_file", `{"path":"flder/x.txt","old":"a","new":"x"}`},
		{"edit_file", `{"path":"old.tx","old":"a","new":"x"}`},
		{"edit_file", `{"path":"folder","old":"a","new":"x"}`},
		{"edit_file", `{"path":"pipe","old":"a","new":"x"}`},
	} {
		r := ask(t, s, c.tool, c.args)
		fmt.Fprintf(&out, "== %s %q: %s\n%s\n", c.tool, c.args, r.End, r.Text)
	}
	golden(t, "writing.golden", out.String())
	want := map[string]string{
		"./": "", "a/": "", "a/b/": "", "folder/": "", "a/b/new.txt": "x", "fresh.txt": "x", "empty.txt": "now\n", "zero.txt": "", "over.txt": "aaa\n", "mark.txt": "a\uFFFDb",
		"old.txt": "one\nand a half\n2\n", "same.txt": "xx\nxx\nxx\n", "crlf.txt": "one\r\n1.5\r\ntwo\r\n3\r\n4", "link.txt": "->old.txt",
		"latin1.txt": "caf\xe9\n", "binary.bin": "a\x00b", "read-only.txt": "kept\n", "pipe": "p---------",
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("want (-), found (+):\n%s", diff)
	}
}

func TestReceiptsNameWhatWasWritten(t *testing.T) {
	dir := tree(t, map[string]string{"old.txt": "one\ntwo\nthree\n"})
	s := openWriting(t, dir)
	const first, second, third = "one\ntwo\nthree\n", "one\n2\n2.5\nthree\n", "1\n2\n2.5\nthree\n"
	for _, c := range []struct {
		tool, args string
		want       []tool.Change
	}{
		{"edit_file", arguments(t, "path", dir+"/old.txt", "old", "two", "new", "2\n2.5"), []tool.Change{
			{Path: "old.txt", Before: hashOf(first), After: hashOf(second), Bytes: int64(len(second)), Added: 2, Removed: 1},
		}},
		{"write_file", arguments(t, "path", "old.txt", "content", third), []tool.Change{
			{Path: "old.txt", Before: hashOf(second), After: hashOf(third), Bytes: int64(len(third)), Added: 1, Removed: 1},
		}},
		{"write_file", arguments(t, "path", "old.txt", "content", third), []tool.Change{
			{Path: "old.txt", Before: hashOf(third), After: hashOf(third), Bytes: int64(len(third))},
		}},
		{"write_file", arguments(t, "path", "new.txt", "content", "a\nb"), []tool.Change{
			{Path: "new.txt", After: hashOf("a\nb"), Bytes: 3, Added: 2},
		}},
		{"edit_file", arguments(t, "path", "new.txt", "old", "missing", "new", "x"), nil},
	} {
		if diff := cmp.Diff(c.want, ask(t, s, c.tool, c.args).Facts.Wrote); diff != "" {
			t.Errorf("%s %s: %s", c.tool, c.args, diff)
		}
	}
}

func TestAWrittenFileIsANewOneWithTheOldMode(t *testing.T) {
	dir := tree(t, map[string]string{"work/linked.txt": "shared\n", "work/script.sh": "echo\n", "outside/": ""})
	work, other := filepath.Join(dir, "work"), filepath.Join(dir, "outside", "other.txt")
	must(t, os.Link(filepath.Join(work, "linked.txt"), other))
	must(t, os.Chmod(filepath.Join(work, "script.sh"), 0o777))
	s := openWriting(t, work)
	for _, c := range []struct{ tool, args string }{
		{"edit_file", `{"path":"linked.txt","old":"shared","new":"mine"}`},
		{"write_file", `{"path":"script.sh","content":"echo 2\n"}`},
	} {
		if r := ask(t, s, c.tool, c.args); r.End != tool.EndOK {
			t.Fatal(r.Text)
		}
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "shared\n" {
		t.Errorf("the other name of a hard link holds %q, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(work, "script.sh")); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for name := range contents(t, work) {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s was left over", name)
		}
	}
}

func TestWritingIsBounded(t *testing.T) {
	dir := tree(t, map[string]string{"large.txt": strings.Repeat("line\n", 500_000), "many.txt": strings.Repeat("a", 4000), "near.txt": strings.Repeat("b", 2<<20)})
	s := openWriting(t, dir)
	before := contents(t, dir)
	for _, c := range []struct{ tool, args, want string }{
		{"write_file", arguments(t, "path", "x.txt", "content", strings.Repeat("x", 2<<20+1)), "the text has 2097153 bytes, more than the 2097152 that are written at once"},
		{"edit_file", `{"path":"large.txt","old":"line","new":"x"}`, "large.txt has 2500000 bytes, more than the 2097152 that can be edited"},
		{"edit_file", `{"path":"many.txt","old":"a","new":"b","replace_all":true}`, "the old text occurs more than 2000 times in many.txt: give a longer one"},
		{"edit_file", `{"path":"near.txt","old":"` + strings.Repeat("b", 2<<20-1) + `","new":"c","replace_all":true}`, ""},
	} {
		r := ask(t, s, c.tool, c.args)
		if c.want != "" && (r.Text != c.want || r.End != tool.EndFailed) {
			t.Errorf("%s: %s %.200s", c.tool, r.End, r.Text)
		}
		if len(r.Text) > tool.DefaultCap {
			t.Errorf("an answer of %d bytes", len(r.Text))
		}
	}
	after := contents(t, dir)
	delete(before, "near.txt")
	delete(after, "near.txt")
	if !cmp.Equal(before, after) {
		t.Error("a refused call changed something")
	}
}

func TestWritingTakesLittleMemory(t *testing.T) {
	dir := tree(t, map[string]string{
		"lines.txt": strings.Repeat("\n", 2<<20-100) + "end\n", "long.txt": strings.Repeat("x", 2<<20-10) + "end\n",
		"places.txt": strings.Repeat("place"+strings.Repeat("\n", 20), 2000), "huge.txt": strings.Repeat("\n", 32<<20),
	})
	s, highest := openWriting(t, dir), uint64(0)
	for _, c := range []struct{ tool, args, want string }{
		{"edit_file", `{"path":"lines.txt","old":"end","new":"END\nand more"}`, "[no diff: the file has more than 50000 lines]\n"},
		{"edit_file", `{"path":"long.txt","old":"end","new":"END"}`, "[the rest of the diff is left out: it has 4194336 bytes]\n"},
		{"edit_file", `{"path":"places.txt","old":"place","new":"PLACE","replace_all":true}`, "[the rest of the diff is left out: it has 98910 bytes]\n"},
		{"write_file", arguments(t, "path", "huge.txt", "content", strings.Repeat("\n", 2<<20)), "2097152 lines added, 33554432 removed, sha256"},
	} {
		var r tool.Result
		began := time.Now()
		grown := growth(func() { r = ask(t, s, c.tool, c.args) })
		t.Logf("%s: %s, %d MiB", c.tool, time.Since(began).Round(time.Millisecond), grown>>20)
		highest = max(highest, grown>>20)
		if r.End != tool.EndOK || !strings.Contains(r.Text, c.want) {
			t.Errorf("%.60s: %s %.100s … %s", c.args, r.End, r.Text, r.Text[max(0, len(r.Text)-100):])
		}
	}
	measure.Most(t, "tools: MiB by which the heap grows for a write", highest, 64)
}

func TestACancelledWriteChangesNothing(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "old\n"})
	s := openWriting(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []tool.Call{
		{Tool: "write_file", Args: json.RawMessage(`{"path":"a.txt","content":"new\n"}`)},
		{Tool: "edit_file", Args: json.RawMessage(`{"path":"a.txt","old":"old","new":"new"}`)},
	} {
		if _, err := s.Run(ctx, c); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.Tool, err)
		}
	}
	if diff := cmp.Diff(map[string]string{"./": "", "a.txt": "old\n"}, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestWritersOfOneFileDoNotLoseEachOther(t *testing.T) {
	dir := tree(t, map[string]string{"list.txt": "end\n"})
	s := openWriting(t, dir)
	const writers = 20
	done := make(chan string, writers)
	for i := range writers {
		go func() {
			done <- ask(t, s, "edit_file", fmt.Sprintf(`{"path":"list.txt","old":"end","new":"%02d\nend"}`, i)).Text
		}()
	}
	for range writers {
		<-done
	}
	lines := strings.Split(contents(t, dir)["list.txt"], "\n")
	slices.Sort(lines)
	if got := len(slices.Compact(lines)); got != writers+2 {
		t.Errorf("%d of %d lines are there", got-2, writers)
	}
}
