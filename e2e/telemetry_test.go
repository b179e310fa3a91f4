//go:build services

package e2e

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// tracedModel has a sub-agent read a file.
const tracedModel = `
name: traced
rules:
  - name: send
    when: {system: '(?m)^You are the main agent', turn: 0}
    reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Read the file.'}]}}]}
  - {name: read, when: {turn: 0}, reply: {calls: [{tool: read_file, args: {path: a.md}}]}}
  - {name: report, when: {turn: 1, result: 'canary'}, reply: {calls: [{tool: submit_result, args: {summary: 'A bird.'}}]}}
  - {name: answer, when: {turn: 1, result: 'A bird'}, reply: {text: 'It is a bird.'}}
`

// TestTelemetry has the shipped worker report its work to a collector: the agents, model calls and
// tools of a conversation as one trace, without any text.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var raw bytes.Buffer
	var got traces.ExportTraceServiceRequest
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			zipped, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = zipped
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		raw.Write(data)
		if r.URL.Path == "/v1/traces" {
			var one traces.ExportTraceServiceRequest
			if err := proto.Unmarshal(data, &one); err != nil {
				t.Error(err)
			}
			got.ResourceSpans = append(got.ResourceSpans, one.GetResourceSpans()...)
		}
	}))
	t.Cleanup(collector.Close)

	h := newHosted(t, tracedModel)
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	h.env = append(h.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	worker := h.start(t, "worker: ready", "worker", "--workspace", "shop="+filepath.Join(h.dir, "shop"))
	run, _ := h.ask(t, "What is in the file?")
	awaitEnd(t, run, time.Now().Add(patience))
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, worker.Cmd, time.Now().Add(patience))

	mu.Lock()
	defer mu.Unlock()
	parents, names, trails := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, resource := range got.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				names[string(s.GetSpanId())], parents[string(s.GetSpanId())] = s.GetName(), string(s.GetParentSpanId())
				trails[string(s.GetTraceId())] = true
			}
		}
	}
	var below []string
	for id, name := range names {
		below = append(below, names[parents[id]]+" > "+name)
	}
	slices.Sort(below)
	below = slices.Compact(below)
	want := []string{
		" > invoke_agent main", "invoke_agent main > chat strong", "invoke_agent main > invoke_agent researcher",
		"invoke_agent researcher > chat balanced",
		"invoke_agent researcher > execute_tool read_file",
	}
	if diff := cmp.Diff(want, below); diff != "" || len(trails) != 1 {
		t.Errorf("%d traces; what should be below what (-) and what was (+):\n%s", len(trails), diff)
	}
	for _, said := range []string{"canary", "What is in the file", "It is a bird"} {
		if strings.Contains(raw.String(), said) {
			t.Errorf("the collector was told %q", said)
		}
	}
}
