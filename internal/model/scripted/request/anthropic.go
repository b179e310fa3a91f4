package request

import (
	"encoding/json"
	"slices"
	"strings"
)

// anthropicRequest is what the Messages API is sent.
type anthropicRequest struct {
	Model       string                       `json:"model"`
	Messages    []anthropicTurn              `json:"messages"`
	System      content                      `json:"system"`
	MaxTokens   *int64                       `json:"max_tokens"`
	Tools       []anthropicTool              `json:"tools"`
	ToolChoice  *struct{ Type, Name string } `json:"tool_choice"`
	Thinking    *anthropicThinking           `json:"thinking"`
	Temperature *float64                     `json:"temperature"`
	Stream      bool                         `json:"stream"`
}

type anthropicTurn struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

type anthropicTool struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *struct{}       `json:"cache_control"`
}

type anthropicThinking struct {
	Type   string `json:"type"`
	Budget *int64 `json:"budget_tokens"`
}

var anthropicFields = set("model", "messages", "system", "max_tokens", "tools", "tool_choice", "thinking",
	"temperature", "stream", "metadata", "stop_sequences", "top_k", "top_p", "service_tier",
	"output_config", "container", "inference_geo", "cache_control", "speed", "context_management",
	"mcp_servers")

// ReadAnthropic understands a request to the Messages API.
func ReadAnthropic(body []byte, how Reading) (*Request, error) {
	req := &anthropicRequest{}
	if err := json.Unmarshal(body, req); err != nil {
		return nil, bad("", "The request body is not valid JSON: %v", err)
	}
	if !how.Lax {
		if name := unknownField(body, anthropicFields); name != "" {
			return nil, bad("", "%s: Extra inputs are not permitted", name)
		}
		if err := req.check(how.Counting); err != nil {
			return nil, err
		}
	}
	return req.neutral(), nil
}

func (r *anthropicRequest) neutral() *Request {
	a := &Request{
		Provider: Anthropic, Model: r.Model, System: r.System.text(), Stream: r.Stream, Counted: true,
		Thinking: r.Thinking != nil && r.Thinking.Type != "disabled",
	}
	if r.MaxTokens != nil {
		a.Most = *r.MaxTokens
	}
	a.Role = roleOf(a.System)
	size := r.System.size()
	for _, t := range r.Tools {
		a.Tools = append(a.Tools, t.Name)
		size += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	for _, m := range r.Messages {
		size += m.Content.size()
		if m.Role == "assistant" {
			a.Turn++
			a.Results, a.Pictures = nil, nil
			continue
		}
		if text := m.Content.text(); text != "" {
			a.Text = text
		}
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				a.Results = append(a.Results, b.Content.text())
			}
			for _, shown := range append(b.Content, b) {
				a.Pictures = append(a.Pictures, shown.picture()...)
			}
		}
	}
	a.Input = max(1, Tokens(size))
	return a
}

// check is the whole of what the provider would refuse.
func (r *anthropicRequest) check(counting bool) error {
	switch {
	case r.Model == "":
		return bad("", "model: Field required")
	case r.MaxTokens == nil && !counting:
		return bad("", "max_tokens: Field required")
	case r.MaxTokens != nil && *r.MaxTokens < 1:
		return bad("", "max_tokens: Input should be greater than or equal to 1")
	}
	if err := r.checkThinking(); err != nil {
		return err
	}
	if err := r.checkTools(); err != nil {
		return err
	}
	if err := r.checkMarkers(); err != nil {
		return err
	}
	for _, b := range r.System {
		if b.Type != "text" || b.Text == nil || *b.Text == "" {
			return bad("", "system: text content blocks must be non-empty")
		}
	}
	return r.checkMessages()
}

