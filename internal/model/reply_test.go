package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/model"
)

// TestReplies reads whole streams of both protocols into the same reply.
func TestReplies(t *testing.T) {
	cases := []struct{ wire, fixture, want string }{
		{"anthropic", "text", `end msg_01 m-1-20260101 12+5
text "Good day."`},
		{"openai", "text", `end chatcmpl-01 m-1-2026 12+5
text "Good day."`},
		{"anthropic", "tools", `tools msg_02 m-1-20260101 1320+64 read 1000 written 300 reasoning 30
thinking "Two files to look at." sealed anthropic/signature:c2lnbmF0dXJl
thinking "" sealed anthropic/redacted:cmVkYWN0ZWQ=
text "I look."
7.0 read {"path": "a.txt"}
7.1 list {}`},
		{"openai", "tools", `tools chatcmpl-02 m-1-2026 1320+64 read 1000 written 300 reasoning 30
thinking "Two files to look at." sealed openai/field:reasoning_content
text "I look."
7.0 read {"path": "a.txt"}
7.1 list {}`},
	}
	for _, w := range wires {
		for _, c := range cases {
			if c.wire != w.name {
				continue
			}
			t.Run(w.name+"/"+c.fixture, func(t *testing.T) {
				got := show(w.ask(t, request(), answer(w.fixture(t, c.fixture)), nil))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

// TestDeltas hears a reply on its way: in order, every part under its index.
func TestDeltas(t *testing.T) {
	want := map[string][]string{
		"anthropic": {
			`0 thinking "Two files"`, `0 thinking " to look at."`, `2 text "I look."`,
			`3 tool_use read ""`, `3 tool_use "{\"path\": \"a"`, `3 tool_use ".txt\"}"`,
			`4 tool_use list ""`,
		},
		"openai": {
			`0 thinking "Two files"`, `0 thinking " to look at."`, `1 text "I look."`,
			`2 tool_use read ""`, `2 tool_use "{\"path\": \"a"`,
			`3 tool_use list ""`, `3 tool_use "{}"`, `2 tool_use ".txt\"}"`,
		},
	}
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			var got []string
			reply, err := w.ask(t, request(), answer(w.fixture(t, "tools")), func(d model.Delta) {
				words := []string{fmt.Sprint(d.Part), string(d.Kind), d.Tool, fmt.Sprintf("%q", d.Text)}
				got = append(got, strings.Join(strings.Fields(strings.Join(words[:3], " ")), " ")+" "+words[3])
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[w.name], got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if reply.First <= 0 {
				t.Errorf("time to the first delta is %v", reply.First)
			}
		})
	}
}
