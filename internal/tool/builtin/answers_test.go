package builtin_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// project is a small workspace with one of everything.
var project = map[string]string{
	".git/config":         "[core] needle\n",
	".git/info/exclude":   "local.txt\n",
	".github/ci.yml":      "run: needle\n",
	".gitignore":          "*.log\n/build/\n!keep.log\n",
	"README.md":           "# Title\n\nA needle here.\n",
	"build/out.txt":       "needle\n",
	"crlf.txt":            "one\r\ntwo needle\r\nthree",
	"debug.log":           "needle\n",
	"empty.txt":           "",
	"keep.log":            "needle kept\n",
	"latin1.txt":          "caf\xe9 needle\n",
	"link.md":             "->README.md",
	"local.txt":           "needle\n",
	"logo.png":            "\x89PNG\r\n\x1a\n\x00\x00\x00needle",
	"loop/self":           "->../loop",
	"src/.gitignore":      "gen_*\n",
	"src/gen_a.go":        "// needle\n",
	"src/main.go":         "package main\n\n// first needle\n// between\n// second Needle\nfunc main() {\n\tprintln(\"x\")\n}\n// third needle\n",
	"src/main_test.go":    "package main\n",
	"src/sub/util.go":     "package sub // needle needle\n",
	"src/sub/deep/a.tsx":  "x\n",
	"src/sub/deep/b.json": "{}\n",
	"wide.txt":            strings.Repeat("a", 3000) + "needle" + strings.Repeat("b", 3000) + "\n",
	"hollow/":             "",
}

func TestAnswers(t *testing.T) {
	dir := tree(t, project)
	s := openSet(t, dir)
	var out strings.Builder
	for _, c := range []struct{ tool, args string }{
		{"read_file", `{"path":"src/main.go"}`},
		{"Read", `{"path":"./src/../src/main.go","offset":3,"limit":2}`},
		{"read_file", quote("path", dir+"/README.md")},
		{"read_file", `{"path":"link.md"}`},
		{"read_file", `{"path":"crlf.txt"}`},
		{"read_file", `{"path":"latin1.txt"}`},
		{"read_file", `{"path":"empty.txt"}`},
		{"read_file", `{"path":"logo.png"}`},
		{"read_file", `{"path":"src"}`},
		{"read_file", `{"path":"src/mian.go"}`},
		{"read_file", `{"path":"scr/main.go"}`},
		{"read_file", `{"path":"nothing/like/this"}`},
		{"read_file", `{"path":"README.md","offset":9}`},
		{"read_file", `{"file":"README.md"}`},
		{"LS", `{}`},
		{"list_dir", `{"path":"src/"}`},
		{"list_dir", `{"path":"hollow"}`},
		{"list_dir", `{"path":"README.md"}`},
		{"Glob", `{"pattern":"**"}`},
		{"glob", `{"pattern":"*.go"}`},
		{"glob", `{"pattern":"src/*.go"}`},
		{"glob", `{"pattern":"**/*.{tsx,json}","path":"src"}`},
		{"glob", quote("pattern", dir+"/src/**/*.go")},
		{"glob", `{"pattern":"*","path":"build"}`},
		{"glob", `{"pattern":"*.rs"}`},
		{"glob", `{"pattern":"[a"}`},
		{"glob", `{"pattern":"../*"}`},
		{"Grep", `{"pattern":"needle"}`},
		{"grep", `{"pattern":"NEEDLE$","ignore_case":true,"glob":"*.{go,txt}"}`},
		{"grep", `{"pattern":"needle","path":"src","context":1}`},
		{"grep", `{"pattern":"needle","output":"files"}`},
		{"grep", `{"pattern":"needle","output":"counts","path":"src"}`},
		{"grep", `{"pattern":"needle","path":"debug.log"}`},
		{"grep", `{"pattern":"needle","path":"logo.png"}`},
		{"grep", `{"pattern":"println(\"x\")","literal":true}`},
		{"grep", `{"pattern":"absent"}`},
		{"grep", `{"pattern":"a(?=b)"}`},
		{"grep", `{"pattern":"foo("}`},
		{"think", `{"thought":"hm"}`},
	} {
		r := ask(t, s, c.tool, c.args)
		fmt.Fprintf(&out, "== %s %s: %s\n%s\n", c.tool, c.args, r.End, r.Text)
	}
	golden(t, "answers.golden", strings.ReplaceAll(out.String(), dir, "/workspace"))
}

