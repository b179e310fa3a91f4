package journaltest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) Fixture {
		l := &lossy{Memory: NewMemory()}
		return Fixture{
			Log: l, Other: func() journal.Log { return l.Memory }, LoseAnswer: func() { l.lose.Store(true) },
		}
	})
}

// lossy is a journal whose answers can be lost.
type lossy struct {
	*Memory
	lose atomic.Bool
}

func (l *lossy) Append(
	ctx context.Context, at journal.Ref, when time.Time, rows ...journal.Row,
) ([]journal.Written, error) {
	written, err := l.Memory.Append(ctx, at, when, rows...)
	if err == nil && l.lose.Swap(false) {
		return nil, &chat.Error{Code: chat.CodeUnavailable, Message: "try again"}
	}
	return written, err
}
