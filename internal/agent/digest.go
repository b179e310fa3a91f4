package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"
)

// defaultRole is whom a task goes to that names no role.
const defaultRole = "general"

// Assignment is one task as a model worded it. Only hosts see it: the core is shown an Item.
type Assignment struct {
	Role       string   `json:"role"`
	Task       string   `json:"task"`
	Criteria   string   `json:"success_criteria"`
	Files      []string `json:"context_files"`
	Cwd        string   `json:"cwd"`
	Model      string   `json:"model"`
	Iterations int      `json:"max_iterations"`
	Background bool     `json:"background"`
	// Agent is the finished agent that a resume call names.
	Agent     string    `json:"agent_id"`
	Isolation Isolation `json:"isolation"`
}

// Digest makes a Call out of a tool_use: its request, and whether its arguments can be used. The
// host adds what only it knows: Known, Class, Writes, Network, Policy, Pattern and the problems of
// single items.
func Digest(tool, args string) Call { return digest(tool, KindOf(tool), args) }

// DigestRole is Digest for a role that is offered as a tool of its own: its arguments are the task.
func DigestRole(tool, role, args string) Call {
	c := identify(tool, CallSpawn, args)
	if c.Problem == "" {
		c.Items = []Item{item(Assignment{Role: role, Task: args})}
	}
	return c
}

// identify hashes a call of any kind.
func identify(tool string, kind CallKind, args string) Call {
	canonical, ok := canonicalObject(args)
	if !ok {
		return Call{Tool: tool, Kind: kind, Hash: hash(tool, args), Problem: "they are not a JSON object"}
	}
	return Call{Tool: tool, Kind: kind, Hash: hash(tool, canonical)}
}

func digest(tool string, kind CallKind, args string) Call {
	c := identify(tool, kind, args)
	if c.Problem != "" {
		return c
	}
	switch kind {
	case CallSpawn, CallResume:
		c.digestSpawn(args)
	case CallSubmit:
		c.requireText(args, "summary", "result")
	case CallSubmitError:
		c.requireText(args, "error")
	case CallAsk:
		c.digestAsk(args)
	case CallReply:
		c.digestReply(args)
	case CallTool:
	}
	return c
}

func (c *Call) digestSpawn(args string) {
	assignments, problem := Assignments(c.Tool, args)
	c.Problem = problem
	for _, a := range assignments {
		c.Items = append(c.Items, item(a))
	}
}

func item(a Assignment) Item {
	text := strings.Join(append([]string{a.Role, a.Task, a.Criteria, a.Cwd, a.Model, a.Agent}, a.Files...), "\x00")
	if a.Isolation != "" {
		text += "\x00isolation " + string(a.Isolation)
	}
	return Item{
		Role: a.Role, Hash: hash(text), Blank: strings.TrimSpace(a.Task) == "", Background: a.Background,
		Iterations: a.Iterations, Agent: a.Agent, Isolation: a.Isolation,
		Tokens: int64(len(a.Task)+len(a.Criteria))/tokenBytes + noteTokens,
	}
}

// Assignments reads the tasks out of a spawn or resume call, in the words of spawn_agents or of any
// of its aliases. The problem is the fault of the call as a whole.
func Assignments(tool, args string) ([]Assignment, string) {
	var call struct {
		Tasks json.RawMessage `json:"tasks"`
		Assignment
		Instruction string `json:"instruction"`
		Prompt      string `json:"prompt"`
		Type        string `json:"subagent_type"`
		InTheBack   bool   `json:"run_in_background"`
	}
	if err := json.Unmarshal([]byte(args), &call); err != nil {
		return nil, "they do not fit the schema of " + tool
	}
	var out []Assignment
	if tool == ToolSpawn {
		if err := json.Unmarshal(call.Tasks, &out); err != nil || len(out) == 0 {
			return nil, "tasks must be a list of at least one task"
		}
	} else {
		one := call.Assignment
		one.Task = oneOf(one.Task, call.Instruction, call.Prompt)
		one.Role = oneOf(one.Role, call.Type)
		one.Background = one.Background || call.InTheBack
		out = []Assignment{one}
	}
	for i := range out {
		if out[i].Role == "" && KindOf(tool) != CallResume {
			out[i].Role = defaultRole
		}
	}
	if KindOf(tool) == CallResume && out[0].Agent == "" {
		return nil, "agent_id is missing"
	}
	return out, ""
}

func oneOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// requireText notes a problem unless one of the fields holds text.
func (c *Call) requireText(args string, fields ...string) {
	var object map[string]any
	_ = json.Unmarshal([]byte(args), &object) // canonicalObject has read it before
	for _, f := range fields {
		if text, ok := object[f].(string); ok && strings.TrimSpace(text) != "" {
			return
		}
	}
	c.Problem = fields[0] + " must be a text that is not empty"
}

// digestAsk identifies a question by its words, without case, spacing and punctuation.
func (c *Call) digestAsk(args string) {
	var call struct {
		Question  string   `json:"question"`
		Questions []string `json:"questions"`
	}
	if err := json.Unmarshal([]byte(args), &call); err != nil {
		c.Problem = "they do not fit the schema of " + c.Tool
		return
	}
	words := normalise(strings.Join(append([]string{call.Question}, call.Questions...), " "))
	if words == "" {
		c.Problem = "question must be a text that is not empty"
	}
	c.Hash = hash("question", words)
}

func normalise(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")
}

func (c *Call) digestReply(args string) {
	var call struct {
		Question   string  `json:"question_id"`
		Answer     string  `json:"answer"`
		Confidence float64 `json:"confidence"`
	}
	switch err := json.Unmarshal([]byte(args), &call); {
	case err != nil:
		c.Problem = "they do not fit the schema of " + c.Tool
	case call.Question == "" || strings.TrimSpace(call.Answer) == "":
		c.Problem = "question_id and answer must not be empty"
	case call.Confidence < 0 || call.Confidence > 1:
		c.Problem = "confidence must be between 0 and 1"
	}
	c.Question = call.Question
	c.Confidence = int(call.Confidence*100 + 1e-9) // rounded down, but 0.7 is 70
}

// canonicalObject writes a JSON object with its keys in order and its numbers as they were.
func canonicalObject(args string) (string, bool) {
	decoder := json.NewDecoder(strings.NewReader(args))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil || object == nil || !json.Valid([]byte(args)) {
		return "", false
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return "", false
	}
	return out.String(), true
}

// hash is short enough to keep and long enough that two calls of one run do not share it by chance.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
