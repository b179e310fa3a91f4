package app

import (
	"context"
	"time"
)

// behindPoll is the time between two looks for runs that stay on an older build.
const behindPoll = time.Second

// Promote makes a build the one that new runs begin on, and waits until no run is kept to another:
// then the workers of the other builds may be stopped. It reports how many there are when that
// changes.
//
// An idle orchestrator goes over when it is roused, one at work at the end of its turn, and a
// sub-agent's run ends where it began.
func (n *Node) Promote(ctx context.Context, deployment, build string, report func(behind int)) error {
	if err := n.Client.Promote(ctx, deployment, build); err != nil {
		return err
	}
	ticker := time.NewTicker(behindPoll)
	defer ticker.Stop()
	roused, last := map[string]bool{}, -1
	// The engine's list may be a little behind, so that nobody must be on it twice.
	for quiet := 0; quiet < 2; {
		behind, err := n.Client.OnOtherBuilds(ctx, deployment, build)
		if err != nil {
			return err
		}
		if len(behind) != last {
			last = len(behind)
			report(last)
		}
		quiet++
		for _, run := range behind {
			quiet = 0
			if roused[run] {
				continue
			}
			roused[run] = true
			if err := n.Client.Wake(ctx, run); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}
