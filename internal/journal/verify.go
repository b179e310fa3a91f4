package journal

import (
	"context"
	"fmt"
	"reflect"
)

// Verify folds a conversation's list again and compares: the list has no gap, and the state that
// the journal keeps is the fold of it.
func Verify(ctx context.Context, log Reader, place Place) error {
	view := NewView()
	var seq, number int64
	for {
		entries, err := log.Entries(ctx, place, seq, PageMaxLimit)
		if err != nil {
			return fmt.Errorf("verify %s: %w", place.Conversation, err)
		}
		for _, e := range entries {
			seq++
			if e.Number != 0 {
				number++
			}
			if e.Seq != seq || (e.Number != 0 && e.Number != number) {
				return fmt.Errorf("verify %s: entry %d (number %d) stands where %d (number %d) is due",
					place.Conversation, e.Seq, e.Number, seq, number)
			}
			view.Apply(place, e)
		}
		if len(entries) < PageMaxLimit {
			break
		}
	}
	kept, err := log.Snapshot(ctx, place)
	if err != nil {
		return fmt.Errorf("verify %s: %w", place.Conversation, err)
	}
	want, got := reflect.ValueOf(view.Snapshot()), reflect.ValueOf(kept)
	for i := range want.NumField() {
		if !reflect.DeepEqual(want.Field(i).Interface(), got.Field(i).Interface()) {
			return fmt.Errorf("verify %s: %s differ from the fold of %d entries",
				place.Conversation, want.Type().Field(i).Name, seq)
		}
	}
	return nil
}
