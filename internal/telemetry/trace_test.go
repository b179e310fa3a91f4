package telemetry_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/retinue-dev/retinue/internal/telemetry"
)

// collector takes traces, as a real one does.
type collector struct {
	mu      sync.Mutex
	spans   []*spans.Span
	metrics []string
	text    strings.Builder
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		zipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = zipped
	}
	data, err := io.ReadAll(body)
	c.text.Write(data)
	switch r.URL.Path {
	case "/v1/traces":
		var request traces.ExportTraceServiceRequest
		err = errors.Join(err, proto.Unmarshal(data, &request))
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	case "/v1/metrics":
		var request metrics.ExportMetricsServiceRequest
		err = errors.Join(err, proto.Unmarshal(data, &request))
		for _, resource := range request.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					c.metrics = append(c.metrics, m.GetName())
				}
			}
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// told plays a talk with a sub-agent and returns the data that a collector received.
func told(t *testing.T, content bool) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	open := func() *telemetry.Tracer { // each process has one of its own
		tracer, err := telemetry.Open(t.Context(), telemetry.Options{Version: "1", Content: content, Lookup: os.LookupEnv})
		if err != nil || tracer == nil {
			t.Fatal(tracer, err)
		}
		return tracer
	}
	one, two := open(), open()
	root := telemetry.Agent{Tenant: "t", Conversation: "c", Path: "main", Task: "main", First: true}
	ctx, end := one.Agent(t.Context(), root)
	_, replied := one.Chat(ctx, root, telemetry.Chat{Provider: "demo", Model: "fast", MaxTokens: 9, Input: func() string { return "said-canary" }})
	replied(telemetry.ChatEnd{
		Model: "fast-1", ID: "r1", Stop: "tools", InputTokens: 10, OutputTokens: 5, CacheRead: 3, CacheWrite: 2,
		Output: func() string { return "reply-canary" },
	})
	end("main", "")
	child := telemetry.Agent{Tenant: "t", Conversation: "c", Path: "main/1.0.0", Task: "main/1.0.0", Depth: 1, First: true}
	ctx, end = two.Agent(t.Context(), child)
	_, done := two.Call(ctx, child, telemetry.Call{Tool: "read_file", ID: "1.0", Arguments: "argument-canary"})
	done(telemetry.CallEnd{Fault: "failed", Result: "result-canary"})
	end("researcher", "")
	root.First = false
	_, end = two.Agent(t.Context(), root)
	end("main", "unavailable")
	for _, tracer := range []*telemetry.Tracer{one, two} {
		if err := tracer.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func attributesOf(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		if out[a.GetKey()] = a.GetValue().GetStringValue(); out[a.GetKey()] == "" {
			out[a.GetKey()] = strconv.FormatInt(a.GetValue().GetIntValue(), 10)
		}
	}
	return out
}

func TestACollectorHearsWhatAgentsDo(t *testing.T) {
	c := told(t, false)
	byName := map[string][]*spans.Span{}
	for _, s := range c.spans {
		byName[s.GetName()] = append(byName[s.GetName()], s)
	}
	var names []string
	for name, list := range byName {
		names = append(names, name)
		for _, s := range list {
			if string(s.GetTraceId()) != string(c.spans[0].GetTraceId()) {
				t.Errorf("%s is in another trace", name)
			}
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"chat fast", "execute_tool read_file", "invoke_agent main", "invoke_agent researcher"}, names); diff != "" {
		t.Fatal(diff)
	}
	first, later := byName["invoke_agent main"][0], byName["invoke_agent main"][1]
	if len(first.GetParentSpanId()) > 0 {
		first, later = later, first
	}
	for name, list := range map[string][]*spans.Span{
		"chat": byName["chat fast"], "the other agent": byName["invoke_agent researcher"], "the later leg": {later},
	} {
		if string(list[0].GetParentSpanId()) != string(first.GetSpanId()) {
			t.Errorf("%s is not below the agent", name)
		}
	}
	if string(byName["execute_tool read_file"][0].GetParentSpanId()) != string(byName["invoke_agent researcher"][0].GetSpanId()) {
		t.Error("the tool is not below its agent")
	}
	want := map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "demo",
		"gen_ai.request.model": "fast", "gen_ai.request.max_tokens": "9",
		"gen_ai.response.model": "fast-1", "gen_ai.response.id": "r1",
		"gen_ai.usage.input_tokens": "10", "gen_ai.usage.output_tokens": "5",
		"gen_ai.usage.cache_read.input_tokens": "3", "gen_ai.usage.cache_write.input_tokens": "2",
		"gen_ai.conversation.id": "c", "gen_ai.agent.id": "main",
		"retinue.agent.path": "main", "retinue.agent.depth": "0", "retinue.task.id": "main",
		"retinue.tenant.id": "t",
	}
	got := attributesOf(byName["chat fast"][0].GetAttributes())
	delete(got, "gen_ai.response.finish_reasons")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	slices.Sort(c.metrics)
	if diff := cmp.Diff([]string{"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}, slices.Compact(c.metrics)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasSaidIsLeftOut(t *testing.T) {
	for name, content := range map[string]bool{"by default": false, "where it is wanted": true} {
		t.Run(name, func(t *testing.T) {
			text := told(t, content)
			for _, canary := range []string{"said-canary", "reply-canary", "argument-canary", "result-canary"} {
				if strings.Contains(text.text.String(), canary) != content {
					t.Errorf("%s: found is not %v", canary, content)
				}
			}
		})
	}
}

func TestNothingIsSentUnlessAskedFor(t *testing.T) {
	for name, test := range map[string]struct {
		env    map[string]string
		tracer bool
		fails  string
	}{
		"nothing":          {},
		"disabled":         {env: map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		"none":             {env: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		"an endpoint":      {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, tracer: true},
		"traces only":      {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, tracer: true},
		"unknown exporter": {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, fails: "use otlp or none"},
		"unknown protocol": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, fails: "use http/protobuf"},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, err := telemetry.Open(t.Context(), telemetry.Options{
				Lookup: func(name string) (string, bool) { value, ok := test.env[name]; return value, ok },
			})
			if (tracer != nil) != test.tracer || (err == nil) != (test.fails == "") || (err != nil && !strings.Contains(err.Error(), test.fails)) {
				t.Errorf("%v %v", tracer, err)
			}
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = tracer.Close(ended) // nobody listens
			if tracer == nil {
				ctx, end := tracer.Agent(t.Context(), telemetry.Agent{})
				end("", "")
				_, replied := tracer.Chat(ctx, telemetry.Agent{}, telemetry.Chat{})
				replied(telemetry.ChatEnd{})
			}
		})
	}
}
