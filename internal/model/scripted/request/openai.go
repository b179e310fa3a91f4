package request

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// openaiRequest is what the Chat Completions API is sent.
type openaiRequest struct {
	Model         string          `json:"model"`
	Messages      []openaiTurn    `json:"messages"`
	Tools         []openaiTool    `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	MaxTokens     *int64          `json:"max_tokens"`
	MaxCompletion *int64          `json:"max_completion_tokens"`
	Stream        bool            `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type openaiTurn struct {
	Role       string  `json:"role"`
	Content    content `json:"content"`
	Refusal    *string `json:"refusal"`
	ToolCallID *string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type openaiTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

var openaiFields = set("model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens",
	"stream", "stream_options", "audio", "frequency_penalty", "function_call", "functions", "logit_bias",
	"logprobs", "metadata", "modalities", "moderation", "n", "parallel_tool_calls", "prediction",
	"presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
	"temperature", "top_logprobs", "top_p", "user", "verbosity", "web_search_options")

// ReadOpenAI understands a request to Chat Completions.
func ReadOpenAI(body []byte, how Reading) (*Request, error) {
	req := &openaiRequest{}
	if err := json.Unmarshal(body, req); err != nil {
		return nil, bad("", "We could not parse the JSON body of your request: %v", err)
	}
	if !how.Lax {
		if name := unknownField(body, openaiFields); name != "" {
			return nil, bad(name, "Unrecognized request argument supplied: %s", name)
		}
		if err := req.check(); err != nil {
			return nil, err
		}
	}
	return req.neutral(), nil
}

func (r *openaiRequest) neutral() *Request {
	a := &Request{
		Provider: OpenAI, Model: r.Model, Stream: r.Stream,
		Counted: r.StreamOptions != nil && r.StreamOptions.IncludeUsage,
	}
	for _, most := range []*int64{r.MaxTokens, r.MaxCompletion} {
		if most != nil {
			a.Most = *most
		}
	}
	size := 0
	for _, t := range r.Tools {
		a.Tools = append(a.Tools, t.Function.Name)
		size += len(t.Function.Name) + len(t.Function.Description) + len(t.Function.Parameters)
	}
	for _, m := range r.Messages {
		size += m.Content.size()
		for _, c := range m.ToolCalls {
			size += len(c.Function.Name) + len(c.Function.Arguments)
		}
		switch m.Role {
		case "system", "developer":
			a.System = strings.TrimPrefix(a.System+"\n"+m.Content.text(), "\n")
		case "assistant":
			a.Turn++
			a.Results, a.Pictures = nil, nil
		case "tool":
			a.Results = append(a.Results, m.Content.text())
		case "user":
			if text := m.Content.text(); text != "" {
				a.Text = text
			}
			for _, b := range m.Content {
				a.Pictures = append(a.Pictures, b.picture()...)
			}
		}
	}
	a.Role = roleOf(a.System)
	a.Input = max(1, Tokens(size))
	return a
}

// check is the whole of what the provider would refuse.
func (r *openaiRequest) check() error {
	switch {
	case r.Model == "":
		return bad("model", "you must provide a model parameter")
	case len(r.Messages) == 0:
		return bad("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	case r.MaxTokens != nil && r.MaxCompletion != nil:
		return bad("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case r.StreamOptions != nil && !r.Stream:
		return bad("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	for name, most := range map[string]*int64{
		"max_tokens": r.MaxTokens, "max_completion_tokens": r.MaxCompletion,
	} {
		if most != nil && *most < 1 {
			return bad(name, "Invalid '%s': integer below minimum value. Expected a value >= 1.", name)
		}
	}
	if err := r.checkTools(); err != nil {
		return err
	}
	return r.checkMessages()
}

func (r *openaiRequest) checkTools() error {
	var names []string
	for i, t := range r.Tools {
		name := t.Function.Name
		switch {
		case t.Type != "function":
			return bad("tools", "Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		case !openaiName.MatchString(name):
			return bad("tools", "Invalid 'tools[%d].function.name': string does not match pattern. "+
				"Expected a string that matches the pattern '%s'.", i, openaiName)
		case slices.Contains(names, name):
			return bad("tools", "Tool names must be unique: '%s'", name)
		case len(t.Function.Parameters) > 0 && !isObject(t.Function.Parameters):
			return bad("tools", "Invalid schema for function '%s': schema must be a JSON Schema of "+
				"'type: \"object\"'.", name)
		}
		names = append(names, name)
	}
	if len(r.ToolChoice) == 0 {
		return nil
	}
	if len(r.Tools) == 0 {
		return bad("tool_choice", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when "+
			"'tools' are specified.")
	}
	var word string
	if json.Unmarshal(r.ToolChoice, &word) == nil {
		if !slices.Contains([]string{"none", "auto", "required"}, word) {
			return bad("tool_choice", "Invalid value: '%s'. Supported values are: 'none', 'auto', 'required'.", word)
		}
		return nil
	}
	var named struct {
		Function struct{ Name string }
	}
	if json.Unmarshal(r.ToolChoice, &named) != nil || !slices.Contains(names, named.Function.Name) {
		return bad("tool_choice", "Invalid value for 'tool_choice': tool '%s' not found in 'tools'.",
			named.Function.Name)
	}
	return nil
}

func (r *openaiRequest) checkMessages() error {
	seen := map[string]bool{}
	var open []string
	last := ""
	for i, m := range r.Messages {
		if m.Role != "tool" && len(open) > 0 {
			return unanswered(open)
		}
		if err := checkOpenAITurn(i, m); err != nil {
			return err
		}
		switch m.Role {
		case "tool":
			at := slices.Index(open, *m.ToolCallID)
			if at < 0 {
				return bad("messages", "messages.[%d]: messages with role 'tool' must be a response to a "+
					"preceding message with 'tool_calls', once each: '%s'.", i, *m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
		case "assistant":
			if last == "assistant" {
				return bad("messages", "messages.[%d]: two messages of the assistant in a row", i)
			}
			for _, c := range m.ToolCalls {
				if seen[c.ID] {
					return bad("messages", "Duplicate value for 'tool_call_id': '%s'", c.ID)
				}
				seen[c.ID] = true
				open = append(open, c.ID)
			}
		case "user":
			if last == "user" {
				return bad("messages", "messages.[%d]: two messages of the user in a row", i)
			}
		}
		last = m.Role
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	if last != "user" && last != "tool" {
		return bad("messages", "The last message must be from the user or a tool.")
	}
	return nil
}

func unanswered(open []string) error {
	return bad("messages", "An assistant message with 'tool_calls' must be followed by tool messages "+
		"responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(open, ", "))
}

// checkOpenAITurn checks one message on its own.
func checkOpenAITurn(i int, m openaiTurn) error {
	if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, m.Role) {
		return bad("messages", "Invalid value: '%s'. Supported values are: 'system', 'developer', "+
			"'assistant', 'user', and 'tool'.", m.Role)
	}
	if m.Role == "tool" && (m.ToolCallID == nil || *m.ToolCallID == "") {
		return bad("messages", "Missing parameter 'tool_call_id': messages with role 'tool' must have one.")
	}
	if len(m.Content) == 0 && m.Refusal == nil && (m.Role != "assistant" || len(m.ToolCalls) == 0) {
		return bad("messages", "Invalid value for 'content': expected a string, got null: messages.[%d]", i)
	}
	for _, b := range m.Content {
		known := []string{"text"}
		switch m.Role {
		case "user":
			known = append(known, "image_url", "input_audio", "file")
		case "assistant":
			known = append(known, "refusal")
		}
		if !slices.Contains(known, b.Type) {
			return bad("messages", "Invalid value: '%s'. Supported values are: '%s'.", b.Type,
				strings.Join(known, "', '"))
		}
		if wrong := checkImageURL(b.ImageURL); b.Type == "image_url" && wrong != "" {
			return bad("messages", "%s", wrong)
		}
		if b.Type == "text" && m.Role != "tool" && (b.Text == nil || strings.TrimSpace(*b.Text) == "") {
			return bad("messages", "Invalid 'messages[%d].content': empty text.", i)
		}
	}
	for j, c := range m.ToolCalls {
		at := fmt.Sprintf("messages.[%d].tool_calls[%d]", i, j)
		switch {
		case c.ID == "":
			return bad("messages", "Missing required parameter: '%s.id'.", at)
		case len(c.ID) > 40:
			return bad("messages", "Invalid '%s.id': string too long. Expected a string with maximum length "+
				"40, but got a string with length %d instead.", at, len(c.ID))
		case c.Type != "function":
			return bad("messages", "Invalid value: '%s'. Supported values are: 'function': %s.", c.Type, at)
		case !openaiName.MatchString(c.Function.Name):
			return bad("messages", "Invalid '%s.function.name': string does not match pattern '%s'.", at, openaiName)
		}
	}
	return nil
}
