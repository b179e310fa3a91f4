package host

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Options are what a host is made of.
type Options struct {
	Log     journal.Log
	Catalog Catalog
	Tools   Toolbox
	// Witness is asked whether a decision is on the audit trail. Only tests leave it nil, and then
	// every decision is.
	Witness Witness
	// Serves says whether this worker has a workspace. Nil means that it has every one that it is asked
	// for, as in tests.
	Serves func(Workspace) bool
	// Worktrees is nil where no agent can have a tree of its own.
	Worktrees Worktrees
	// Name says which worker did something.
	Name   string
	Logger *slog.Logger
	// Now is the clock; nil means the machine's.
	Now func() time.Time
	// Fault is told of the points at which tests let a worker die, and of whose run it is; nil
	// outside tests.
	Fault Fault
	// Redact removes secrets from the host's own texts; nil removes nothing. Models and tools
	// redact their own output.
	Redact func(text string) string
	// Observer hears of legs and calls; nil means nobody does.
	Observer Observer
}

// Host has what all agents of a worker share.
type Host struct {
	Options
	// kept remembers texts that are known to be in the journal, by conversation and hash, and texts are
	// those that were read from it.
	mu    sync.Mutex
	kept  map[string]bool
	texts map[string]string
}

// rememberedTexts bounds a host's cache of kept texts.
const rememberedTexts = 4096

// New makes a host.
func New(o Options) *Host {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	return &Host{Options: o, kept: map[string]bool{}, texts: map[string]string{}}
}

// Catalog gives the host roles and prompts.
type Catalog interface {
	// ResolveRole finds a role by a name that somebody gave, as it is now.
	ResolveRole(at Workspace, name string) (ResolvedRole, error)
	// Script writes an agent's prompt, under the role that its run began with.
	Script(PromptInput) (Prompt, error)
	// Verdict is the verdict of a role's rules on a call of a tool, by the call's subject, together
	// with the current denials of the machine's owner.
	Verdict(snapshot, name string, matters []tool.Matter) (agent.Policy, error)
	// Output is the shape that a role's results must fit, nil if any will do.
	Output(snapshot string) (*Output, error)
	// Sink reports whether the operator listed a call: rules apply to it also when its agent is
	// tainted. Strange reports whether strangers write a file of a workspace.
	Sink(name string, matters []tool.Matter) bool
	Strange(path string) bool
	// Compaction, Resolution and Routing ask for something else than the next reply.
	Compaction(pins []string) (string, error)
	Resolution(OpenQuestion) (string, error)
	Routing(message string, open []OpenQuestion) (string, error)
}

// ResolvedRole is a role as it is now, and the snapshot that a run keeps of it.
type ResolvedRole struct {
	Spec     agent.RoleSpec
	Snapshot string
	// Exposed is how the role is offered as a tool of its own, nil if it is not.
	Exposed *model.Tool
}

// Output is the shape of a role's results.
type Output struct {
	// Schema describes it to the model.
	Schema json.RawMessage
	// Closed means that what fits has no room for words.
	Closed bool
	// Check returns the fault of a task's result, which is JSON.
	Check func(result, task string) error
}

// PromptInput is the input of a prompt.
type PromptInput struct {
	Workspace Workspace
	// Tree is the tree that the agent works in, empty for the workspace itself.
	Tree     string
	Snapshot string
	Brief    agent.Brief
	// ParentRole, Task, Criteria and Files are of the assignment.
	ParentRole string
	Task       string
	Criteria   string
	Files      []string
	Began      time.Time
}

// Prompt is the part of a model call beside the transcript.
type Prompt struct {
	System      []model.Instruction
	Effort      model.Effort
	Temperature *float64
}

// OpenQuestion is an open question.
type OpenQuestion struct {
	ID      string
	Role    string
	Task    string
	Text    string
	Options []string
}

// Toolbox finds the tools that work in a workspace, or in a tree of it if one is named.
type Toolbox interface {
	Tools(at Workspace, tree string) (*tool.Set, error)
}

// Witness says whether the audit trail has a person's decision as the journal has it.
type Witness interface {
	Witnessed(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) (bool, error)
}

func (h *Host) At() agent.At { return agent.At{At: h.Now().UnixMilli()} }

// textKey names a text of a conversation.
func textKey(ref journal.Ref, hash string) string {
	return ref.Tenant + "/" + ref.Conversation + "/" + hash
}

// Keep stores a text once and returns its hash.
func (h *Host) Keep(ctx context.Context, ref journal.Ref, text string) (string, error) {
	hash := journal.HashOf(text)
	key := textKey(ref, hash)
	h.mu.Lock()
	known := h.kept[key]
	h.mu.Unlock()
	if known {
		return hash, nil
	}
	if err := h.Log.Keep(ctx, ref, text); err != nil {
		return "", err
	}
	h.remember(key, text)
	return hash, nil
}

// Text reads a kept text.
func (h *Host) Text(ctx context.Context, ref journal.Ref, hash string) (string, error) {
	key := textKey(ref, hash)
	h.mu.Lock()
	text, ok := h.texts[key]
	h.mu.Unlock()
	if ok {
		return text, nil
	}
	text, err := h.Log.Text(ctx, ref, hash)
	if err != nil {
		return "", err
	}
	h.remember(key, text)
	return text, nil
}

func (h *Host) remember(key, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.texts) >= rememberedTexts {
		h.kept, h.texts = map[string]bool{}, map[string]string{}
	}
	h.kept[key], h.texts[key] = true, text
}

// Refused reports whether trying again cannot help.
func Refused(err error) bool {
	switch chat.CodeOf(err) {
	case chat.CodeInvalid, chat.CodeNotFound, chat.CodeDenied, chat.CodeConflict:
		return true
	case chat.CodeLimit, chat.CodeUnavailable, chat.CodeInternal:
		return false
	}
	return false
}

// Tokens estimates, on the large side, the size of a text in a context window.
func Tokens(text string) int64 { return TokensOf(len(text)) }

// TokensOf is Tokens for a text of so many bytes.
func TokensOf(bytes int) int64 { return int64(bytes+2) / 3 }

// Patiently tries something with the journal again and again for a while, unless it is refused.
func (h *Host) Patiently(ctx context.Context, do func() error) error {
	deadline := h.Now().Add(recordPatience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := do()
		if err == nil || Refused(err) || ctx.Err() != nil || h.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// recordPatience is how long a leg tries to record a reply or a result.
const recordPatience = 30 * time.Second
