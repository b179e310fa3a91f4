package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// found are the rows of some keys.
func (s *stand) found(keys ...string) (out []journal.Row) {
	s.Helper()
	entries, err := s.Host.Log.Find(s.Context(), s.run.Ref, keys...)
	if err != nil {
		s.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Row)
	}
	return out
}

// done is the event of the call 1.0 for the core.
func (s *stand) done(result agent.ToolResult) agent.ToolDone {
	return agent.ToolDone{At: s.At(), Call: "1.0", Result: result}
}

// TestRunApproved runs a call that a person allowed, and one that nobody did.
func TestRunApproved(t *testing.T) {
	s := newStand(t)
	p := s.permit("put", atPlums)
	refused := s.done(agent.ToolDenied)
	refused.Reason = agent.DeniedUnapproved
	s.same("without a yes", End{Event: refused}, s.RunApproved(t.Context(), p))
	s.same("the calls that ran without one", []string(nil), s.ran)
	s.same("what is on record of it", []journal.Row(nil), s.found(p.Started("w").Key()))

	p.Run.Approved = true
	s.approve(p, agent.ScopeOnce)
	ok := s.done(agent.ToolOK)
	ok.Tokens = 2
	s.same("with a yes", End{Event: ok, Rows: []journal.Row{
		journal.ToolReturned{In: p.In(), Call: "1.0", Status: journal.CallCompleted, Text: "done"},
	}}, s.RunApproved(t.Context(), p))
	s.same("the calls that ran", []string{"put " + atPlums}, s.ran)
	s.same("its beginning", []journal.Row{
		journal.ToolStarted{In: p.In(), Call: "1.0", Attempt: 1, Worker: "w", Class: string(chat.ClassIdempotent)},
	}, s.found(p.Started("w").Key()))
}

// TestRunOnce has two workers reach the same call, one after another: it runs once, with or without
// a probe of its tool.
func TestRunOnce(t *testing.T) {
	ran := tool.Result{Text: "built before", Facts: tool.Facts{Read: []tool.File{{Path: "vendor/a", Hash: "1"}}}}
	for name, c := range map[string]struct {
		tool     string
		happened tool.Happened
		recorded *journal.ToolReturned
		result   agent.ToolResult
		rows     int
		runs     int
	}{
		"nobody knows":                 {tool: "ring", result: agent.ToolIndeterminate, runs: 1},
		"its tool does not know":       {tool: "build", happened: tool.HappenedUnknown, result: agent.ToolIndeterminate, runs: 1},
		"its tool says that it did":    {tool: "build", happened: tool.HappenedYes, result: agent.ToolOK, rows: 2, runs: 1},
		"its tool says that it didn't": {tool: "build", happened: tool.HappenedNo, result: agent.ToolOK, rows: 1, runs: 2},
		"its result is on record": {
			tool: "build", happened: tool.HappenedNo, recorded: &journal.ToolReturned{Status: journal.CallCompleted, Text: "done"}, result: agent.ToolOK, runs: 1,
		},
		"its failure is on record": {
			tool: "build", happened: tool.HappenedNo, recorded: &journal.ToolReturned{Status: journal.CallFailed, Text: "no"}, result: agent.ToolFailed, runs: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.policy[c.tool] = agent.PolicyAllow
			var points []Point
			s.Fault = func(point Point, _ journal.Ref, _ string) { points = append(points, point) }
			p := s.permit(c.tool, atPlums)
			first, _ := s.RunOnce(t.Context(), p).Event.(agent.ToolDone)
			s.same("the first result", agent.ToolOK, first.Result)
			s.same("the points it came to", []Point{PointOnceStarted, PointToolRun, PointToolRan, PointOnceRan}, points)
			if c.recorded != nil {
				c.recorded.In, c.recorded.Call = p.In(), "1.0"
				c.recorded.Facts = json.RawMessage(`{"read":[{"path":"a","hash":"1"}]}`)
				s.record(*c.recorded)
			}
			s.happened, s.told = c.happened, ran
			end := s.RunOnce(t.Context(), p)
			done, _ := end.Event.(agent.ToolDone)
			s.same("the second result", c.result, done.Result)
			if end.Err != nil || len(end.Rows) != c.rows || len(s.ran) != c.runs {
				t.Errorf("%v, %d rows, ran %v; want %d rows and %d runs", end.Err, len(end.Rows), s.ran, c.rows, c.runs)
			}
			if c.happened == tool.HappenedYes {
				s.same("where it comes from", agent.Taint{{Kind: agent.SourceFile, Name: "vendor/a"}}, done.Taint)
			}
			if c.recorded != nil && done.Facts != 1 {
				t.Errorf("the core is told of %d facts, want the one on record", done.Facts)
			}
		})
	}
}