func (r *anthropicRequest) checkThinking() error {
	t := r.Thinking
	if t == nil || t.Type == "disabled" {
		return nil
	}
	switch {
	case !slices.Contains([]string{"enabled", "adaptive", "between_tools"}, t.Type):
		return bad("", "thinking: Input tag '%s' found using 'type' does not match any of the expected tags", t.Type)
	case t.Type == "enabled" && t.Budget == nil:
		return bad("", "thinking.enabled.budget_tokens: Field required")
	case t.Budget != nil && *t.Budget < 1024:
		return bad("", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case t.Budget != nil && r.MaxTokens != nil && *t.Budget >= *r.MaxTokens:
		return bad("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	case r.Temperature != nil && *r.Temperature != 1:
		return bad("", "`temperature` may only be set to 1 when thinking is enabled.")
	case r.ToolChoice != nil && (r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool"):
		return bad("", "Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (r *anthropicRequest) checkTools() error {
	var names []string
	for i, t := range r.Tools {
		switch {
		case t.Type != "" && t.Type != "custom": // a tool of the provider's own
			names = append(names, t.Name)
			continue
		case !toolName.MatchString(t.Name):
			return bad("", "tools.%d.custom.name: String should match pattern '%s'", i, toolName)
		case slices.Contains(names, t.Name):
			return bad("", "tools: Tool names must be unique.")
		case !isObject(t.InputSchema):
			return bad("", "tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		names = append(names, t.Name)
	}
	c := r.ToolChoice
	switch {
	case c == nil:
	case len(r.Tools) == 0:
		return bad("", "tool_choice may only be specified while providing tools")
	case c.Type == "tool" && !slices.Contains(names, c.Name):
		return bad("", "Tool '%s' not found in provided tools", c.Name)
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, c.Type):
		return bad("", "tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags", c.Type)
	}
	return nil
}

// checkMarkers counts the places where a prefix is to be cached.
func (r *anthropicRequest) checkMarkers() error {
	n := 0
	for _, t := range r.Tools {
		if t.CacheControl != nil {
			n++
		}
	}
	var count func(content)
	count = func(c content) {
		for _, b := range c {
			if b.CacheControl != nil {
				n++
			}
			count(b.Content)
		}
	}
	count(r.System)
	for _, m := range r.Messages {
		count(m.Content)
	}
	if n > 4 {
		return bad("", "A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	return nil
}

func (r *anthropicRequest) checkMessages() error {
	if len(r.Messages) == 0 {
		return bad("", "messages: at least one message is required")
	}
	seen := map[string]bool{}
	var open []string
	for i, m := range r.Messages {
		want := "user"
		if i%2 == 1 {
			want = "assistant"
		}
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return bad("", "messages: Unexpected role \"%s\". Allowed roles are \"user\" or \"assistant\".", m.Role)
		case i == 0 && m.Role != "user":
			return bad("", "messages: first message must use the \"user\" role")
		case m.Role != want:
			return bad("", "messages: roles must alternate between \"user\" and \"assistant\", "+
				"but found multiple \"%s\" roles in a row", m.Role)
		case len(m.Content) == 0:
			return bad("", "messages.%d: all messages must have non-empty content", i)
		}
		if err := checkAnthropicBlocks(i, m, open, seen); err != nil {
			return err
		}
		open = nil
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				open = append(open, b.ID)
			}
		}
	}
	last := len(r.Messages) - 1
	if len(open) > 0 {
		return orphans(last, open)
	}
	if r.Messages[last].Role != "user" {
		return bad("", "This model does not support assistant message prefill. "+
			"The conversation must end with a user message.")
	}
	return nil
}

func orphans(i int, ids []string) error {
	return bad("", "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: "+
		"%s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		i, strings.Join(ids, ", "))
}

// checkAnthropicBlocks checks one message: its blocks, and that it answers all open calls first.
func checkAnthropicBlocks(i int, m anthropicTurn, open []string, seen map[string]bool) error {
	var answered []string
	other := false
	for j, b := range m.Content {
		if err := checkAnthropicBlock(i, j, m.Role, b); err != nil {
			return err
		}
		switch b.Type {
		case "tool_use":
			if seen[b.ID] {
				return bad("", "messages: `tool_use` ids must be unique")
			}
			seen[b.ID] = true
		case "tool_result":
			switch {
			case slices.Contains(answered, b.ToolUseID):
				return bad("", "messages.%d.content.%d: each tool_use must have a single result. "+
					"Found multiple `tool_result` blocks with id: %s", i, j, b.ToolUseID)
			case !slices.Contains(open, b.ToolUseID):
				return bad("", "messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` "+
					"blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in "+
					"the previous message.", i, j, b.ToolUseID)
			case other:
				return bad("", "messages.%d.content.%d: `tool_result` blocks must come before all other "+
					"content of the message", i, j)
			}
			answered = append(answered, b.ToolUseID)
			continue
		}
		other = true
	}
	missing := slices.DeleteFunc(slices.Clone(open), func(id string) bool { return slices.Contains(answered, id) })
	if len(missing) > 0 {
		return orphans(i-1, missing)
	}
	return nil
}

func checkAnthropicBlock(i, j int, role string, b block) error {
	at := func(format string, args ...any) error {
		return bad("", "messages.%d.content.%d"+format, append([]any{i, j}, args...)...)
	}
	if err := checkSpeaker(at, role, b); err != nil {
		return err
	}
	switch b.Type {
	case "text":
		if b.Text == nil || *b.Text == "" {
			return bad("", "messages: text content blocks must be non-empty")
		}
		if strings.TrimSpace(*b.Text) == "" {
			return bad("", "messages: text content blocks must contain non-whitespace text")
		}
	case "thinking":
		switch {
		case b.Thinking == nil:
			return at(".thinking.thinking: Field required")
		case b.Signature == nil || *b.Signature == "":
			return at(".thinking.signature: Field required")
		case *b.Signature != Seal(*b.Thinking):
			return at(": Invalid `signature` in `thinking` block")
		}
	case "image":
		if wrong := checkSource(b.Source); wrong != "" {
			return at(".image%s", wrong)
		}
	case "document":
		if len(b.Source) == 0 {
			return at(".%s.source: Field required", b.Type)
		}
	case "tool_use":
		return checkToolUse(at, b)
	case "tool_result":
		return checkToolResult(at, b)
	}
	return nil
}

// complaint makes an error about a block.
type complaint func(format string, args ...any) error

// checkSpeaker refuses a block that the role of its message cannot have.
func checkSpeaker(at complaint, role string, b block) error {
	from := map[string]string{
		"text": "", "image": "user", "document": "user", "tool_result": "user",
		"thinking": "assistant", "redacted_thinking": "assistant", "tool_use": "assistant",
	}
	speaker, ok := from[b.Type]
	if !ok {
		return at(": Input tag '%s' found using 'type' does not match any of the expected tags", b.Type)
	}
	if speaker != "" && speaker != role {
		return at(": `%s` blocks can only be specified in `%s` messages", b.Type, speaker)
	}
	return nil
}

func checkToolUse(at complaint, b block) error {
	switch {
	case !callID.MatchString(b.ID):
		return at(".tool_use.id: String should match pattern '%s'", callID)
	case !toolName.MatchString(b.Name):
		return at(".tool_use.name: String should match pattern '%s'", toolName)
	case !strings.HasPrefix(strings.TrimSpace(string(b.Input)), "{"):
		return at(".tool_use.input: Input should be a valid dictionary")
	}
	return nil
}

func checkToolResult(at complaint, b block) error {
	for _, inner := range b.Content {
		if inner.Type == "text" && (inner.Text == nil || (*inner.Text == "" && len(b.Content) > 1)) {
			return at(".tool_result.content: text content blocks must be non-empty")
		}
		if wrong := checkSource(inner.Source); inner.Type == "image" && wrong != "" {
			return at(".tool_result.content.image%s", wrong)
		}
		if !slices.Contains([]string{"text", "image", "document", "search_result"}, inner.Type) {
			return at(".tool_result.content: Input tag '%s' found using 'type' does not match any of "+
				"the expected tags", inner.Type)
		}
	}
	return nil
}
