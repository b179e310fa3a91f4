package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Log is a journal whose commands leave a trail, from every listener: a row that a person or a
// program ordered is on the trail before it is in the journal.
type Log struct {
	journal.Log
	trail *Trail
	// source is the source of commands whose context names none.
	source string
}

// NewLog audits the appends to a log. Source names the process for rows without an actor in the
// context.
func NewLog(log journal.Log, trail *Trail, source string) *Log {
	return &Log{Log: log, trail: trail, source: source}
}

// Append implements journal.Writer.
func (l *Log) Append(ctx context.Context, ref journal.Ref, at time.Time, rows ...journal.Row) ([]journal.Written, error) {
	var records []Record
	rows = slices.Clone(rows)
	for i, row := range rows {
		r, ok := recordOf(row)
		if !ok || !happens(ref, r) {
			continue
		}
		r = l.fill(ctx, ref, row.Key(), r)
		records = append(records, r)
		if d, ok := row.(journal.ApprovalDecided); ok {
			d.Audit = r.Key
			rows[i] = d
		}
	}
	for _, r := range records {
		if err := l.trail.Write(ctx, ref.Tenant, r); err != nil {
			return nil, err
		}
	}
	written, err := l.Log.Append(ctx, ref, at, rows...)
	if err != nil {
		l.failed(ctx, ref.Tenant, records, err)
	}
	return written, err
}

// Witnessed reports whether the trail has the decision as the journal has it: on the same call,
// shown in the same form and with the same arguments, the same answer and the same scope.
func (l *Log) Witnessed(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) (bool, error) {
	if d.Audit == "" {
		return false, nil
	}
	got, found, err := l.trail.Find(ctx, ref.Tenant, d.Audit)
	if err != nil || !found {
		return false, err
	}
	want, _ := recordOf(d)
	return got.Action == want.Action && got.Outcome == Accepted && got.Conversation == ref.Conversation &&
		got.Object == want.Object && got.Digest == want.Digest && got.Detail == want.Detail, nil
}

// happens reports whether a row that means something to the trail means it here and now. In an
// imported conversation only its removal does: all else in it was done elsewhere, and that it was
// brought here has an entry of its own.
func happens(ref journal.Ref, r Record) bool {
	return r.Action == ActionDelete || !journal.Imported(ref.Conversation)
}

// Erase implements journal.Writer. The entry says how much goes.
func (l *Log) Erase(ctx context.Context, ref journal.Ref) error {
	w, err := l.Weight(ctx, ref)
	if err != nil {
		return err
	}
	r := l.fill(ctx, ref, "erase", Record{Action: ActionErase, Detail: weighed(w)})
	if err := l.trail.Write(ctx, ref.Tenant, r); err != nil {
		return err
	}
	err = l.Log.Erase(ctx, ref)
	if err != nil {
		l.failed(ctx, ref.Tenant, []Record{r}, err)
	}
	return err
}

// failed records that an accepted command had no effect, or that its effect is unknown. It tries
// once: the caller is told of the first error.
func (l *Log) failed(ctx context.Context, tenant string, records []Record, err error) {
	for _, r := range records {
		r.Outcome, r.Detail, r.Key = Failed, strings.TrimSpace(r.Detail+" error="+string(chat.CodeOf(err))), ""
		_ = l.trail.Write(context.WithoutCancel(ctx), tenant, r)
	}
}

// fill completes a record of a row. Its key is made of all it says, so that a command that is sent
// again is one entry, and another person's is another.
func (l *Log) fill(ctx context.Context, ref journal.Ref, key string, r Record) Record {
	r.Outcome, r.Conversation = Accepted, ref.Conversation
	if by := ActorOf(ctx); by != (Actor{}) {
		r.Actor = by
	} else {
		r.Actor.Source = l.source
	}
	r.Key = keyOf(ref.Conversation, key, r)
	return r
}

func keyOf(conversation, key string, r Record) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		conversation, key, string(r.Action), r.Actor.User, r.Actor.Credential, r.Object, r.Digest, r.Detail,
	}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// recordOf is the record of a row; false if nobody ordered the row and it has no effect outside.
// The row's own actor counts if the context has none.
func recordOf(row journal.Row) (Record, bool) {
	switch r := row.(type) {
	case journal.Opened:
		return Record{Action: ActionOpen, Actor: Actor{User: r.By}, Detail: "workspace=" + r.Workspace}, true
	case journal.Shared:
		return Record{Action: ActionShare, Actor: Actor{User: r.By}}, true
	case journal.Archived:
		return Record{Action: ActionArchive, Actor: Actor{User: r.By}}, true
	case journal.MessageReceived:
		return Record{Action: ActionPost, Actor: Actor{User: r.By}, Object: r.ID, Detail: replyOf(r)}, true
	case journal.ApprovalDecided:
		return Record{
			Action: ActionDecide, Actor: Actor{User: r.By}, Object: ObjectOf(r.Agent, r.Call), Digest: digestOf(r),
			Detail: fmt.Sprintf("allow=%t scope=%s", r.Allow, r.Scope),
		}, true
	case journal.Granted:
		return Record{
			Action: ActionGrant, Object: ObjectOf(r.Agent, r.Call), Digest: journal.HashOf(r.Tool + "\n" + r.Pattern), Detail: "tool=" + r.Tool,
		}, true
	case journal.MailPosted:
		return ordered(r)
	case journal.ToolStarted:
		if r.Class != "once" && r.Class != "reconcilable" {
			return Record{}, false
		}
		return Record{
			Action: ActionEffect, Object: ObjectOf(r.Agent, r.Call),
			Detail: fmt.Sprintf("class=%s attempt=%d worker=%s", r.Class, r.Attempt, r.Worker),
		}, true
	case journal.HostReached:
		return Record{
			Action: ActionReach, Object: ObjectOf(r.Agent, r.Call), Detail: "host=" + net.JoinHostPort(r.Host, strconv.Itoa(r.Port)),
		}, true
	case journal.Titled, journal.MailDelivered, journal.TaskAssigned, journal.StatusChanged, journal.TaskEnded, journal.PatchKept,
		journal.TurnEnded, journal.Stepped, journal.NoteAdded, journal.MessageAdded, journal.ReplyVoided, journal.ModelCalled,
		journal.ModelReplied, journal.ToolReturned, journal.QuestionAsked, journal.QuestionRelayed, journal.QuestionAnswered, journal.ApprovalRequested, journal.ApprovalClosed,
		journal.EditProposed, journal.Tainted, journal.Newer:
	}
	return Record{}, false
}

// digestOf identifies a person's decision: the call they were shown and, if they changed it, the
// arguments that they gave instead.
func digestOf(r journal.ApprovalDecided) string {
	if r.Args == "" {
		return r.Hash
	}
	return journal.HashOf(r.Hash + "\n" + r.Args)
}

// ordered is the record of a post that is a command by itself. The others go with a row that is.
func ordered(r journal.MailPosted) (Record, bool) {
	switch r.Topic {
	case "cancel":
		return Record{Action: ActionCancel, Actor: Actor{User: r.By}, Object: r.Task}, true
	case "erase":
		return Record{Action: ActionDelete, Actor: Actor{User: r.By}}, true
	}
	return Record{}, false
}

func replyOf(r journal.MessageReceived) string {
	switch {
	case r.InReplyTo == "":
		return ""
	case r.Decline:
		return "declines=" + r.InReplyTo
	}
	return "answers=" + r.InReplyTo
}

// ObjectOf names a call of an agent.
func ObjectOf(agent, call string) string { return chat.RefOf(agent, call).String() }