// TestResults compares the outcome of each kind of result: the text for the model, the row and the
// event for the core.
func TestResults(t *testing.T) {
	read := tool.Facts{Read: []tool.File{{Path: "a", Hash: "1", Bytes: 3}}}
	const facts = `{"read":[{"path":"a","hash":"1","bytes":3}]}`
	picture := tool.Image{Type: "image/png", Data: []byte{1, 2, 3}}
	kept := journal.HashOf("data:image/png;base64,AQID")
	for name, c := range map[string]struct {
		give   tool.Result
		fails  error
		edited bool
		want   journal.ToolReturned
		result agent.ToolResult
		facts  int
	}{
		"a text":         {give: tool.Result{Text: "done"}, want: journal.ToolReturned{Status: journal.CallCompleted, Text: "done"}, result: agent.ToolOK},
		"with facts":     {give: tool.Result{Text: "done", Facts: read}, want: journal.ToolReturned{Status: journal.CallCompleted, Text: "done", Facts: json.RawMessage(facts)}, result: agent.ToolOK, facts: 1},
		"a picture":      {give: tool.Result{Text: "a picture", Images: []tool.Image{picture}}, want: journal.ToolReturned{Status: journal.CallCompleted, Text: "a picture", Images: []string{kept}}, result: agent.ToolOK},
		"cut, and kept":  {give: tool.Result{Text: "do…", Whole: "done and done"}, want: journal.ToolReturned{Status: journal.CallCompleted, Text: "do…", Whole: journal.HashOf("done and done")}, result: agent.ToolOK},
		"a refusal":      {fails: tool.Refuse("no plums"), want: journal.ToolReturned{Status: journal.CallFailed, Text: "no plums"}, result: agent.ToolFailed},
		"out of time":    {give: tool.Result{Text: "half of it", End: tool.EndTimedOut, Facts: read}, want: journal.ToolReturned{Status: journal.CallTimedOut, Text: "half of it", Facts: json.RawMessage(facts)}, result: agent.ToolTimedOut, facts: 1},
		"of other words": {give: tool.Result{Text: "done"}, edited: true, want: journal.ToolReturned{Status: journal.CallCompleted, Text: agent.EditedText(atPlums) + "\n\ndone"}, result: agent.ToolOK},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.give, s.met = c.give, func(tool.Call) error { return c.fails }
			p := s.permit("look", atPlums)
			p.Run.Edited = c.edited
			end := s.RunTool(t.Context(), p)
			c.want.In, c.want.Call = p.In(), "1.0"
			s.same("the rows", []journal.Row{c.want}, end.Rows)
			done := s.done(c.result)
			done.Facts, done.Tokens = c.facts, tool.Result{Text: c.want.Text, Images: c.give.Images}.Tokens()
			s.same("what the core is told", agent.Event(done), end.Event)
			for _, hash := range append(c.want.Images, c.want.Whole) {
				if _, err := s.Text(t.Context(), p.Ref, hash); hash != "" && err != nil {
					t.Errorf("%s is not kept: %v", hash, err)
				}
			}
		})
	}
}

// TestImagesComeBack keeps a picture and reads it again; a text is no picture.
func TestImagesComeBack(t *testing.T) {
	s := newStand(t)
	hashes, err := s.keepImages(t.Context(), s.run.Ref, []tool.Image{{Type: "image/png", Data: []byte("pixels")}})
	if err != nil || len(hashes) != 1 {
		t.Fatal(hashes, err)
	}
	img, err := s.Image(t.Context(), s.run.Ref, hashes[0])
	if err != nil || img.MediaType != "image/png" || string(img.Data) != "pixels" {
		t.Errorf("%+v %v", img, err)
	}
	_, err = s.Image(t.Context(), s.run.Ref, s.brief.RoleHash)
	s.refusal("a text", err, "image "+s.brief.RoleHash+" is kept in a form that is not known")
	if _, err := s.Image(t.Context(), s.run.Ref, "nothing"); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("what is not kept: %v", err)
	}
}

