//go:build linux

package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/telemetry"
	"github.com/retinue-dev/retinue/internal/tool"
)

// collector keeps the spans that it is sent.
type collector struct {
	mu    sync.Mutex
	spans map[string]map[string]string
	fault error
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path != "/v1/traces" {
		return
	}
	text, err := io.ReadAll(r.Body)
	var request traces.ExportTraceServiceRequest
	c.fault = errors.Join(c.fault, err, proto.Unmarshal(text, &request))
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				about := map[string]string{}
				for _, a := range span.GetAttributes() {
					about[a.GetKey()] = a.GetValue().GetStringValue()
				}
				c.spans[span.GetName()+" "+about["gen_ai.tool.call.id"]+about["gen_ai.response.id"]] = about
			}
		}
	}
}

// observed has something observed, and returns the spans that a collector got.
func observed(t *testing.T, watch func(observer)) map[string]map[string]string {
	t.Helper()
	c := &collector{spans: map[string]map[string]string{}}
	server := httptest.NewServer(c)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL) // the exporters read it themselves
	tracer, err := telemetry.Open(t.Context(), telemetry.Options{Content: true, Lookup: func(name string) (string, bool) {
		if name != "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return "", false
		}
		return server.URL, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	watch(observer{tracer: tracer, redact: func(text string) string { return strings.ReplaceAll(text, "kanarienvogel", "***") }})
	if err := closeTracer(tracer); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != nil {
		t.Fatal(c.fault)
	}
	return c.spans
}

// TestCollectorsLearnWithoutSecrets observes a leg with calls of models and tools that have a
// secret in them, and that fail in different ways.
func TestCollectorsLearnWithoutSecrets(t *testing.T) {
	run := host.RunRef{Ref: journal.Ref{Tenant: "acme", Conversation: "c"}, Agent: "main/1.0.0", Task: "main/1.0.0"}
	secret := []chat.Part{{Kind: chat.PartText, Text: "my key is kanarienvogel"}}
	spans := observed(t, func(o observer) {
		ctx, end := o.Leg(t.Context(), run, host.StageFirst)
		request := model.Request{Model: "shop/quick", Transcript: chat.Transcript{{Speaker: chat.User, Parts: secret}}}
		_, replied := o.Model(ctx, run, request)
		replied(model.Reply{Model: "quick-1", ID: "r1", Stop: model.StopEnd, Parts: secret}, nil)
		_, replied = o.Model(ctx, run, model.Request{Model: "plain"})
		replied(model.Reply{ID: "r2"}, &model.Error{Kind: chat.KindRateLimit})
		call := func(ctx context.Context, id string, r tool.Result, err error) {
			_, returned := o.Tool(ctx, run, agent.RunTool{Call: id, Tool: "shell"}, chat.Part{Args: `{"command":"echo kanarienvogel"}`})
			returned(r, err)
		}
		call(ctx, "fine", tool.Result{Text: "kanarienvogel", End: tool.EndOK}, nil)
		call(ctx, "ended", tool.Result{End: tool.EndTimedOut}, nil)
		call(ctx, "broken", tool.Result{}, &chat.Error{Code: chat.CodeDenied})
		gone, cancel := context.WithCancel(ctx)
		cancel()
		call(gone, "gone", tool.Result{End: tool.EndOK}, nil)
		end("researcher", &chat.Error{Code: chat.CodeConflict})
	})
	all, err := json.Marshal(spans)
	if err != nil || strings.Contains(string(all), "kanarienvogel") || strings.Count(string(all), "***") < 4 {
		t.Errorf("a secret is shown, or what is beside it is not: %s, %v", all, err)
	}
	faults, tellers := map[string]string{}, map[string]string{}
	for name, about := range spans {
		faults[name] = about["error.type"]
		if provider := about["gen_ai.provider.name"]; provider != "" {
			tellers[name] = provider
		}
		if about["retinue.tenant.id"] != "acme" || about["gen_ai.conversation.id"] != "c" || about["retinue.agent.path"] != "main/1.0.0" {
			t.Errorf("%s is about %v", name, about)
		}
	}
	want := map[string]string{
		"invoke_agent researcher ": "conflict", "chat quick r1": "", "chat plain r2": "rate_limit", "execute_tool shell fine": "",
		"execute_tool shell ended": "timed_out", "execute_tool shell broken": "denied", "execute_tool shell gone": "cancelled",
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("spans and their faults (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"chat quick r1": "shop"}, tellers); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

// TestNothingIsObservedWithoutACollector has nobody listen.
func TestNothingIsObservedWithoutACollector(t *testing.T) {
	o := observer{redact: func(text string) string { return text }}
	ctx, end := o.Leg(t.Context(), host.RunRef{}, host.StageLater)
	end("main", nil)
	if ctx != t.Context() || closeTracer(nil) != nil {
		t.Error("somebody listens")
	}
	if got := o.spoken(func() {}); got != "" {
		t.Errorf("what is no JSON is %q", got)
	}
	if got := o.spoken(slices.Repeat([]int{7}, 2)); got != "[7,7]" {
		t.Errorf("two numbers are %q", got)
	}
}
