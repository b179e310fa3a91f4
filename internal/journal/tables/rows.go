package tables

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// entryRow is an entry as queries return it.
type entryRow struct {
	Seq    int64
	Number int64
	Kind   string
	At     int64
	Body   string
}

// entryLike are the rows of queries for entries: each has a type of its own.
type entryLike interface {
	~struct {
		Seq    int64
		Number int64
		Kind   string
		At     int64
		Body   string
	}
}

// Entries reads entries.
func Entries[R entryLike](rows []R) ([]journal.Entry, error) {
	out := make([]journal.Entry, 0, len(rows))
	for _, row := range rows {
		e := entryRow(row)
		read, err := journal.Read(journal.Kind(e.Kind), []byte(e.Body))
		if err != nil {
			return nil, err
		}
		out = append(out, journal.Entry{Seq: e.Seq, Number: e.Number, At: moment(e.At), Row: read})
	}
	return out, nil
}

// Reversed reads entries, the newest of which comes first, in the order of the list.
func Reversed[R entryLike](rows []R) ([]journal.Entry, error) {
	out, err := Entries(rows)
	slices.Reverse(out)
	return out, err
}

// Messages reads the messages of entries, the newest of which comes first, in the order of the
// list.
func Messages[R entryLike](rows []R) ([]journal.Message, error) {
	found, err := Reversed(rows)
	out := make([]journal.Message, 0, len(found))
	for _, e := range found {
		out = append(out, journal.MessageOf(e))
	}
	return out, err
}

// StepsAfter reads the steps of entries that come after the n-th.
func StepsAfter[R entryLike](n int) func([]R) ([]journal.Stepped, error) {
	return func(rows []R) (out []journal.Stepped, err error) {
		found, err := Entries(rows)
		for _, e := range found {
			if step, ok := e.Row.(journal.Stepped); ok && step.N > n {
				out = append(out, step)
			}
		}
		return out, err
	}
}

// The rows of queries across tables.
type (
	// Waiting is a question or an approval that waits for a person.
	Waiting struct {
		ConversationID  string
		Seq, At         int64
		AgentID, TaskID string
		EntryKey        string
		Until           int64
		PrivateTo       string
	}

	// Hit is a message that a search found.
	Hit struct {
		ConversationID   string
		Seq, At          int64
		AgentID, Speaker string
		Kind, Body       string
	}

	// Used is what the model calls of one group used.
	Used struct {
		Name                                                                   string
		Calls, Input, Output, CacheRead, CacheWrite, Reasoning, Cost, Unpriced int64
	}

	// Post is a line of the mailbox.
	Post struct {
		TenantID, ConversationID, PostID, AgentID, Topic string
		At                                               int64
	}

	// Working is a task that has not ended.
	Working struct {
		TenantID, ConversationID, TaskID, AgentID, ParentID string
		Background                                          bool
	}

	// RoleRuns counts how the runs of one role ended.
	RoleRuns struct {
		Role                                   string
		Runs, Completed, Cost, Questions, Took int64
	}
)

// Waiting is the row as the port has it.
func (w Waiting) Waiting() journal.Waiting {
	return journal.Waiting{
		Conversation: w.ConversationID, Seq: w.Seq, At: moment(w.At), Agent: w.AgentID, Task: w.TaskID,
		Key: w.EntryKey, Until: w.Until, PrivateTo: w.PrivateTo,
	}
}

// Hits reads the results of a search.
func Hits[R ~struct {
	ConversationID string
	Seq            int64
	At             int64
	AgentID        string
	Speaker        string
	Kind           string
	Body           string
}](rows []R) (out []journal.Hit, err error) {
	for _, row := range rows {
		h := Hit(row)
		read, err := journal.Decode(journal.Kind(h.Kind), []byte(h.Body))
		if err != nil {
			return nil, err
		}
		found := journal.MessageOf(journal.Entry{Seq: h.Seq, Row: read})
		out = append(out, journal.Hit{
			Conversation: h.ConversationID, Seq: h.Seq, At: moment(h.At), Agent: h.AgentID,
			Speaker: chat.Speaker(h.Speaker), Text: journal.Words(found.Parts),
		})
	}
	return out, nil
}

// Used is the row as the port has it.
func (u Used) Used() journal.Used {
	return journal.Used{Name: u.Name, Calls: u.Calls, Usage: chat.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
		Cost: u.Cost, Unpriced: u.Unpriced,
	}}
}

// Post is the row as the port has it.
func (p Post) Post() journal.Post {
	return journal.Post{
		Ref: journal.Ref{Tenant: p.TenantID, Conversation: p.ConversationID},
		ID:  p.PostID, Topic: p.Topic, To: p.AgentID, At: moment(p.At),
	}
}

