//go:build services

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/durable/history"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// TestCodec plays a scenario with everything encoded that crosses the engine. The engine keeps
// nothing that could be read, failures included, and the journal is the one that the scenario
// leaves without.
func TestCodec(t *testing.T) {
	t.Parallel()
	s := readScenarios(t, "testdata/cancel-failed.txtar")[0]
	on, breaks := newStack(t, sqliteStack), &breaks{}
	on.adjust = func(o *app.NodeOptions) { o.Codecs, o.Fault = []durable.Codec{mask{}}, breaks.at }
	on.serve(t)
	st := newStage(t, s, on, 0)
	compare(t, s, st.perform(t))
	runs, err := history.Read(t.Context(), st.node.Client.Engine, st.node.Log, st.ref)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 1 {
		t.Fatalf("%d runs were read, not that of the orchestrator, which carries the others", len(runs))
	}
	names := fieldNames()
	payloads, found := 0, []string{}
	for _, r := range runs {
		payloads += len(r.Payloads())
		checkMasked(t, r, names)
		found = append(found, failuresOf(t, r)...)
	}
	slices.Sort(found)
	if want := []string{legBreak, workflowBreak}; !slices.Equal(found, want) {
		t.Errorf("the failures are %q, not %q", found, want)
	}
	t.Logf("%d payloads, %d failures, %d field names looked for", payloads, len(found), len(names))
}

// TestFieldNamesAreFound shows that the search for field names finds those of what crosses the
// engine.
func TestFieldNamesAreFound(t *testing.T) {
	body, err := json.Marshal(leg.Input{N: 7})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`"ref":`, `"agent":`, `"n":`} {
		if !slices.Contains(fieldNames(), name) || !bytes.Contains(body, []byte(name)) {
			t.Errorf("%s is not looked for, or not in %s", name, body)
		}
	}
}

// mask is a codec whose work is easily seen and undone.
type mask struct{}

const (
	masked  = "binary/masked"
	maskBit = 0x80
)

// Encode implements durable.Codec.
func (mask) Encode(payloads []*durable.Payload) ([]*durable.Payload, error) {
	var out []*durable.Payload
	for _, p := range payloads {
		body, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		out = append(out, &durable.Payload{Metadata: map[string][]byte{"encoding": []byte(masked)}, Data: flipped(body)})
	}
	return out, nil
}

// Decode implements durable.Codec. There is nothing that was not encoded.
func (mask) Decode(payloads []*durable.Payload) ([]*durable.Payload, error) {
	var out []*durable.Payload
	for _, p := range payloads {
		if encoding := string(p.GetMetadata()["encoding"]); encoding != masked {
			return nil, fmt.Errorf("a payload came as %s", encoding)
		}
		plain := &durable.Payload{}
		if err := proto.Unmarshal(flipped(p.GetData()), plain); err != nil {
			return nil, err
		}
		out = append(out, plain)
	}
	return out, nil
}

func flipped(body []byte) []byte {
	out := make([]byte, len(body))
	for i, b := range body {
		out[i] = b ^ maskBit
	}
	return out
}

const (
	legBreak      = "the leg of the orchestrator broke"
	workflowBreak = "the workflow of the orchestrator broke"
)

// breaks makes a leg and a workflow panic once each, where this changes no record, so that the
// engine has failures to keep.
type breaks struct{ leg, workflow sync.Once }

func (b *breaks) at(p host.Point, _ journal.Ref, task string) {
	switch {
	case p == host.PointLegEnd && task == host.Root:
		b.leg.Do(func() { panic(legBreak) })
	case p == host.PointLegStart:
		b.workflow.Do(func() { panic(workflowBreak) })
	}
}

// checkMasked reports whatever of a history can be read.
func checkMasked(t *testing.T, r history.Run, names []string) {
	t.Helper()
	for _, p := range r.Payloads() {
		if encoding := string(p.GetMetadata()["encoding"]); encoding != masked {
			t.Errorf("a payload in the history of %s is %s: %.200q", r.Workflow, encoding, p.GetData())
		}
	}
	body, err := r.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, legBreak, workflowBreak, ".go:", "goroutine") {
		if bytes.Contains(body, []byte(name)) {
			t.Errorf("the history of %s holds %q", r.Workflow, name)
		}
	}
}

// failuresOf are the messages of a history's failures, decoded. Each comes with a stack trace, and
// neither can be read without decoding.
func failuresOf(t *testing.T, r history.Run) []string {
	t.Helper()
	var out []string
	for _, f := range r.Failures() {
		if f.GetServerFailureInfo() != nil {
			continue // the engine's own words, such as UnhandledCommand when a signal comes while a task is answered
		}
		if f.GetMessage() != "Encoded failure" || f.GetStackTrace() != "" || f.GetEncodedAttributes() == nil {
			t.Errorf("a failure in the history of %s can be read: %q %q", r.Workflow, f.GetMessage(), f.GetStackTrace())
			continue
		}
		plain, err := mask{}.Decode([]*durable.Payload{f.GetEncodedAttributes()})
		if err != nil {
			t.Fatal(err)
		}
		var attributes struct {
			Message string `json:"message"`
			Stack   string `json:"stack_trace"`
		}
		if err := json.Unmarshal(plain[0].GetData(), &attributes); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(attributes.Stack, "codec_test.go") {
			t.Errorf("the stack trace of %q is %q", attributes.Message, attributes.Stack)
		}
		out = append(out, attributes.Message)
	}
	return out
}

// fieldNames are those in the JSON of all that crosses the engine, as they stand there.
func fieldNames() []string {
	names, seen := map[string]bool{}, map[reflect.Type]bool{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[leg.Begin](), reflect.TypeFor[leg.BrokenRun](), reflect.TypeFor[leg.Input](),
		reflect.TypeFor[leg.Result](),
	} {
		addFields(names, seen, t)
	}
	var out []string
	for name := range names {
		out = append(out, `"`+name+`":`)
	}
	return out
}

func addFields(names map[string]bool, seen map[reflect.Type]bool, t reflect.Type) {
	if seen[t] {
		return
	}
	seen[t] = true
	if kind := t.Kind(); kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map {
		addFields(names, seen, t.Elem())
		return
	} else if kind != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if !f.Anonymous {
			names[name] = true
		}
		addFields(names, seen, f.Type)
	}
}
