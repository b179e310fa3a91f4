package watch

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// baseline notes the state with which the board begins.
func (b *board) baseline(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	list, err := b.hub.log.Conversations(ctx, b.tenant, journal.Page{Limit: boardPage})
	if err != nil {
		return err
	}
	for _, c := range list {
		b.knows(c)
	}
	inbox, err := b.hub.log.Inbox(ctx, b.tenant, boardInbox)
	for _, w := range inbox {
		b.waiting[thing(w)] = w
	}
	return err
}

// knows notes how far a conversation goes, and whom it is for.
func (b *board) knows(c journal.Conversation) {
	if b.known[c.ID] = c.Seq; c.PrivateTo != "" {
		b.private[c.ID] = c.PrivateTo
	} else {
		delete(b.private, c.ID)
	}
}

// look finds what changed without a notice. The next look finds what cannot be read now.
func (b *board) look(ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	met, err := b.lookDown(short)
	if err == nil && !met {
		err = b.anew(short)
	}
	if err == nil && met {
		err = b.lookAtKnown(short)
	}
	b.waits(ctx, err)
}

// waits says why a list is told later.
func (b *board) waits(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		b.hub.logger.WarnContext(ctx, "a list waits for the journal", "error", err)
	}
}

// lookAtKnown finds which of the conversations that were told are not as they were.
func (b *board) lookAtKnown(ctx context.Context) error {
	tails, err := b.hub.log.Tails(ctx, b.tenant, slices.Collect(maps.Keys(b.known))...)
	if err != nil {
		return err
	}
	for id, seq := range b.known {
		if tails[id].Seq != seq {
			b.dirty[id] = true
		}
	}
	return nil
}

// lookDown goes down the list, in which what was last written to comes first, to the first page
// with a conversation that is as it was: below it nothing is new. It reports whether it met one, or
// the end.
func (b *board) lookDown(ctx context.Context) (met bool, err error) {
	page := journal.Page{Limit: boardPage}
	for range boardPages {
		list, err := b.hub.log.Conversations(ctx, b.tenant, page)
		if err != nil {
			return false, err
		}
		met = len(list) < boardPage
		for _, c := range list {
			if seq, ok := b.known[c.ID]; ok && seq == c.Seq {
				met = true
			} else {
				b.dirty[c.ID] = true
			}
		}
		if met {
			return true, nil
		}
		page.Cursor = list[len(list)-1].Cursor()
	}
	return false, nil
}

// anew begins again with the lists as they are, and sends everyone there: so much is new that
// telling it would take longer.
func (b *board) anew(ctx context.Context) error {
	known, waiting := b.known, b.waiting
	b.known, b.waiting = map[string]int64{}, map[string]journal.Waiting{} // private ones stay known: few, and never wrong
	if err := b.baseline(ctx); err != nil {
		b.known, b.waiting = known, waiting // the next look tries again
		return err
	}
	clear(b.dirty)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resync()
	return nil
}

// trim forgets all conversations but those at the top of the list.
func (b *board) trim(ctx context.Context) error {
	list, err := b.hub.log.Conversations(ctx, b.tenant, journal.Page{Limit: boardPage})
	if err != nil {
		return err
	}
	top := map[string]int64{}
	for _, c := range list {
		if seq, ok := b.known[c.ID]; ok {
			top[c.ID] = seq // not c.Seq: what was written since has to be told
		} else {
			b.dirty[c.ID] = true
		}
	}
	b.known = top
	maps.DeleteFunc(b.private, func(id, _ string) bool { _, kept := top[id]; return !kept })
	return nil
}

// flush tells what has changed.
func (b *board) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	ids := slices.Sorted(maps.Keys(b.dirty))
	lines, err := b.hub.log.Lines(ctx, b.tenant, ids...)
	if err != nil {
		return err
	}
	inbox, err := b.hub.log.Inbox(ctx, b.tenant, boardInbox)
	if err != nil {
		return err
	}
	defer b.publish()
	counts := map[string]int{}
	for _, w := range inbox {
		counts[w.Conversation]++
	}
	for _, id := range ids {
		if err := b.line(id, lines, counts[id]); err != nil {
			return err
		}
		delete(b.dirty, id)
	}
	if len(b.known) > boardMost {
		if err := b.trim(ctx); err != nil {
			return err
		}
	}
	return b.inbox(ctx, inbox)
}

// line tells the state of a conversation.
func (b *board) line(id string, lines map[string]journal.Line, waiting int) error {
	line, ok := lines[id]
	if !ok {
		owner := b.private[id]
		delete(b.known, id)
		delete(b.private, id)
		return b.tell("c/"+id, owner, wire.ConversationRemoved, wire.RemovedLine{Type: wire.ConversationRemoved, Conversation: id})
	}
	b.knows(line.Conversation)
	return b.tell("c/"+id, line.PrivateTo, wire.ConversationUpdated, wire.UpdatedLine{
		Type: wire.ConversationUpdated, Conversation: events.Conversation(line.Conversation), Running: line.Running, Last: string(line.Last), Waiting: waiting,
	})
}

// inbox tells what waits for people and what no longer does.
func (b *board) inbox(ctx context.Context, inbox []journal.Waiting) error {
	now := map[string]bool{}
	for _, w := range inbox {
		now[thing(w)] = true
		if was, ok := b.waiting[thing(w)]; ok && was.PrivateTo == w.PrivateTo {
			continue // who is told for the second time, because it is shared now, loses nothing
		}
		item, err := Waiting(ctx, b.hub.log, b.tenant, w)
		if chat.CodeOf(err) == chat.CodeNotFound {
			continue // the conversation is gone
		}
		if err == nil {
			err = b.tell(thing(w), w.PrivateTo, wire.InboxAdded, wire.AddedWaiting{Type: wire.InboxAdded, Item: item})
		}
		if err != nil {
			return err
		}
		b.waiting[thing(w)] = w
	}
	for key, w := range b.waiting {
		if now[key] {
			continue
		}
		if err := b.tell(key, w.PrivateTo, wire.InboxRemoved, takenOf(w)); err != nil {
			return err
		}
		delete(b.waiting, key)
	}
	return nil
}

// thing names something that waits.
func thing(w journal.Waiting) string { return "w/" + w.Conversation + "/" + w.Key }

// takenOf says that something no longer waits. Keys of entries say what it was.
func takenOf(w journal.Waiting) wire.RemovedWaiting {
	out := wire.RemovedWaiting{Type: wire.InboxRemoved, Conversation: w.Conversation}
	if question, ok := strings.CutPrefix(w.Key, journal.QuestionAsked{}.Key()); ok {
		out.Question = question
	} else {
		out.Approval = events.ApprovalID(w.Agent, string(chat.ParseCallRef(w.Key).Call))
	}
	return out
}
