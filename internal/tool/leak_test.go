package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/tool"
)

// TestWhatMustNotLeaveIsRefused calls tools with a value that must not leave in their arguments,
// plain and escaped.
func TestWhatMustNotLeaveIsRefused(t *testing.T) {
	const value = "open-sesame"
	looked, problem := 0, error(nil)
	ran := ""
	note := func(ctx context.Context, call tool.Call) (tool.Result, error) {
		ran = call.Tool
		if leaks := tool.TrafficOf(ctx).Leaks(); (leaks != nil) != (call.Tool != "read") {
			t.Errorf("%s: what it sends is looked at: %t", call.Tool, leaks != nil)
		}
		return tool.Result{Text: "done"}, nil
	}
	set := newSet(t, tool.Options{
		Marked: func(text string) bool { return strings.Contains(text, "[secret:A]") },
		Leaks: func() (func(string) string, error) {
			looked++
			return func(text string) string {
				if strings.Contains(text, value) {
					return "the secret A"
				}
				return ""
			}, problem
		},
	}, say("read", note), say("fetch", note, func(d *tool.Definition) { d.Network = true }),
		say("loose", note, func(d *tool.Definition) { d.Unconfined = true }))
	for _, c := range []struct {
		tool, args string
		runs       bool
	}{
		{"read", `{"text":"open-sesame"}`, true},
		{"fetch", `{"text":"harmless"}`, true},
		{"fetch", `{"text":"say open-sesame"}`, false},
		{"fetch", `{"text":"\u006fpen-sesame"}`, false},
		{"fetch", `{"text":"?key=[secret:A]"}`, false},
		{"loose", `{"text":"harmless"}`, true},
		{"loose", `{"text":"open-sesame"}`, false},
	} {
		ran = ""
		call := tool.Call{ID: "1", Tool: c.tool, Args: []byte(c.args)}
		r, err := set.Run(t.Context(), call)
		if err != nil || (ran == c.tool) != c.runs || (r.End == tool.EndOK) != c.runs || strings.Contains(r.Text, "sesame") {
			t.Errorf("%s %s: %s %q %v", c.tool, c.args, r.End, r.Text, err)
		}
		if checked := set.Check(call); (checked == nil) != c.runs {
			t.Errorf("%s %s: before a person is asked it is %v", c.tool, c.args, checked)
		}
	}
	if looked == 0 {
		t.Error("nobody looked")
	}
	problem = errors.New("the disk is away")
	if r, err := set.Run(t.Context(), tool.Call{ID: "1", Tool: "fetch", Args: []byte(`{"text":"harmless"}`)}); err != nil || r.End != tool.EndFailed {
		t.Errorf("what cannot be looked at left: %s %v", r.Text, err)
	}
}
