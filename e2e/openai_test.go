//go:build services

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/retinue-dev/retinue/internal/journal"
)

const plainModel = `
name: plain
rules:
  - {name: answer, when: {role: main, turn: 0}, reply: {chunk: 4, text: 'The sea is salty because rivers carry salt into it.'}}
  - {name: again, when: {role: main}, reply: {text: 'As I said.'}}
`

// sdk is OpenAI's own client.
func (b bridged) sdk(token string, more ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(b.url + "/v1"), option.WithAPIKey(token), option.WithMaxRetries(0),
	}, more...)...)
}

func prompt(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "retinue", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

// extra reads the extension of an answer.
func extra(t *testing.T, raw string) (out struct {
	Conversation, Message, Status string
	Pending                       []struct{ Kind, Text, Approval, Hash, Decide, Question string }
	Agents                        []struct{ Role, Status string }
}) {
	t.Helper()
	var body struct{ Retinue json.RawMessage }
	if err := json.Unmarshal([]byte(raw), &body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body.Retinue, &out); err != nil {
		t.Fatalf("no extension in %s: %v", raw, err)
	}
	return out
}

func TestBridgeOpenAI(t *testing.T) {
	for _, on := range stacks(t, sqliteStack) {
		t.Run(on.name, func(t *testing.T) {
			t.Run("plain", func(t *testing.T) { chatPlain(t, on) })
		})
	}
}

func chatPlain(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-plain", "", plainModel, nil)
	ctx := briefly(t)
	client := b.sdk(adaToken)
	const want = "The sea is salty because rivers carry salt into it."
	whole, err := client.Chat.Completions.New(ctx, prompt("Why is the sea salty?"))
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Choices[0]; got.Message.Content != want || got.FinishReason != "stop" {
		t.Errorf("answer %q, finish %q", got.Message.Content, got.FinishReason)
	}
	if whole.Usage.PromptTokens == 0 || whole.Usage.CompletionTokens == 0 || whole.Usage.TotalTokens != whole.Usage.PromptTokens+whole.Usage.CompletionTokens {
		t.Errorf("usage %+v", whole.Usage)
	}
	_ = journal.Place{}
	_ = errors.New
	_ = http.MethodGet
	_ = strings.Cut
	_ = time.Now
	_ = context.Background
	_ = responses.ResponseNewParams{}
}
