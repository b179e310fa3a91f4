// Package journal records what happened, and is the only home of content.
//
// A conversation is one list of entries, numbered from 1 without a gap. An entry holds one Row: a
// fact, keyed by an id that its writer knew beforehand. Writing a row twice is the same as writing
// it once, so a writer that is not sure whether a commit went through writes it again: the first
// record of a key stands, and a later writer is told so. Entries are never changed.
//
// All that people and programs ask for (agents, tasks, usage, open questions) is a fold of that
// list. Changes is the definition of that fold: which lines of which tables a row adds or changes.
// Databases write them in the transaction of the entries, and journaltest compares their answers
// with a view in memory.
//
// The package imports chat only. Adapters below it know SQL.
package journal

import (
	"context"
	"math"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Ref says whose conversation is meant. There is no way to read or write without one.
type Ref struct {
	Tenant       string
	Conversation string
}

// Entry is one row with its place in the list.
type Entry struct {
	Seq int64
	// Number counts what people said to the orchestrator, from 1 without a gap; zero for all else.
	Number int64
	At     time.Time
	Row    Row
}

// Written says where a row stands in the list after an append.
type Written struct {
	Seq    int64
	Number int64
	// Existed means that the key existed: the earlier record stands, and this one was dropped. Seq
	// is zero for a row that was dropped because its step existed.
	Existed bool
}

// Log is a journal. All methods are safe for concurrent use.
type Log interface {
	Writer
	Reader
	Lists
}

// Writer adds to a journal.
type Writer interface {
	// Append writes rows in order and returns when they are durable: all of them, or none and an
	// error. After an error that is not a refusal the rows may or may not be written; writing the
	// same rows again settles it. A conversation begins with Opened.
	Append(ctx context.Context, ref Ref, at time.Time, rows ...Row) ([]Written, error)
	// Keep stores texts of a conversation under the hashes of their content (HashOf). It may do so
	// before the conversation begins. One that was erased keeps nothing.
	Keep(ctx context.Context, ref Ref, texts ...string) error
	// Reserve takes an amount from a tenant's budget of a month (MonthOf), unless the budget has
	// less left. The Responded row that names it returns the unused part.
	Reserve(ctx context.Context, tenant, month string, amount, most int64) (bool, error)
	// Erase removes a conversation with everything in it, its texts too, and leaves a Tombstone.
	Erase(ctx context.Context, ref Ref) error
}

// Reader reads one conversation. A conversation or text that does not exist, or belongs to somebody
// else, is not_found.
type Reader interface {
	// Entries returns the entries after a sequence number, in order, at most limit and not much
	// more than PageBytes: a page that has entries may have fewer than there are, one without is
	// the end.
	Entries(ctx context.Context, ref Ref, after int64, limit int) ([]Entry, error)
	// Find returns the entries with these keys, in the order of the list; those that do not exist
	// are left out.
	Find(ctx context.Context, ref Ref, keys ...string) ([]Entry, error)
	// Steps returns the recorded events of a task that come after the n-th, in order.
	Steps(ctx context.Context, ref Ref, task string, after int) ([]Stepped, error)
	// Mail returns the posts that wait for an agent, in order.
	Mail(ctx context.Context, ref Ref, agent string) ([]Entry, error)
	// Mailboxes returns the agents for which something waits, in order of their ids.
	Mailboxes(ctx context.Context, ref Ref) ([]string, error)
	// Transcript returns the last messages of an agent in order, without those that were voided.
	Transcript(ctx context.Context, ref Ref, agent string, page Page) ([]Message, error)
	// Chat returns what people and the orchestrator said to each other, in order. It looks at Bytes.
	Chat(ctx context.Context, ref Ref, page Page) ([]Message, error)
	// Marks returns the last notes and ends of turns, in order. People see them between the
	// messages of a chat.
	Marks(ctx context.Context, ref Ref, page Page) ([]Entry, error)
	// ModelCalls and ToolCalls return the last calls of an agent, in order.
	ModelCalls(ctx context.Context, ref Ref, agent string, page Page) ([]ModelCall, error)
	ToolCalls(ctx context.Context, ref Ref, agent string, page Page) ([]ToolCall, error)
	// Snapshot returns the state of a conversation as of one moment.
	Snapshot(ctx context.Context, ref Ref) (Snapshot, error)
	// Records returns the conversation's model calls and delegations, one flat record each.
	Records(ctx context.Context, ref Ref) ([]Record, error)
	// Text returns a kept text.
	Text(ctx context.Context, ref Ref, hash string) (string, error)
	// Erased returns the rest of an erased conversation; not_found if none was erased.
	Erased(ctx context.Context, ref Ref) (Tombstone, error)
	// Weight says how much a conversation holds.
	Weight(ctx context.Context, ref Ref) (Weight, error)
}

// Lists reads across the conversations of one tenant, and the mailbox across all of them.
type Lists interface {
	// Conversations returns those that are archived or, unless the page says so, those that are not;
	// the one last written to first.
	Conversations(ctx context.Context, tenant string, page Page) ([]Conversation, error)
	// Tails says how far conversations go; those that do not exist are left out.
	Tails(ctx context.Context, tenant string, conversations ...string) (map[string]Tail, error)
	// Lines returns conversations, archived ones too; those that do not exist are left out.
	Lines(ctx context.Context, tenant string, conversations ...string) (map[string]Line, error)
	// Untouched returns the conversations whose last row is older than a time, archived ones too: those
	// whose ids come after one, in the order of their ids, at most limit.
	Untouched(ctx context.Context, tenant string, before time.Time, after string, limit int) ([]string, error)
	// Inbox returns what waits for a person, the oldest first.
	Inbox(ctx context.Context, tenant string, limit int) ([]Waiting, error)
	// Search finds messages of people and models by words, the newest first.
	Search(ctx context.Context, tenant string, query Query) ([]Hit, error)
	// Usage sums what model calls used, in the order of each group's first call.
	Usage(ctx context.Context, tenant string, query UsageQuery) ([]Used, error)
	// Spent is a tenant's spending and reservations in a month. Only reserved amounts count.
	Spent(ctx context.Context, tenant, month string) (int64, error)
	// Stored is how many bytes the rows and texts of a tenant hold, private conversations with them.
	Stored(ctx context.Context, tenant string) (int64, error)
	// Tasks lists the tasks of agents, the newest first.
	Tasks(ctx context.Context, tenant string, query TaskQuery) ([]TaskLine, error)
	// Runs sums what became of tasks that were assigned since a time, and of turns that ended since, by
	// role.
	Runs(ctx context.Context, tenant string, since time.Time) ([]RoleRuns, error)
	// Pending returns posts of all tenants that were not delivered: the oldest of each tenant, then the
	// next of each. Pending, Arrived and Working are all that can be seen across tenants, and hold no
	// content.
	Pending(ctx context.Context, before time.Time, limit int) ([]Post, error)
	// Arrived returns posts of all tenants that were posted after a time and not delivered, the newest
	// first. It is cheap.
	Arrived(ctx context.Context, after time.Time, limit int) ([]Post, error)
	// Working returns tasks of all tenants that were assigned before a time and have not ended, the
	// idle and the never addressed orchestrators left out: those that come after one, in the order of
	// tenant, conversation and task, at most limit.
	Working(ctx context.Context, before time.Time, after WorkingTask, limit int) ([]WorkingTask, error)
}

// WorkingTask names a task that has not ended. Parent is the agent that gave it, empty for the
// orchestrator's.
type WorkingTask struct {
	Ref

	Task, Agent, Parent string
	Background          bool
}

// Page asks for at most Limit things, before a sequence number or, in a list of conversations,
// before a cursor. The zero value asks for the last hundred.
type Page struct {
	Limit  int
	Before int64
	Cursor string
	// Archived asks a list of conversations for those that are archived.
	Archived bool
	// Bytes is how large a page of a chat may get before it ends: one message more at most. Zero means
	// any size.
	Bytes int64
}

// PageLimit is how much a page holds when nothing is said, and the most that it can hold.
const (
	PageLimit    = 100
	PageMaxLimit = 1000
)

// PageBytes is how large a page of entries gets before it ends: one entry more at most.
const PageBytes = 1 << 20

// Size is the number of things that a page asks for.
func (p Page) Size() int {
	if p.Limit <= 0 {
		return PageLimit
	}
	return min(p.Limit, PageMaxLimit)
}

// Most is how many bytes a page of a chat gets before it ends.
func (p Page) Most() int64 {
	if p.Bytes <= 0 {
		return math.MaxInt64
	}
	return p.Bytes
}

// Message is one message of a transcript or a chat. Number is set for what a person said.
type Message struct {
	Seq    int64
	Number int64
	At     time.Time
	Agent  string
	By     string
	Turn   int
	// Reads are the numbers of the people's messages that are part of this one.
	Reads []int64
	chat.Message
}

// Weight is how much a conversation holds.
type Weight struct {
	Rows, Texts int64
	// Bytes is the size of both, as the database keeps them.
	Bytes int64
}

// Query is a search. Words are matched without regard to case, and all of them must occur.
type Query struct {
	Words        string
	Conversation string
	// SubAgents searches what sub-agents said as well.
	SubAgents bool
	Limit     int
}

// Hit is a message that a search found.
type Hit struct {
	Conversation string
	Seq          int64
	At           time.Time
	Agent        string
	Speaker      chat.Speaker
	Text         string
}

// Post is mail that waits for an agent. To is empty for a command to the server itself.
type Post struct {
	Ref
	ID    string
	Topic string
	To    string
	At    time.Time
}
