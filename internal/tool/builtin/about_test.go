package builtin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/tool"
)

// TestRulesKnowAFileByEveryWayToIt writes one path in many ways: a rule about the file must not be
// got around by another spelling.
func TestRulesKnowAFileByEveryWayToIt(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []error{
		os.MkdirAll(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, ".env"), nil, 0o600),
		os.Symlink(".env", filepath.Join(dir, "link")), os.Symlink("..", filepath.Join(dir, "sub", "up")),
		os.Symlink("/etc", filepath.Join(dir, "out")),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	set, err := tool.NewSet(tool.Options{}, append(w.Tools(), w.Writing()...)...)
	if err != nil {
		t.Fatal(err)
	}
	about := func(name string, args map[string]any) tool.About {
		body, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return set.About(tool.Call{Tool: name, Args: body})
	}
	for path, want := range map[string]tool.Matter{
		".env": {Forms: []string{".env"}}, "./.env": {Forms: []string{".env"}}, "sub/../.env": {Forms: []string{".env"}},
		dir + "/.env": {Forms: []string{".env"}}, "sub//../.env/": {Forms: []string{".env"}},
		"link": {Forms: []string{"link", ".env"}}, "sub/up/.env": {Forms: []string{"sub/up/.env", ".env"}},
		"new.txt": {Forms: []string{"new.txt"}}, "out/passwd": {Forms: []string{"out/passwd"}, Hidden: true},
		"../x": {Forms: []string{"../x"}, Hidden: true}, "/etc/passwd": {Forms: []string{"/etc/passwd"}, Hidden: true},
	} {
		for name, args := range map[string]map[string]any{
			"read_file": {"path": path}, "Read": {"file_path": path}, "write_file": {"path": path, "content": "x"},
			"Edit": {"file_path": path, "old_string": "a", "new_string": "b"}, "grep": {"path": path, "pattern": "x"},
		} {
			if diff := cmp.Diff([]tool.Matter{want}, about(name, args).Matters); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, path, diff)
			}
		}
	}
	if got := about("list_dir", map[string]any{}); got.Pattern != "." {
		t.Errorf("the top folder is %+v", got)
	}
	if got := about("write_file", map[string]any{"path": 7}); len(got.Matters) != 1 || !got.Matters[0].Hidden {
		t.Errorf("a call that does not fit is about %+v", got)
	}
	for _, path := range []string{"AGENTS.md", "sub/CLAUDE.md", "agents.MD"} {
		want := tool.About{Matters: []tool.Matter{{Forms: []string{path}, Asked: true}}}
		if diff := cmp.Diff(want, about("write_file", map[string]any{"path": path, "content": "x"})); diff != "" {
			t.Errorf("writing %s (-want +got):\n%s", path, diff)
		}
		if got := about("read_file", map[string]any{"path": path}); got.Matters[0].Asked || got.Pattern == "" {
			t.Errorf("reading %s is about %+v", path, got)
		}
	}
	if got := about("think", map[string]any{"thought": "x"}); len(got.Matters) > 0 || got.Pattern != "" {
		t.Errorf("a thought is about %+v", got)
	}
}