// Working is the row as the port has it.
func (w Working) Working() journal.WorkingTask {
	return journal.WorkingTask{
		Ref:  journal.Ref{Tenant: w.TenantID, Conversation: w.ConversationID},
		Task: w.TaskID, Agent: w.AgentID, Parent: w.ParentID, Background: w.Background,
	}
}

// RoleRuns is the row as the port has it.
func (r RoleRuns) RoleRuns() journal.RoleRuns {
	return journal.RoleRuns{
		Role: r.Role, Runs: r.Runs, Completed: r.Completed, Cost: r.Cost, Questions: r.Questions, Duration: r.Took,
	}
}

// TaskLine is a task of a list across conversations. Its request and its outcome are JSON.
type TaskLine struct {
	Task                  Task
	Role, OpenedBy, Title string
	Cost                  int64
	Begun, Ended          string
}

// TaskLines reads tasks of a list across conversations.
func TaskLines[R any](as func(R) TaskLine) func([]R) ([]journal.TaskLine, error) {
	return parsed(func(row R) (journal.TaskLine, error) { return as(row).line() })
}

// parsed converts the rows of a query one by one, and may fail.
func parsed[From, To any](convert func(From) (To, error)) func([]From) ([]To, error) {
	return func(rows []From) (out []To, err error) {
		for _, row := range rows {
			line, err := convert(row)
			if err != nil {
				return nil, err
			}
			out = append(out, line)
		}
		return out, nil
	}
}

func (t TaskLine) line() (journal.TaskLine, error) {
	out := journal.TaskLine{
		Task: t.Task.Task(), Conversation: t.Task.ConversationID, Title: t.Title, By: t.OpenedBy, Role: t.Role, Cost: t.Cost,
	}
	if err := json.Unmarshal([]byte(t.Begun), &out.Begun); err != nil {
		return out, fmt.Errorf("begin of task %s: %w", out.ID, err)
	}
	if t.Ended != "" {
		if err := json.Unmarshal([]byte(t.Ended), &out.Ended); err != nil {
			return out, fmt.Errorf("end of task %s: %w", out.ID, err)
		}
	}
	return out, nil
}

// Record is a model call or a delegation in one flat line.
type Record struct {
	ID                                  int64
	SessionID                           string
	ParentMessageID, StartedAt          int64
	CompletedAt                         *int64
	DurationMs                          int64
	AgentRole                           string
	AgentDepth                          int64
	ModelID, SystemPromptID             string
	RequestType, RequestContent         string
	ContextMode                         string
	ContextTokenCount                   int64
	ResponseContent, ResponseSummary    string
	ToolCallsJson, FilesModifiedJson    string //nolint:staticcheck // the generated names
	PromptTokens, CompletionTokens      int64
	IterationCount, MaxIterations       int64
	MaxDurationMs                       int64
	BailoutReason, Status, ErrorMessage string
	MetadataJson                        string //nolint:staticcheck // as above
}

// Records reads flat lines.
func Records[R any](as func(R) Record) func([]R) ([]journal.Record, error) {
	return parsed(func(row R) (journal.Record, error) { return as(row).record() })
}

func (r Record) record() (journal.Record, error) {
	out := journal.Record{
		ID: r.ID, Session: r.SessionID, Parent: r.ParentMessageID, StartedAt: moment(r.StartedAt),
		CompletedAt: momentIf(r.CompletedAt), Duration: r.DurationMs, Role: r.AgentRole,
		Depth: int(r.AgentDepth), Model: r.ModelID, Prompt: r.SystemPromptID,
		RequestType: journal.RequestType(r.RequestType), Request: r.RequestContent,
		ContextMode: r.ContextMode, ContextTokens: r.ContextTokenCount,
		Response: r.ResponseContent, Summary: r.ResponseSummary, PromptTokens: r.PromptTokens,
		CompletionTokens: r.CompletionTokens, Iterations: int(r.IterationCount),
		MaxIterations: int(r.MaxIterations), MaxDuration: r.MaxDurationMs, Bailout: r.BailoutReason,
		Status: chat.Status(r.Status), Error: r.ErrorMessage,
	}
	err := errors.Join(
		json.Unmarshal([]byte(r.ToolCallsJson), &out.ToolCalls),
		json.Unmarshal([]byte(r.FilesModifiedJson), &out.Files),
		json.Unmarshal([]byte(r.MetadataJson), &out.Details),
	)
	if err != nil {
		return out, fmt.Errorf("record %d: %w", r.ID, err)
	}
	return out, nil
}
