package builtin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/tool"
)

func TestTodoRepeatsTheList(t *testing.T) {
	s := openSet(t, t.TempDir())
	for _, c := range []struct {
		args string
		want tool.Result
	}{
		{
			`{"todos":[{"content":"read","status":"completed","activeForm":"Reading"},{"content":"write\nit","status":"in_progress"},{"content":"test","status":"pending"}]}`,
			tool.Result{End: tool.EndOK, Text: "1. [x] read\n2. [~] write it\n3. [ ] test\n2 of 3 are open.\n"},
		},
		{`{"todos":[]}`, tool.Result{End: tool.EndOK, Text: "The list is empty.\n"}},
	} {
		if diff := cmp.Diff(c.want, ask(t, s, "TodoWrite", c.args)); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
	for _, args := range []string{
		`{}`, `{"todos":[{"content":"a"}]}`, `{"todos":[{"content":"","status":"pending"}]}`, `{"todos":[{"content":"a","status":"done"}]}`,
		`{"todos":[` + strings.Repeat(`{"content":"a","status":"pending"},`, 100) + `{"content":"a","status":"pending"}]}`,
	} {
		if r := ask(t, s, "todo", args); r.End != tool.EndFailed {
			t.Errorf("%.80s: %s", args, r.Text)
		}
	}
}
