package leg

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/tool"
)

// countingMail counts how often somebody looks for mail.
type countingMail struct {
	journal.Log
	looks  atomic.Int64
	looked func()
}

func (c *countingMail) Mail(context.Context, journal.Ref, string) ([]journal.Entry, error) {
	c.looks.Add(1)
	c.looked()
	return nil, nil
}

// TestALegThatIsGivenUp has the engine give a leg up, or call it back, while it has a call under
// way. A leg that is given up ends although the call is under way, and the call is told why. A leg
// that is called back looks at its mail.
func TestALegThatIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gone, called error
	}{
		"given up":    {gone: errors.New("activity already timed out")},
		"called back": {called: errors.New("somebody is to look")},
	} {
		mail := &countingMail{Log: journaltest.NewMemory()}
		h := New(Options{Engine: &register{}, Host: host.Options{Log: mail, Logger: slog.New(slog.DiscardHandler)}})
		work, stop := context.WithCancel(t.Context())
		defer stop()
		gone, giveUp := context.WithCancelCause(work)
		called, callBack := context.WithCancelCause(work) // else which comes first is by chance
		defer giveUp(nil)
		defer callBack(nil)
		l := h.newLeg(Input{})
		call, cancel := context.WithCancelCause(work)
		l.running["call"] = &effectRun{cancel: cancel}
		mail.looked = func() { l.landed <- completion{key: "call", event: agent.Ticked{}} }
		l.family = newFamily(time.Now(), Watch{Called: called, Gone: gone}, false)
		if c.gone != nil {
			giveUp(c.gone)
		} else {
			callBack(c.called)
		}
		err := l.carryOn(work, nil)
		if c.gone == nil && err != nil || c.gone != nil && (err == nil || !strings.Contains(err.Error(), c.gone.Error())) {
			t.Errorf("%s: the leg ends with %v, want %v", name, err, c.gone)
		}
		if mails := mail.looks.Load() > 0; mails != (c.called != nil) || errors.Is(context.Cause(call), tool.ErrGivenUp) == mails {
			t.Errorf("%s: it looks for mail: %t, and the call is told %v", name, mails, context.Cause(call))
		}
	}
}
