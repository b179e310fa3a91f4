package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
)

func TestExamplesAreFine(t *testing.T) {
	for _, name := range Examples() {
		if _, err := New(example(t, name), Options{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := Example("none"); err == nil || !strings.Contains(err.Error(), "demo") {
		t.Errorf("error is %v, want the names there are", err)
	}
}

// loop plays one agent with the real SDK until it stops calling tools or submits.
func loop(t *testing.T, client *anthropic.Client, tools []string, task string, run func(name string, args []byte) string) string {
	var offered []anthropic.ToolUnionParam
	for _, name := range tools {
		offered = append(offered, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: name, InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}},
		}})
	}
	said := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(task))}
	for range 5 {
		m, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{
			Model: "m", MaxTokens: 4096, Messages: said, Tools: offered,
			Thinking: anthropic.ThinkingConfigParamOfEnabled(1024),
		})
		if err != nil {
			t.Error(err)
			return ""
		}
		var results []anthropic.ContentBlockParamUnion
		text := ""
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				text += b.Text
			case "tool_use":
				if b.Name == "submit_result" {
					return string(b.Input)
				}
				results = append(results, anthropic.NewToolResultBlock(b.ID, run(b.Name, b.Input), false))
			}
		}
		if results == nil {
			return text
		}
		said = append(said, m.ToParam(), anthropic.NewUserMessage(results...))
	}
	t.Error("too many turns")
	return ""
}

// TestTheDemo plays an orchestrator and three researchers in parallel.
func TestTheDemo(t *testing.T) {
	s := serve(t, example(t, "demo"), Options{})
	client := anthropicClient(s)
	research := func(task string) string {
		return loop(t, &client, []string{"read_file", "submit_result"}, task, func(_ string, args []byte) string {
			return fmt.Sprintf("All about %s\nand more", args)
		})
	}
	answer := loop(t, &client, []string{"spawn_agents"}, "Compare apples, pears and plums",
		func(_ string, args []byte) string {
			var call struct{ Tasks []struct{ Role, Task string } }
			if err := json.Unmarshal(args, &call); err != nil || len(call.Tasks) != 3 {
				t.Errorf("spawned %s: %v", args, err)
			}
			reports := make([]string, len(call.Tasks))
			var all sync.WaitGroup
			for i, c := range call.Tasks {
				all.Go(func() { reports[i] = research(c.Task) })
			}
			all.Wait()
			return strings.Join(reports, "\n")
		})
	for _, fruit := range []string{"apples", "pears", "plums"} {
		want := fmt.Sprintf(`{"result":"%s: All about {\"path\":\"%s.md\"}"}`, fruit, fruit)
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %s:\n%s", want, answer)
		}
	}
	if m := s.Meter(); m.Requests != 8 || m.Refused != 0 {
		t.Errorf("meter is %+v, want 8 requests and none refused", m)
	}
}

// TestRetries asks again as a careful caller would.
func TestRetries(t *testing.T) {
	s := serve(t, example(t, "retries"), Options{})
	for what, fails := range map[string]int{"limited": 1, "cut": 1, "lost": 2, "fine": 0} {
		body := strings.Replace(helloStream(OpenAI), "hello", what, 1)
		for i := range fails {
			if r := post(t, s, OpenAI, body); r.status == 200 && r.err == nil {
				t.Errorf("%s: attempt %d went through: %s", what, i, r.body)
			}
		}
		if r := post(t, s, OpenAI, body); r.status != 200 || !strings.Contains(r.body, "[DONE]") {
			t.Errorf("%s: after %d failures %d %s", what, fails, r.status, r.body)
		}
	}
}

// TestTheQuestion plays both ways in which an answer can turn out.
func TestTheQuestion(t *testing.T) {
	s := serve(t, example(t, "question"), Options{})
	for result, want := range map[string]string{
		"":           "Which licence",
		"MIT please": "The file carries MIT.",
		"whatever":   "No licence was named, the answer was: whatever",
	} {
		l := line{system: "role: coder", user: "write it", tools: []string{"ask_user", "submit_result"}, result: result}
		if result != "" {
			l.turns = 1
		}
		for _, p := range providers {
			if r := post(t, s, p, l.body(p)); !strings.Contains(r.body, want) {
				t.Errorf("%s: %q gives %s, want %q", p, result, r.body, want)
			}
		}
	}
}
