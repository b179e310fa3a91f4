package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/audit"
	auditstore "github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	peoplestore "github.com/retinue-dev/retinue/internal/people/postgres"
	"github.com/retinue-dev/retinue/internal/progress"
	webhookstore "github.com/retinue-dev/retinue/internal/webhook/store"
)

// NewID makes an id for a conversation or a message: lower-case, sortable by the time it was made.
func NewID(now time.Time) string {
	return fmt.Sprintf("%011x", now.UnixMilli()) + strings.ToLower(rand.Text()[:9])
}

// here is a conversation of this machine's one tenant.
func here(conversation string) journal.Ref {
	return journal.Ref{Tenant: LocalTenant, Conversation: conversation}
}

// Begin opens a conversation under an id, and returns it.
func (n *Node) Begin(ctx context.Context, conversation string, t NewConversation) (string, error) {
	return conversation, n.Open(onThisMachine(ctx, t.By), here(conversation), t)
}

// ConversationInfo is what must be known of a conversation before it is gone on with.
type ConversationInfo struct {
	// By is who began it.
	By        string
	Workspace string
	// Seq is its last entry.
	Seq int64
	// Headless means that it was begun with nobody there.
	Headless bool
}

// Find looks a conversation up.
func (n *Node) Find(ctx context.Context, conversation string) (ConversationInfo, error) {
	snapshot, err := n.Log.Snapshot(ctx, here(conversation))
	if err != nil {
		return ConversationInfo{}, err
	}
	entries, err := n.Log.Find(ctx, here(conversation), journal.TaskAssigned{In: journal.In{Task: host.Root}}.Key())
	if err != nil || len(entries) == 0 {
		return ConversationInfo{}, fmt.Errorf("read the orchestrator of %s: %w", conversation, err)
	}
	assigned, _ := entries[0].Row.(journal.TaskAssigned) // nothing else has this key
	var brief agent.Brief
	if err := json.Unmarshal(assigned.Brief, &brief); err != nil {
		return ConversationInfo{}, fmt.Errorf("read the brief of %s: %w", conversation, err)
	}
	c := snapshot.Conversation
	return ConversationInfo{By: c.By, Workspace: c.Workspace, Seq: c.Seq, Headless: brief.Headless}, nil
}

// Say says something in a conversation. The id is the caller's own, and is returned.
func (n *Node) Say(ctx context.Context, conversation, id, by, text string) (string, error) {
	return id, n.say(ctx, conversation, durable.Message{ID: id, By: by, Parts: words(text)})
}

// Answer answers a question.
func (n *Node) Answer(ctx context.Context, conversation, question, by, text string) error {
	return n.say(ctx, conversation, durable.Message{ID: "answer-" + question, By: by, Parts: words(text), InReplyTo: question})
}

// declined is what is said in the place of an answer.
const declined = "I will not answer this."

// Decline says that a question will not be answered.
func (n *Node) Decline(ctx context.Context, conversation, question, by string) error {
	return n.say(ctx, conversation, durable.Message{
		ID: "answer-" + question, By: by, Parts: words(declined), InReplyTo: question, Decline: true,
	})
}

func (n *Node) say(ctx context.Context, conversation string, m durable.Message) error {
	_, err := n.Client.Say(onThisMachine(ctx, m.By), here(conversation), m)
	return err
}

func words(text string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: text}} }

// Verdict is a person's answer to a call that wants approval.
type Verdict string

// The verdicts.
const (
	VerdictOnce   Verdict = "once"
	VerdictTask   Verdict = "task"
	VerdictAlways Verdict = "always"
	VerdictNo     Verdict = "no"
)

// Decide decides about a call that wants approval.
func (n *Node) Decide(ctx context.Context, conversation, by string, p progress.Pending, v Verdict) error {
	d := journal.ApprovalDecided{In: journal.In{Agent: p.Agent, Task: p.Task}, Call: p.Call, Hash: p.Hash, By: by}
	switch v {
	case VerdictOnce:
		d.Allow, d.Scope = true, string(agent.ScopeOnce)
	case VerdictTask:
		d.Allow, d.Scope = true, string(agent.ScopeTask)
	case VerdictAlways:
		d.Allow, d.Scope = true, string(agent.ScopeChat)
	case VerdictNo:
	}
	return n.Client.Decide(onThisMachine(ctx, by), here(conversation), d)
}

// Cancel asks everything in a conversation to stop. The id is the caller's own.
func (n *Node) Cancel(ctx context.Context, conversation, id, by string) error {
	return n.Client.Cancel(onThisMachine(ctx, by), here(conversation), id, by, "")
}

// onThisMachine says for the audit trail who gives a command without having logged in: the person
// who may use the data folder.
func onThisMachine(ctx context.Context, by string) context.Context {
	return audit.With(ctx, audit.Actor{User: by, Source: "cli"})
}

// Follow sends what happens in a conversation after an entry.
func (n *Node) Follow(ctx context.Context, conversation string, after int64) <-chan progress.Update {
	return progress.Follow(ctx, n.Log, n.Bus, here(conversation), after)
}

// Migrate brings the database of the journal and of people up to date. With SQLite there is nothing
// to do: a file is brought up to date when it is opened.
func Migrate(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) error {
	if s.Journal.DSN.IsZero() {
		return &chat.Error{
			Code:    chat.CodeInvalid,
			Message: "journal.dsn is not set: a SQLite journal is brought up to date when it is opened",
		}
	}
	dsn, err := s.Journal.DSN.Reveal(lookup)
	if err != nil {
		return fmt.Errorf("journal.dsn: %w", err)
	}
	return MigrateDatabase(ctx, dsn)
}

// MigrateDatabase makes all tables in a PostgreSQL database, or brings them up to date: the
// journal's first, then those beside it.
func MigrateDatabase(ctx context.Context, dsn string) error {
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	if err := auditstore.Migrate(ctx, dsn); err != nil {
		return err
	}
	if err := webhookstore.Migrate(ctx, dsn); err != nil {
		return err
	}
	return peoplestore.Migrate(ctx, dsn)
}
