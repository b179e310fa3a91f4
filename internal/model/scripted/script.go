package scripted

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

// Script says how the model answers. The first rule that matches a request answers it.
type Script struct {
	Name string `yaml:"name"`
	// Models are the models that exist; any model does when it is empty.
	Models []string `yaml:"models"`
	// Keys are the API keys that are accepted; any key is when it is empty.
	Keys []string `yaml:"keys"`
	// Chunk is how many characters a delta has, and Pace the time between two deltas. A reply may
	// say otherwise.
	Chunk int           `yaml:"chunk"`
	Pace  time.Duration `yaml:"pace"`
	// ReasoningContent shows thinking on the OpenAI wire as vLLM and DeepSeek do. OpenAI itself
	// only counts it.
	ReasoningContent bool   `yaml:"reasoning_content"`
	Rules            []Rule `yaml:"rules"`
	// Default answers what no rule matches. Without it such a request is refused with 400.
	Default *Reply `yaml:"default"`
}

// Rule is one answer and the requests it is for.
type Rule struct {
	Name string `yaml:"name"`
	When Match  `yaml:"when"`
	// Times is after how many uses the rule is used up, and Once is Times of 1. Zero is no end. Uses
	// are counted over all requests: a rule that must not depend on their order matches Attempt.
	Times int   `yaml:"times"`
	Once  bool  `yaml:"once"`
	Reply Reply `yaml:"reply"`
}

// Match is a condition on requests. Every field that is set must hold.
type Match struct {
	// Provider is anthropic or openai.
	Provider Provider `yaml:"provider"`
	// Role is what a line "role: name" of the system prompt says.
	Role string `yaml:"role"`
	// Turn is how many messages of the assistant came before.
	Turn *int `yaml:"turn"`
	// Attempt is how often this very request was seen before: 0 is the first time.
	Attempt *int `yaml:"attempt"`
	// System, Text, Result and Model are regular expressions on the system prompt, the user's last
	// words, the tool results of the last message, and the model's name. Groups of the first three
	// can be used in the reply as ${name}; ${1} and so on are groups of Text.
	System string `yaml:"system"`
	Text   string `yaml:"text"`
	Result string `yaml:"result"`
	Model  string `yaml:"model"`
	// Results is whether the last message has tool results.
	Results *bool `yaml:"results"`
	// Tools must all be offered, and none of NoTools.
	Tools   []string `yaml:"tools"`
	NoTools []string `yaml:"no_tools"`
	// Key is the API key.
	Key string `yaml:"key"`
}

// Reply is what the model says: thinking first, then text, then calls.
type Reply struct {
	Thinking string `yaml:"thinking"`
	Text     string `yaml:"text"`
	Calls    []Call `yaml:"calls"`
	// Obey makes the call that the newest text orders instead, if it contains an order.
	Obey bool `yaml:"obey"`
	// Stop is why it stops; it follows from the calls when empty.
	Stop  Stop   `yaml:"stop"`
	Usage *Usage `yaml:"usage"`
	// Model is the model's name in the reply, if it differs from the requested one.
	Model string `yaml:"model"`
	// Delay is the time before the first byte. Chunk and Pace override the script's.
	Delay time.Duration `yaml:"delay"`
	Chunk int           `yaml:"chunk"`
	Pace  time.Duration `yaml:"pace"`
	Fault Trouble       `yaml:"fault"`
}

// Call asks for a tool. Raw is sent as the arguments just as it is, whether JSON or not.
type Call struct {
	Tool string         `yaml:"tool"`
	Args map[string]any `yaml:"args"`
	Raw  string         `yaml:"raw"`
	// ID overrides the name that is derived from the request.
	ID string `yaml:"id"`
}

// Usage is the usage of a reply. Input includes tokens read from or written to a cache, Output
// includes Reasoning.
type Usage struct {
	Input      int64 `yaml:"input" json:"input"`
	Output     int64 `yaml:"output" json:"output"`
	CacheRead  int64 `yaml:"cache_read" json:"cache_read"`
	CacheWrite int64 `yaml:"cache_write" json:"cache_write"`
	Reasoning  int64 `yaml:"reasoning" json:"reasoning"`
}

// Trouble asks for a fault by its name or its id and sets what can be set about it. Zero means the
// fault's default.
type Trouble struct {
	Name string `yaml:"name"`
	// At is a place or a variant: the frame to cut at, the kind of broken arguments.
	At int `yaml:"at"`
	// Wait is how long, and Size how many bytes or calls.
	Wait time.Duration `yaml:"wait"`
	Size int           `yaml:"size"`
}

// Provider is whose wire a request came over.
type Provider = request.Provider

// The providers.
const (
	Anthropic = request.Anthropic
	OpenAI    = request.OpenAI
)

// Stop is why a reply ends.
type Stop string

