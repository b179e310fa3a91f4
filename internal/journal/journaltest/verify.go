package journaltest

import (
	"context"
	"fmt"
	"reflect"

	"github.com/retinue-dev/retinue/internal/journal"
)

// Verify folds a conversation's list again and compares: the list has no gap, and the state that
// the journal keeps is the fold of it. Somebody may write meanwhile: the list is folded as far as
// the state goes.
func Verify(ctx context.Context, log journal.Reader, ref journal.Ref) error {
	kept, err := log.Snapshot(ctx, ref)
	if err != nil {
		return fmt.Errorf("verify %s: %w", ref.Conversation, err)
	}
	view := NewView()
	var seq, number int64
	for seq < kept.Conversation.Seq {
		entries, err := log.Entries(ctx, ref, seq, journal.PageMaxLimit)
		if err != nil {
			return fmt.Errorf("verify %s: %w", ref.Conversation, err)
		}
		if len(entries) == 0 {
			return fmt.Errorf("verify %s: the list ends at %d, the state at %d", ref.Conversation, seq, kept.Conversation.Seq)
		}
		for _, e := range entries[:min(int64(len(entries)), kept.Conversation.Seq-seq)] {
			seq++
			if e.Number != 0 {
				number++
			}
			if e.Seq != seq || (e.Number != 0 && e.Number != number) {
				return fmt.Errorf("verify %s: entry %d (number %d) stands where %d (number %d) is due",
					ref.Conversation, e.Seq, e.Number, seq, number)
			}
			view.Apply(ref, e)
		}
	}
	if err := reaches(ctx, log, ref, seq); err != nil {
		return err
	}
	want, got := reflect.ValueOf(view.Snapshot()), reflect.ValueOf(kept)
	for i := range want.NumField() {
		if !reflect.DeepEqual(want.Field(i).Interface(), got.Field(i).Interface()) {
			return fmt.Errorf("verify %s: %s differ from the fold of %d entries",
				ref.Conversation, want.Type().Field(i).Name, seq)
		}
	}
	return nil
}

// reaches reports whether the state covers the part of the list that was read.
func reaches(ctx context.Context, log journal.Reader, ref journal.Ref, seq int64) error {
	more, err := log.Entries(ctx, ref, seq, 1)
	if err != nil || len(more) == 0 {
		return err
	}
	now, err := log.Snapshot(ctx, ref)
	if err == nil && now.Conversation.Seq < more[0].Seq {
		err = fmt.Errorf("verify %s: the state ends at %d, the list is longer", ref.Conversation, now.Conversation.Seq)
	}
	return err
}