func TestFactsNameWhatWasRead(t *testing.T) {
	s := openSet(t, tree(t, project))
	fact := func(name string) tool.File {
		sum := sha256.Sum256([]byte(project[name]))
		return tool.File{Path: name, Hash: hex.EncodeToString(sum[:]), Bytes: int64(len(project[name]))}
	}
	for _, c := range []struct {
		tool, args string
		want       []tool.File
	}{
		{"read_file", `{"path":"src/main.go","offset":2,"limit":1}`, []tool.File{fact("src/main.go")}},
		{"grep", `{"pattern":"needle","path":"src"}`, []tool.File{fact("src/main.go"), fact("src/sub/util.go")}},
		{"grep", `{"pattern":"kept","path":"keep.log"}`, []tool.File{fact("keep.log")}},
		{"grep", `{"pattern":"absent"}`, nil},
		{"read_file", `{"path":"logo.png"}`, nil},
	} {
		if diff := cmp.Diff(c.want, ask(t, s, c.tool, c.args).Facts.Read); diff != "" {
			t.Errorf("%s %s: %s", c.tool, c.args, diff)
		}
	}
}

func TestLongAnswersSayHowToGoOn(t *testing.T) {
	files := map[string]string{"long.txt": strings.Repeat("needle\n", 2500), "huge.txt": strings.Repeat(strings.Repeat("x", 199)+"\n", 1000)}
	for i := range 1200 {
		files[fmt.Sprintf("many/file%04d.txt", i)] = "needle\n"
	}
	s := openSet(t, tree(t, files))
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"path":"long.txt"}`, "[lines 1 to 2000 of 2500: go on with offset 2001]\n"},
		{"read_file", `{"path":"long.txt","offset":2001}`, "  2500\tneedle\n"},
		{"read_file", `{"path":"huge.txt"}`, "[lines 1 to 138 of 1000: go on with offset 139]\n"},
		{"list_dir", `{"path":"many"}`, "[700 more: narrow the question with glob]\n"},
		{"glob", `{"pattern":"many/*"}`, "[200 more: narrow the pattern]\n"},
		{"grep", `{"pattern":"needle"}`, "[3500 more matching lines in 1201 files: narrow the pattern, or give path or glob]\n"},
		{"grep", `{"pattern":"needle","path":"many"}`, "[1000 more matching lines in 1000 files: narrow the pattern, or give path or glob]\n"},
		{"grep", `{"pattern":"needle","output":"files"}`, "[201 more files: narrow the pattern, or give path or glob]\n"},
	} {
		r := ask(t, s, c.tool, c.args)
		if !strings.HasSuffix(r.Text, c.want) || r.End != tool.EndOK || r.Whole != "" || strings.Contains(r.Text, "left out here") {
			t.Errorf("%s %s ends %q", c.tool, c.args, r.Text[max(0, len(r.Text)-120):])
		}
	}
}

func TestDefinitionsOfReadingTools(t *testing.T) {
	s := openSet(t, t.TempDir())
	aliases := map[string]string{}
	for _, d := range s.Definitions([]string{"*"}) {
		aliases[d.Name] = strings.Join(d.Aliases, " ")
		if d.Class != chat.ClassPure || d.Writes || d.Network {
			t.Errorf("%s is more than a reading tool: %+v", d.Name, d)
		}
	}
	want := map[string]string{"glob": "Glob", "grep": "Grep", "list_dir": "LS", "read_file": "Read", "think": "", "todo": "TodoWrite"}
	if diff := cmp.Diff(want, aliases); diff != "" {
		t.Error(diff)
	}
}