// The stop reasons.
const (
	StopEnd       Stop = "end"
	StopTools     Stop = "tools"
	StopMaxTokens Stop = "max_tokens"
	StopRefusal   Stop = "refusal"
)

// problem is something wrong with a script, and the YAML path of where.
type problem struct {
	path, text string
}

// Check reports everything that is wrong with a script, or nil.
func (s *Script) Check() error {
	list := s.problems()
	if len(list) == 0 {
		return nil
	}
	lines := make([]string, len(list))
	for i, p := range list {
		lines[i] = strings.TrimPrefix(p.path, "$.") + ": " + p.text
	}
	return fmt.Errorf("script %s: %s", s.Name, strings.Join(lines, "\n"))
}

func (s *Script) problems() []problem {
	var out []problem
	if s.Chunk < 0 || s.Pace < 0 {
		out = append(out, problem{"$", "chunk and pace must not be negative"})
	}
	if len(s.Rules) == 0 && s.Default == nil {
		out = append(out, problem{"$", "neither rules nor a default: there is nothing to say"})
	}
	for i, r := range s.Rules {
		path := fmt.Sprintf("$.rules[%d]", i)
		groups, found := r.When.problems(path + ".when")
		out = append(out, found...)
		if r.Times < 0 || (r.Once && r.Times > 1) {
			out = append(out, problem{path + ".times", "times must not be negative, nor set beside once"})
		}
		out = append(out, r.Reply.problems(path+".reply", groups)...)
	}
	if s.Default != nil {
		out = append(out, s.Default.problems("$.default", builtin())...)
	}
	return out
}

// builtin are the names that every reply can use.
func builtin() map[string]bool {
	return map[string]bool{"role": true, "turn": true, "model": true, "result": true}
}

// problems also returns the names that the reply may use.
func (m Match) problems(path string) (map[string]bool, []problem) {
	var out []problem
	groups := builtin()
	for field, pattern := range map[string]string{
		"system": m.System, "text": m.Text, "result": m.Result, "model": m.Model,
	} {
		re, err := regexp.Compile(pattern)
		if err != nil {
			out = append(out, problem{path + "." + field, err.Error()})
			continue
		}
		for i, name := range re.SubexpNames() {
			if name != "" && field != "model" {
				groups[name] = true
			}
			if field == "text" {
				groups[fmt.Sprint(i)] = true
			}
		}
	}
	if !slices.Contains([]Provider{"", Anthropic, OpenAI}, m.Provider) {
		out = append(out, problem{path + ".provider", "provider is " + string(m.Provider) + ": allowed are anthropic, openai"})
	}
	slices.SortFunc(out, func(a, b problem) int { return strings.Compare(a.path, b.path) })
	return groups, out
}

func (r Reply) problems(path string, groups map[string]bool) []problem {
	var out []problem
	if !slices.Contains([]Stop{"", StopEnd, StopTools, StopMaxTokens, StopRefusal}, r.Stop) {
		out = append(out, problem{
			path + ".stop",
			"stop is " + string(r.Stop) + ": allowed are end, tools, max_tokens, refusal",
		})
	}
	if r.Fault.Name != "" {
		if _, ok := faultNamed(r.Fault.Name); !ok {
			out = append(out, problem{
				path + ".fault.name",
				"fault is " + r.Fault.Name + ": allowed are " + strings.Join(faultNames(), ", "),
			})
		}
	} else if r.Fault != (Trouble{}) {
		out = append(out, problem{path + ".fault", "the fault has no name"})
	}
	if r.Delay < 0 || r.Pace < 0 || r.Chunk < 0 || r.Fault.Wait < 0 || r.Fault.Size < 0 || r.Fault.At < 0 {
		out = append(out, problem{path, "delay, pace, chunk, wait, size and at must not be negative"})
	}
	for i, c := range r.Calls {
		at := fmt.Sprintf("%s.calls[%d]", path, i)
		if c.Tool == "" {
			out = append(out, problem{at, "the call has no tool"})
		}
		if c.Raw != "" && c.Args != nil {
			out = append(out, problem{at, "the call has both args and raw"})
		}
		for _, text := range leaves(c.Args) {
			out = append(out, unknownNames(at+".args", text, groups)...)
		}
		out = append(out, unknownNames(at+".raw", c.Raw, groups)...)
	}
	out = append(out, unknownNames(path+".text", r.Text, groups)...)
	return append(out, unknownNames(path+".thinking", r.Thinking, groups)...)
}

func unknownNames(path, text string, groups map[string]bool) []problem {
	var out []problem
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !groups[m[1]] && !strings.HasPrefix(m[0], "$$") {
			known := slices.Sorted(maps.Keys(groups))
			out = append(out, problem{path, m[0] + " is no group of this rule: allowed are " +
				strings.Join(known, ", ")})
		}
	}
	return out
}
