package scripted

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func openaiClient(s *Server) openai.Client {
	return openai.NewClient(option.WithBaseURL(s.OpenAIURL()), option.WithAPIKey("key-1"), option.WithMaxRetries(0))
}

func openaiAsk(said ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "gpt-scripted",
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(
			openai.FunctionDefinitionParam{Name: "read_file", Parameters: openai.FunctionParameters{"type": "object"}})},
		Messages: append([]openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("role: coder"), openai.UserMessage("hello"),
		}, said...),
	}
}

// TestOpenAISDKReadsTheStream plays two turns with the provider's own SDK, which sends back the
// reply that it gathered from the stream.
func TestOpenAISDKReadsTheStream(t *testing.T) {
	s := serve(t, &Script{Rules: []Rule{
		{When: Match{Turn: to(0), Role: "coder"}, Reply: Reply{
			Text: "Let me see.", Chunk: 3,
			Calls: []Call{
				{Tool: "read_file", Args: map[string]any{"path": "ä.md", "n": 3}},
				{Tool: "read_file", Raw: `{"path":"b.md"}`},
			},
			Usage: &Usage{Input: 120, Output: 40, CacheRead: 100, CacheWrite: 10, Reasoning: 8},
		}},
		{When: Match{Turn: to(1), Result: `line (\w+)`}, Reply: Reply{Text: "It says ${result}."}},
	}}, Options{})
	client := openaiClient(s)

	params := openaiAsk()
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	var usage openai.CompletionUsage
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatal("the SDK refused a chunk")
		}
		usage = stream.Current().Usage
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	choice := acc.Choices[0]
	said := []any{
		choice.Message.Content, choice.FinishReason, usage.PromptTokens, usage.CompletionTokens,
		usage.PromptTokensDetails.CachedTokens, usage.PromptTokensDetails.CacheWriteTokens,
		usage.CompletionTokensDetails.ReasoningTokens,
	}
	var results []openai.ChatCompletionMessageParamUnion
	for i, c := range choice.Message.ToolCalls {
		said = append(said, c.Function.Name, c.Function.Arguments)
		results = append(results, openai.ToolMessage([]string{"line one", "line two"}[i], c.ID))
	}
	want := []any{
		"Let me see.", "tool_calls", int64(120), int64(40), int64(100), int64(10), int64(8),
		"read_file", `{"n":3,"path":"ä.md"}`, "read_file", `{"path":"b.md"}`,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Fatalf("gathered (+) against scripted (-):\n%s", diff)
	}

	answer, err := client.Chat.Completions.New(t.Context(),
		openaiAsk(append([]openai.ChatCompletionMessageParamUnion{choice.Message.ToParam()}, results...)...))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Choices[0].Message.Content; got != "It says line one\nline two." {
		t.Errorf("second turn is %q", got)
	}
}

func TestOpenAISDKReadsErrorsAndModels(t *testing.T) {
	client := openaiClient(serve(t, example(t, "thinking"), Options{}))
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) != 2 || models.Data[1].ID != "gpt-scripted" {
		t.Errorf("models are %+v, %v", models, err)
	}
	ask := openaiAsk()
	ask.Model = "gpt-unknown"
	_, err = client.Chat.Completions.New(t.Context(), ask)
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 404 || e.Code != "model_not_found" {
		t.Errorf("error is %v, want 404 model_not_found", err)
	}
}

// TestReasoningContent shows thinking as vLLM and DeepSeek do, which the SDK keeps as an extra
// field.
func TestReasoningContent(t *testing.T) {
	client := openaiClient(serve(t, example(t, "thinking"), Options{}))
	stream := client.Chat.Completions.NewStreaming(t.Context(), openaiAsk())
	thinking := ""
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			thinking += c.Delta.JSON.ExtraFields["reasoning_content"].Raw()
		}
	}
	if want := `"The user"" greets."" A greet""ing back"" is enou""gh."`; thinking != want || stream.Err() != nil {
		t.Errorf("thinking is %s, %v; want %s", thinking, stream.Err(), want)
	}
}