// TestOutOfTimeWithoutFacts has a tool that ran out of time and knows nothing: the core writes the
// text for the model.
func TestOutOfTimeWithoutFacts(t *testing.T) {
	s := newStand(t)
	s.give = tool.Result{Text: "half", End: tool.EndTimedOut}
	s.same("the end", End{Event: s.done(agent.ToolTimedOut)}, s.RunTool(t.Context(), s.permit("look", atPlums)))
}

// TestCancelledCalls ends the context before, and in the middle of, a call: nothing is recorded of
// its result.
func TestCancelledCalls(t *testing.T) {
	s := newStand(t)
	s.policy["put"] = agent.PolicyAllow
	ctx, cancel := context.WithCancel(t.Context())
	s.met = func(tool.Call) error { cancel(); return nil }
	s.same("in the middle", End{Event: s.done(agent.ToolCancelled)}, s.RunTool(ctx, s.permit("put", atPlums)))
	s.same("before", End{Event: s.done(agent.ToolCancelled)}, s.RunOnce(ctx, s.permit("put", atPlums)))
	s.same("the calls that ran", []string{"put " + atPlums}, s.ran)
}

// TestToolsThatCannotBeFound has no tools where the agent works. The message about it holds no
// secret.
func TestToolsThatCannotBeFound(t *testing.T) {
	s := newStand(t)
	p := s.permit("put", atPlums)
	s.Tools = nowhere{}
	s.same("the rows", []journal.Row{journal.ToolReturned{
		In: p.In(), Call: "1.0", Status: journal.CallFailed, Text: "The tool could not be run: no folder for [secret]",
	}}, s.RunTool(t.Context(), p).Rows)
}

// TestWhatACallMeets has a tool follow a link that rules deny, and then reach a host, which is on
// record before it is reached.
func TestWhatACallMeets(t *testing.T) {
	s := newStand(t)
	p := s.permit("look", atPlums)
	reached := journal.HostReached{In: p.In(), Call: "1.0", Host: "example.com", Port: 443}
	ask := func(policy agent.Policy, approved, want bool) {
		s.policy["look"], p.Run.Approved = policy, approved
		s.met = func(call tool.Call) error {
			may, err := call.May(tool.About{})
			if may != want || err != nil {
				t.Errorf("under %q, approved %t: %t, %v", policy, approved, may, err)
			}
			s.same("the caller's id", "c/main#1.0 main#1.0", call.ID+" "+call.Name)
			return call.Reach(t.Context(), "example.com", 443)
		}
		s.RunTool(t.Context(), p)
	}
	ask(agent.PolicyAllow, false, true)
	ask(agent.PolicyUnset, true, true)
	ask(agent.PolicyUnset, false, false)
	ask(agent.PolicyAsk, true, false)
	ask(agent.PolicyDeny, true, false)
	s.same("what is on record", []journal.Row{reached}, s.found(reached.Key()))
}

// TestPatiently repeats a step that fails for now, and tries a refused one once.
func TestPatiently(t *testing.T) {
	s := newStand(t)
	for name, c := range map[string]struct {
		err   error
		tries int
	}{
		"refused":     {err: &chat.Error{Code: chat.CodeConflict}, tries: 1},
		"unavailable": {err: fmt.Errorf("append: %w", &chat.Error{Code: chat.CodeUnavailable}), tries: 3},
		"unknown":     {err: errors.New("disk"), tries: 3},
	} {
		tries := 0
		err := s.Patiently(t.Context(), func() error {
			if tries++; tries == c.tries && c.tries > 1 {
				return nil
			}
			return c.err
		})
		if tries != c.tries || (err == nil) != (c.tries > 1) {
			t.Errorf("%s: %d tries, %v", name, tries, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := s.Patiently(ctx, func() error { tries++; cancel(); return errors.New("disk") })
	if tries != 1 || err == nil {
		t.Errorf("after its end: %d tries, %v", tries, err)
	}
}

// nowhere has tools for nobody.
type nowhere struct{}

func (nowhere) Tools(Workspace, string) (*tool.Set, error) {
	return nil, errors.New("no folder for hunter2")
}
