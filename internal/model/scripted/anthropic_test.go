package scripted

import (
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
)

func anthropicClient(s *Server) anthropic.Client {
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(s.AnthropicURL()),
		option.WithAPIKey("key-1"), option.WithMaxRetries(0))
}

var readFile = anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
	Name: "read_file", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}},
}}

func anthropicAsk(said ...anthropic.MessageParam) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-scripted", MaxTokens: 4096, Tools: []anthropic.ToolUnionParam{readFile},
		Thinking: anthropic.ThinkingConfigParamOfEnabled(1024),
		Messages: append([]anthropic.MessageParam{
			anthropic.NewUserMessage(anthropic.NewTextBlock("hello")),
		}, said...),
	}
}

// TestAnthropicSDKReadsTheStream plays two turns with the provider's own SDK. The SDK sends back
// the reply that it gathered from the stream, so seals and ids must survive.
func TestAnthropicSDKReadsTheStream(t *testing.T) {
	s := serve(t, &Script{Rules: []Rule{
		{When: Match{Turn: to(0)}, Reply: Reply{
			Thinking: "Read it first.", Text: "Let me see.", Chunk: 3,
			Calls: []Call{{Tool: "read_file", Args: map[string]any{"path": "ä.md", "n": 3}}},
			Usage: &Usage{Input: 120, Output: 40, CacheRead: 100, CacheWrite: 10, Reasoning: 8},
		}},
		{When: Match{Turn: to(1), Result: `line (\w+)`, Results: to(true)}, Reply: Reply{Text: "It says ${result}."}},
	}}, Options{})
	client := anthropicClient(s)

	stream := client.Messages.NewStreaming(t.Context(), anthropicAsk())
	var message anthropic.Message
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	if len(message.Content) != 3 {
		t.Fatalf("%d blocks, want 3: %s", len(message.Content), message.RawJSON())
	}
	call := message.Content[2].AsToolUse()
	said := []any{
		message.Content[0].AsThinking().Thinking, message.Content[1].AsText().Text, call.Name, string(call.Input),
		string(message.StopReason), message.Usage.InputTokens, message.Usage.OutputTokens,
		message.Usage.CacheReadInputTokens, message.Usage.CacheCreationInputTokens,
		message.Usage.OutputTokensDetails.ThinkingTokens,
	}
	want := []any{
		"Read it first.", "Let me see.", "read_file", `{"n":3,"path":"ä.md"}`, "tool_use",
		int64(10), int64(40), int64(100), int64(10), int64(8),
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Fatalf("gathered (+) against scripted (-):\n%s", diff)
	}

	answer, err := client.Messages.New(t.Context(), anthropicAsk(message.ToParam(), anthropic.NewUserMessage(
		anthropic.NewToolResultBlock(call.ID, "line one", false))))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Content[0].AsText().Text; got != "It says line one." || answer.StopReason != "end_turn" {
		t.Errorf("second turn is %q, stop %s", got, answer.StopReason)
	}
}

func TestAnthropicSDKReadsErrorsModelsAndCounts(t *testing.T) {
	script := example(t, "thinking")
	script.Keys = []string{"key-1"}
	client := anthropicClient(serve(t, script, Options{}))
	models, err := client.Models.List(t.Context(), anthropic.ModelListParams{})
	if err != nil || len(models.Data) != 2 || models.Data[0].ID != "claude-scripted" {
		t.Errorf("models are %+v, %v", models, err)
	}
	count, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{
		Model: "claude-scripted", Messages: anthropicAsk().Messages,
	})
	if err != nil || count.InputTokens != 2 {
		t.Errorf("count is %+v, %v; want 2 for hello", count, err)
	}
	ask := anthropicAsk()
	ask.Model = "claude-unknown"
	_, err = client.Messages.New(t.Context(), ask)
	if e, ok := errors.AsType[*anthropic.Error](err); !ok || e.StatusCode != 404 || e.Type() != "not_found_error" ||
		e.RequestID == "" {
		t.Errorf("error is %v, want 404 not_found_error with a request id", err)
	}
}
