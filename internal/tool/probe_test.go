package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// probed is a scripted tool with a probe.
type probed struct {
	scripted
	probe func(ctx context.Context, call tool.Call) (tool.Result, tool.Happened, error)
}

func (p probed) Probe(ctx context.Context, call tool.Call) (tool.Result, tool.Happened, error) {
	return p.probe(ctx, call)
}

func reconcilable(d *tool.Definition) { d.Class = chat.ClassReconcilable }

func withProbe(name string, probe func(context.Context, tool.Call) (tool.Result, tool.Happened, error)) tool.Tool {
	d := say(name, speak, reconcilable).Definition()
	return probed{scripted: scripted{definition: d, run: func(context.Context, tool.Call) (tool.Result, error) {
		panic("a probe runs nothing")
	}}, probe: probe}
}

func TestWhatCanBeReconciledHasAProbe(t *testing.T) {
	_, err := tool.NewSet(tool.Options{}, say("a", speak, reconcilable))
	if want := "tool a: what can be reconciled has a probe"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAProbeAnswersOrSaysThatItCannot(t *testing.T) {
	answer := func(h tool.Happened, err error) func(context.Context, tool.Call) (tool.Result, tool.Happened, error) {
		return func(_ context.Context, call tool.Call) (tool.Result, tool.Happened, error) {
			return tool.Result{Text: "a\x00b", Facts: tool.Facts{Read: []tool.File{{Path: call.Tool}}}}, h, err
		}
	}
	s := newSet(t, tool.Options{},
		withProbe("done", answer(tool.HappenedYes, nil)),
		withProbe("not_done", answer(tool.HappenedNo, nil)),
		withProbe("unsure", answer(tool.HappenedUnknown, nil)),
		withProbe("blind", answer(tool.HappenedYes, errors.New("no disk"))),
		withProbe("panics", func(context.Context, tool.Call) (tool.Result, tool.Happened, error) { panic("secret") }),
		say("no_probe", speak),
	)
	for name, want := range map[string]struct {
		result   tool.Result
		happened tool.Happened
	}{
		"done":     {tool.Result{Text: "a\uFFFDb", End: tool.EndOK, Facts: tool.Facts{Read: []tool.File{{Path: "done"}}}}, tool.HappenedYes},
		"not_done": {tool.Result{}, tool.HappenedNo},
		"unsure":   {tool.Result{}, tool.HappenedUnknown},
		"blind":    {tool.Result{}, tool.HappenedUnknown},
		"panics":   {tool.Result{}, tool.HappenedUnknown},
		"no_probe": {tool.Result{}, tool.HappenedUnknown},
		"missing":  {tool.Result{}, tool.HappenedUnknown},
	} {
		got, happened, err := s.Probe(t.Context(), tool.Call{ID: "1.0", Tool: name, Args: json.RawMessage(`{"text":"x"}`)})
		if diff := cmp.Diff(want.result, got); diff != "" || happened != want.happened || err != nil {
			t.Errorf("%s: %s %v %s", name, happened, err, diff)
		}
	}
	if _, happened, err := s.Probe(t.Context(), tool.Call{Tool: "done", Args: json.RawMessage(`{}`)}); happened != tool.HappenedUnknown || err != nil {
		t.Errorf("arguments that do not fit: %s, %v", happened, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Probe(ctx, tool.Call{Tool: "done", Args: json.RawMessage(`{"text":"x"}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled probe gave %v", err)
	}
}

func TestArgumentsOfOtherProgramsAreUnderstood(t *testing.T) {
	s := newSet(t, tool.Options{}, say("say", func(_ context.Context, call tool.Call) (tool.Result, error) {
		return tool.Result{Text: string(call.Args)}, nil
	}, func(d *tool.Definition) { d.Synonyms = map[string]string{"words": "text", "tone": ""} }))
	const takes = "; it takes text (string, required), times (integer)"
	for args, want := range map[string]string{
		`{"text": "a"}`: `{"text": "a"}`,
		`{"words":"a","times":12345678901234567890}`: `{"text":"a","times":12345678901234567890}`,
		`{"words":"a","tone":{"loud":true}}`:         `{"text":"a"}`,
		`{"words":"a","text":"b"}`:                   "the arguments of say do not fit: text and words are the same argument: give one" + takes,
		`{"words":5}`:                                `the arguments of say do not fit: validating root: validating /properties/text: type: 5 has type "integer", want "string"` + takes,
	} {
		call := tool.Call{ID: "1.0", Tool: "say", Args: json.RawMessage(args)}
		got, err := s.Run(t.Context(), call)
		if got.Text != want || err != nil {
			t.Errorf("%s: %v %s", args, err, got.Text)
		}
		if checked := s.Check(call); (checked == nil) != (got.End == tool.EndOK) {
			t.Errorf("%s: Run and Check differ: %v", args, checked)
		}
	}
	for name, synonyms := range map[string]map[string]string{
		"tool say: text cannot stand for \"times\"": {"text": "times"},
		"tool say: words cannot stand for \"word\"": {"words": "word"},
	} {
		_, err := tool.NewSet(tool.Options{}, say("say", speak, func(d *tool.Definition) { d.Synonyms = synonyms }))
		if err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}
