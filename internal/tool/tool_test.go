package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// scripted is a tool whose behaviour a test chooses.
type scripted struct {
	definition tool.Definition
	run        func(ctx context.Context, call tool.Call) (tool.Result, error)
}

func (s scripted) Definition() tool.Definition { return s.definition }

func (s scripted) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	return s.run(ctx, call)
}

func say(name string, run func(context.Context, tool.Call) (tool.Result, error), change ...func(*tool.Definition)) tool.Tool {
	d := tool.Definition{
		Name: name, Description: "says what it is told", Class: chat.ClassPure,
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"times":{"type":"integer"}},"required":["text"],"additionalProperties":false}`),
	}
	for _, c := range change {
		c(&d)
	}
	return scripted{definition: d, run: run}
}

func speak(_ context.Context, call tool.Call) (tool.Result, error) {
	var args struct{ Text string }
	err := call.Decode(&args)
	return tool.Result{Text: args.Text, Facts: tool.Facts{Read: []tool.File{{Path: call.Tool}}}}, err
}

func newSet(t *testing.T, o tool.Options, tools ...tool.Tool) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(o, tools...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASetRefusesDefinitionsThatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tool.Definition)
		want   string
	}{
		"name":        {func(d *tool.Definition) { d.Name = "a b" }, `tool name "a b": use up to 64 letters, digits, _ and -`},
		"alias":       {func(d *tool.Definition) { d.Aliases = []string{""} }, `tool name "": use up to 64 letters, digits, _ and -`},
		"alias taken": {func(d *tool.Definition) { d.Aliases = []string{"b"} }, "tool name b belongs to both a and b"},
		"description": {func(d *tool.Definition) { d.Description = " " }, "tool a: tell the model what it does"},
		"class":       {func(d *tool.Definition) { d.Class = "" }, `tool a: "" is no effect class`},
		"pure writer": {func(d *tool.Definition) { d.Writes = true }, "tool a: what writes is not pure"},
		"schema":      {func(d *tool.Definition) { d.Schema = json.RawMessage(`{"type":"array"}`) }, "tool a: the schema must be of type object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tool.NewSet(tool.Options{}, say("a", speak, c.change), say("b", speak))
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestDefinitionsComeInOneOrder(t *testing.T) {
	s := newSet(t, tool.Options{}, say("write", speak), say("read_b", speak), say("read_a", speak, func(d *tool.Definition) { d.Aliases = []string{"Read"} }))
	var names []string
	for _, d := range s.Definitions([]string{"write", "read_*", "Read", "missing"}) {
		names = append(names, d.Name)
	}
	if diff := cmp.Diff([]string{"read_a", "read_b", "write"}, names); diff != "" {
		t.Error(diff)
	}
	if d, ok := s.Find("Read"); !ok || d.Name != "read_a" {
		t.Errorf("Read stands for %q, %v", d.Name, ok)
	}
	if got := s.Definitions(nil); got != nil {
		t.Errorf("a role without tools is offered %v", got)
	}
}

func TestArgumentsAreCheckedBeforeTheToolSeesThem(t *testing.T) {
	s := newSet(t, tool.Options{}, say("say", func(context.Context, tool.Call) (tool.Result, error) {
		t.Error("the tool ran")
		return tool.Result{}, nil
	}))
	const takes = "; it takes text (string, required), times (integer)"
	for _, c := range []struct{ name, args, want string }{
		{"say", `{}`, `the arguments of say do not fit: validating root: required: missing properties: ["text"]` + takes},
		{"say", `{"text":"a","txt":1}`, `the arguments of say do not fit: validating root: unexpected additional properties ["txt"]` + takes},
		{"say", `{"text":5}`, `the arguments of say do not fit: validating root: validating /properties/text: type: 5 has type "integer", want "string"` + takes},
		{"say", `{"text":"a"} {}`, `the arguments of say do not fit: there is more after the first JSON value` + takes},
		{"say", ``, `the arguments of say do not fit: EOF` + takes},
		{"sai", `{}`, `there is no tool "sai" here: call one that you were offered`},
	} {
		got, err := s.Run(t.Context(), tool.Call{Tool: c.name, Args: json.RawMessage(c.args)})
		if diff := cmp.Diff(tool.Result{Text: c.want, End: tool.EndFailed}, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.args, err, diff)
		}
	}
	got, err := s.Run(t.Context(), tool.Call{Tool: "say", Args: json.RawMessage(`{"text":[` + strings.Repeat(`"x",`, 9000) + `"x"]}`)})
	if err != nil || len(got.Text) > 1000 {
		t.Errorf("a complaint of %d bytes: %v", len(got.Text), err)
	}
}

func TestWhateverAToolDoesIsAResult(t *testing.T) {
	quick := func(d *tool.Definition) { d.Timeout = time.Millisecond }
	did := tool.Facts{Commands: []tool.Command{{Line: "x", Exit: 1}}}
	s := newSet(t, tool.Options{},
		say("fine", speak, func(d *tool.Definition) { d.Aliases = []string{"Fine"} }),
		say("panics", func(context.Context, tool.Call) (tool.Result, error) { panic("secret") }),
		say("fails", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("no luck") }),
		say("refuses", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, tool.Refuse("try %s", "b")
		}),
		say("hangs", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}, quick),
		say("says_how", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: "x", End: tool.EndFailed, Facts: did}, nil
		}),
		say("did", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: "lost", Facts: did}, errors.New("no luck")
		}),
		say("late", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{Text: "lost", Facts: did}, ctx.Err()
		}, quick),
		say("quiet", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: " \n"}, nil }),
		say("dirty", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: "a\x00b\xffc"}, nil
		}),
	)
	for name, want := range map[string]tool.Result{
		"Fine":     {Text: "x", End: tool.EndOK, Facts: tool.Facts{Read: []tool.File{{Path: "fine"}}}},
		"panics":   {Text: "panics broke down inside; another call may work", End: tool.EndFailed},
		"fails":    {Text: "no luck", End: tool.EndFailed},
		"refuses":  {Text: "try b", End: tool.EndFailed},
		"hangs":    {Text: "hangs was stopped after 1ms. Ask for less: a smaller folder, a narrower pattern.", End: tool.EndTimedOut},
		"says_how": {Text: "x", End: tool.EndFailed, Facts: did},
		"did":      {Text: "no luck", End: tool.EndFailed, Facts: did},
		"late":     {Text: "late was stopped after 1ms. Ask for less: a smaller folder, a narrower pattern.", End: tool.EndTimedOut, Facts: did},
		"quiet":    {Text: "(no output)", End: tool.EndOK},
		"dirty":    {Text: "a\uFFFDb\uFFFDc", End: tool.EndOK},
	} {
		got, err := s.Run(t.Context(), tool.Call{ID: "1.0", Tool: name, Args: json.RawMessage(`{"text":"x"}`)})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestACancelledCallHasNoResult(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSet(t, tool.Options{}, say("say", func(ctx context.Context, call tool.Call) (tool.Result, error) {
		cancel()
		return speak(ctx, call)
	}))
	got, err := s.Run(ctx, tool.Call{Tool: "say", Args: json.RawMessage(`{"text":"x"}`)})
	if !errors.Is(err, context.Canceled) || !cmp.Equal(got, tool.Result{}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestALongOutputKeepsItsHeadAndTail(t *testing.T) {
	var whole strings.Builder
	for i := range 500 {
		whole.WriteString(strings.Repeat("é", i%7) + " line\n")
	}
	say := say("say", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: whole.String()}, nil })
	call := tool.Call{ID: "3.1", Name: "main#3.1", Tool: "say", Args: json.RawMessage(`{"text":"x"}`)}
	const limit = 1000
	got, err := newSet(t, tool.Options{Cap: limit}, say).Run(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(got.Text, "\n[")
	mark, tail, _ := strings.Cut(rest, "]\n")
	switch {
	case got.Whole != whole.String():
		t.Errorf("the whole is not there: %q", got.Whole)
	case len(got.Text) > limit || !utf8.ValidString(got.Text):
		t.Errorf("%d bytes are over the cap, or broken", len(got.Text))
	case !strings.HasPrefix(whole.String(), head) || !strings.HasSuffix(whole.String(), tail) || len(tail) < limit/5:
		t.Errorf("head or tail is not the text's own:\n%s", got.Text)
	case !strings.HasSuffix(mark, "left out here. The whole is kept: read_file reads it as output:main#3.1."):
		t.Errorf("mark %q", mark)
	}

	call.Name = ""
	lost, err := newSet(t, tool.Options{Cap: limit}, say).Run(t.Context(), call)
	if err != nil || lost.Whole != "" || !strings.Contains(lost.Text, "The rest is not kept: ask for less.") {
		t.Errorf("where nothing is kept: %v %s", err, lost.Text)
	}
}
