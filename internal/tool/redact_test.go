package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestMarksAreNotWritten has a mark in the arguments of a tool that writes, and of one that does
// not.
func TestMarksAreNotWritten(t *testing.T) {
	writes := func(d *tool.Definition) { d.Class, d.Writes = chat.ClassIdempotent, true }
	set := newSet(t, tool.Options{Marked: func(text string) bool { return strings.Contains(text, "[secret:A]") }},
		say("read", speak), say("write", speak, writes))
	for name, want := range map[string]tool.End{"read": tool.EndOK, "write": tool.EndFailed} {
		r, err := set.Run(t.Context(), tool.Call{ID: name, Tool: name, Args: []byte(`{"text":"is [secret:A]"}`)})
		if err != nil || r.End != want {
			t.Errorf("%s: %s %s %v", name, r.End, r.Text, err)
		}
	}
	if r, err := set.Run(t.Context(), tool.Call{Tool: "write", Args: []byte(`{"text":"is [secret:B]"}`)}); err != nil || r.End != tool.EndOK {
		t.Errorf("another mark: %s %v", r.Text, err)
	}
}

// TestResultsAreRedactedBeforeTheyAreCut has a value across the place where a result is cut, and
// one in an error.
func TestResultsAreRedactedBeforeTheyAreCut(t *testing.T) {
	const value = "open-sesame"
	const limit = 300
	set := newSet(t, tool.Options{
		Cap: limit, Redact: func(text string) string { return strings.ReplaceAll(text, value, "[secret]") },
	}, say("say", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: strings.Repeat(value, 200)}, nil
	}), say("fail", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("dial " + value)
	}))
	for _, name := range []string{"say", "fail"} {
		r, err := set.Run(t.Context(), tool.Call{ID: name, Name: name, Tool: name, Args: []byte(`{"text":""}`)})
		if err != nil || strings.Contains(r.Text, "sesame") || strings.Contains(r.Text, "open") || !strings.Contains(r.Text, "[secret") {
			t.Errorf("the model reads %s: %v", r.Text, err)
		}
		if strings.Contains(r.Whole, value) || (name == "say") != (r.Whole != "") {
			t.Errorf("what is kept of %s: %q", name, r.Whole)
		}
	}
}
