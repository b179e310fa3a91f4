package leg

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/model"
)

// toolRelay is offered in a side turn beside agent.ToolReply: the question is the person's to
// answer.
const toolRelay = "relay_to_user"

// own describes to models the calls that the core itself answers.
var own = map[string]model.Tool{
	agent.ToolSpawn: described("Hand tasks to sub-agents that work in parallel. You get their reports back together, in "+
		"the order of the tasks. A sub-agent sees nothing of this conversation: put all it needs into its task.", `{
  "type": "object", "required": ["tasks"], "additionalProperties": false,
  "properties": {"tasks": {"type": "array", "minItems": 1, "items": {
    "type": "object", "required": ["task"],
    "properties": {
      "role": {"type": "string", "description": "who is to do it: one of the roles you may delegate to"},
      "task": {"type": "string", "description": "the goal, what is known, what must not change, what to report"},
      "context_files": {"type": "array", "items": {"type": "string"}, "description": "paths to begin with"},
      "success_criteria": {"type": "string", "description": "how to tell that it is done"},
      "cwd": {"type": "string", "description": "folder of the workspace to work in"},
      "max_iterations": {"type": "integer", "minimum": 1},
      "isolation": {"type": "string", "enum": ["worktree", "shared"], "description": "worktree: it works on a copy of your files, and what it changes comes back as a patch that you merge; for those who write at the same time"},
      "background": {"type": "boolean", "description": "go on without waiting; you are told when it ends"}
    }}}}}`),
	agent.ToolResume: described("Give a finished sub-agent another task. It still knows everything it did before.", `{
  "type": "object", "required": ["agent_id", "task"], "additionalProperties": false,
  "properties": {
    "agent_id": {"type": "string", "description": "as its report says"},
    "task": {"type": "string"},
    "success_criteria": {"type": "string"},
    "background": {"type": "boolean"}
  }}`),
	agent.ToolTranscript: described("Read what a sub-agent of yours did, when its report does not say enough.", `{
  "type": "object", "required": ["agent_id"], "additionalProperties": false,
  "properties": {
    "agent_id": {"type": "string", "description": "as its report says"},
    "before": {"type": "integer", "description": "to page back: the number that the last page named"}
  }}`),
	agent.ToolSubmit: described("Hand in the result of your task. This ends your run; call it alone.", `{
  "type": "object", "required": ["summary"],
  "properties": {
    "summary": {"type": "string", "description": "one or two sentences that stand on their own"},
    "details": {"type": "string", "description": "the specifics, in the form your role asks for"},
    "files_modified": {"type": "array", "items": {"type": "string"}},
    "files_created": {"type": "array", "items": {"type": "string"}},
    "tests_run": {"type": "integer"},
    "tests_passed": {"type": "integer"},
    "warnings": {"type": "array", "items": {"type": "string"}},
    "suggestions": {"type": "array", "items": {"type": "string"}}
  }}`),
	agent.ToolSubmitError: described("Say that the task cannot be done. This ends your run; call it alone.", `{
  "type": "object", "required": ["error"],
  "properties": {
    "error": {"type": "string", "description": "why it cannot be done, and what would help"},
    "partial": {"type": "string", "description": "what you achieved nevertheless"}
  }}`),
	agent.ToolAsk: described("Ask for a fact that you cannot find out and cannot go on without. Call it alone.", `{
  "type": "object", "required": ["question"], "additionalProperties": false,
  "properties": {
    "question": {"type": "string"},
    "options": {"type": "array", "items": {"type": "string"}, "description": "the answers you expect, if there are few"}
  }}`),
	agent.ToolReply: described("Answer the question of a waiting sub-agent from what is known.", `{
  "type": "object", "required": ["question_id", "answer", "confidence"],
  "properties": {
    "question_id": {"type": "string"},
    "answer": {"type": "string"},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    "source": {"type": "string", "description": "the words that the answer rests on"}
  }}`),
	toolRelay: described("Leave the question to the person.", `{
  "type": "object", "properties": {"message": {"type": "string", "description": "what they need to decide"}}}`),
}

func described(description, schema string) model.Tool {
	return model.Tool{Description: description, Schema: json.RawMessage(schema)}
}

// offer describes tools to the model, sorted by name. Roles that are offered as tools come with the
// right to delegate.
func (l *leg) offer(ctx context.Context, brief agent.Brief, names []string) ([]model.Tool, error) {
	out := offerOwn(names)
	if len(names) == 0 {
		return out, nil
	}
	if i := slices.IndexFunc(out, func(t model.Tool) bool { return t.Name == agent.ToolSubmit }); i >= 0 && brief.Shaped {
		shape, err := l.output(ctx, brief)
		if err != nil {
			return nil, err
		}
		out[i].Schema = shape.Schema
	}
	set, err := l.Tools.Tools(l.in.At(), "")
	if err != nil {
		return nil, err
	}
	for _, d := range set.Definitions(names) {
		out = append(out, model.Tool{Name: d.Name, Description: d.Description, Schema: d.Schema})
	}
	if slices.Contains(names, agent.ToolSpawn) {
		for _, name := range brief.Delegates {
			if resolved, err := l.Catalog.ResolveRole(l.in.At(), name); err == nil && resolved.Exposed != nil {
				out = append(out, *resolved.Exposed)
			}
		}
	}
	slices.SortFunc(out, func(a, b model.Tool) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func offerOwn(names []string) []model.Tool {
	var out []model.Tool
	for _, name := range names {
		if t, ok := own[name]; ok {
			t.Name = name
			out = append(out, t)
		}
	}
	return out
}
