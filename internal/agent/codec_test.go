package agent_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
)

// TestEventsSurviveRecording writes one event of each type, with every field set, and reads it
// back.
func TestEventsSurviveRecording(t *testing.T) {
	var names []string
	for _, r := range tableRows {
		e := filled(r.make(spot{}))
		data, err := agent.MarshalEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := agent.UnmarshalEvent(data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Errorf("%s (-written +read):\n%s", agent.EventName(e), diff)
		}
		if back.When() != e.When() || e.When() == 0 {
			t.Errorf("%s happened at %d and was read as %d", agent.EventName(e), e.When(), back.When())
		}
		names = append(names, agent.EventName(back))
	}
	slices.Sort(names)
	if diff := cmp.Diff(eventTypes(t), slices.Compact(names)); diff != "" {
		t.Errorf("events read back (-declared +read):\n%s", diff)
	}
}

// TestStatesSurviveStoring does the same with a state: every field that a step may set comes back.
//
// Covers: E-67.
func TestStatesSurviveStoring(t *testing.T) {
	var s agent.State
	n := 0
	setAll(reflect.ValueOf(&s).Elem(), &n)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back agent.State
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Errorf("state (-written +read):\n%s", diff)
	}
}

// filled is an event of the same type with every field set to something.
func filled(e agent.Event) agent.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	n := 0
	setAll(v, &n)
	out, _ := v.Interface().(agent.Event)
	return out
}

// setAll gives every field a value of its own that is not zero.
func setAll(v reflect.Value, n *int) {
	*n++
	switch k := v.Kind(); {
	case k == reflect.Struct:
		for i := range v.NumField() {
			setAll(v.Field(i), n)
		}
	case k == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setAll(v.Elem(), n)
	case k == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		setAll(v.Index(0), n)
		setAll(v.Index(1), n)
	case k == reflect.String:
		v.SetString(fmt.Sprintf("text %d <&> …", *n))
	case k == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(*n))
	default:
		panic("a field of kind " + k.String() + " has no place in an event or a state")
	}
}

// TestBrokenEventsAreErrors reads malformed events.
func TestBrokenEventsAreErrors(t *testing.T) {
	cases := []struct{ name, data, want string }{
		{"nothing", ``, "unmarshal event"},
		{"no JSON", `{"name":"Ticked"`, "unmarshal event"},
		{"a list", `[]`, "unmarshal event"},
		{"no name", `{"event":{}}`, `unknown name ""`},
		{"unknown name", `{"name":"Exploded","event":{}}`, `unknown name "Exploded"`},
		{"other case", `{"name":"ticked","event":{}}`, `unknown name "ticked"`},
		{"no event", `{"name":"Ticked"}`, "unmarshal event Ticked"},
		{"broken event", `{"name":"Said","event":{"seq":"one"}}`, "unmarshal event Said"},
		{"wrong event", `{"name":"Replied","event":{"calls":{}}}`, "unmarshal event Replied"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e, err := agent.UnmarshalEvent([]byte(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) || e != nil {
				t.Errorf("read as %v with error %v, want an error with %q", e, err, c.want)
			}
		})
	}
}

// TestFoldRebuilds records conversations and folds the recorded events: every state and every
// effect is the same again, whether the state was kept in memory or stored as JSON between any two
// steps. No step changes the state that it was given, or one that another step made of it.
//
// Covers: E-08 E-67 E-110 R-017.
func TestFoldRebuilds(t *testing.T) {
	for who, columns := range stages {
		for _, c := range columns {
			t.Run(who+" "+c.name, func(t *testing.T) { foldStage(t, c) })
		}
	}
	t.Run("long", func(t *testing.T) {
		foldStage(t, stage{name: "long", steps: then(orchestratorWorks,
			"resolved 3 answered confidence=40", "routed 5 answer questions=c/1.0.0#2.0", "ended c/1.0.0 completed",
			"done 2.0 ok size=40", "started c/1.0.1", "decided 2.2 allow hash=h4 scope=chat by=ann",
			"started c/1.0.2", "ended c/1.0.1 failed sub_agent_error", "ended c/1.0.2 completed", "done 2.2 ok",
			"started c/2.1.0", "waited c/2.1.0 approval", "waited c/2.1.0", "said 4", "ended c/2.1.0 completed in=50 out=20",
			"started c/2.1.1", "ended c/2.1.1 timed_out", "replied 3 text", "said 5", "replied 4\n  write_file policy=allow",
			"cancel k1 user by=ann", "done 4.0 cancelled", "close by=ann",
		)})
	})
}

// TestStepsShareNothing folds conversations in which long lists lose entries in their middle or at
// their beginning.
//
//
func TestStepsShareNothing(t *testing.T) {
	foldStage(t, stage{name: "notices", steps: []string{
		"begin orchestrator", "said 1", "replied 1\n  spawn reader=a/bg reader=b/bg", "started c/1.0.0", "started c/1.0.1",
		"ended c/1.0.0 completed", "ended c/1.0.1 completed", "replied 2\n  spawn reader=a", "replied 3 text",
	}})
	cancels := []string{"begin orchestrator"}
	for n := range 10 {
		cancels = append(cancels, fmt.Sprintf("said %d", n+1), fmt.Sprintf("cancel r%d user", n), fmt.Sprintf("failed %d cancelled", n+1))
	}
	foldStage(t, stage{name: "cancels", steps: cancels})
}

func foldStage(t *testing.T, c stage) {
	t.Helper()
	played := c.play(t)
	var kept, stored agent.State
	for i, data := range played.record.events {
		e, err := agent.UnmarshalEvent(data)
		if err != nil {
			t.Fatal(err)
		}
		before := mustJSON(t, kept)
		next, effects, err := agent.Step(kept, e)
		if err != nil {
			t.Fatalf("event %d, %s: %v", i+1, agent.EventName(e), err)
		}
		after := mustJSON(t, next)
		for _, r := range tableRows {
			_, _, _ = agent.Step(kept, r.make(spot{State: kept, brief: kept.Brief}))
		}
		if mustJSON(t, kept) != before || mustJSON(t, next) != after {
			t.Errorf("event %d, %s: a step changed a state that is not its own", i+1, agent.EventName(e))
		}
		again, sameEffects, err := agent.Step(stored, e)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(effects, sameEffects, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("event %d, %s: effects (-kept +stored):\n%s", i+1, agent.EventName(e), diff)
		}
		for _, effect := range effects {
			if !played.record.keys[effect.Key()] {
				t.Errorf("event %d, %s: the fold orders %s, the run did not", i+1, agent.EventName(e), effect.Key())
			}
		}
		kept, stored = next, agent.State{}
		if err := json.Unmarshal([]byte(mustJSON(t, again)), &stored); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(played.state, kept); diff != "" {
		t.Errorf("state (-run +fold):\n%s", diff)
	}
	if diff := cmp.Diff(played.state, stored); diff != "" {
		t.Errorf("state (-run +stored):\n%s", diff)
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// eventTypes reads the names of all event types out of event.go.
func eventTypes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok && len(s.Fields.List) > 0 && len(s.Fields.List[0].Names) == 0 {
			if at, ok := s.Fields.List[0].Type.(*ast.Ident); ok && at.Name == "At" {
				names = append(names, spec.Name.Name)
			}
		}
		return true
	})
	slices.Sort(names)
	return names
}
