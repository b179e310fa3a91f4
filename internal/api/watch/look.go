package watch

import (
	"context"
	"time"
)

const (
	// lookMost is how many conversations are asked for in one statement.
	lookMost = 1000
	// lookPause lies between two statements of a look, so that a node with thousands of tenants does
	// not ask for all of them at once.
	lookPause = 5 * time.Millisecond
)

// lookSoon asks for a look without waiting for the next poll.
func (h *Hub) lookSoon() {
	select {
	case h.soon <- struct{}{}:
	default: // one is about to be taken
	}
}

// watch looks at all taps again and again, until there are none.
func (h *Hub) watch() {
	poll := time.NewTicker(h.poll)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
		case <-h.soon:
		}
		h.mu.Lock()
		byTenant := map[string][]*tap{}
		for ref, t := range h.taps {
			byTenant[ref.Tenant] = append(byTenant[ref.Tenant], t)
		}
		if len(byTenant) == 0 {
			h.looking = false
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		for tenant, taps := range byTenant {
			for len(taps) > 0 {
				n := min(len(taps), lookMost)
				h.look(tenant, taps[:n])
				if taps = taps[n:]; len(byTenant) > 1 {
					time.Sleep(lookPause)
				}
			}
		}
	}
}

// look wakes the taps of a tenant that are behind the journal, and ends those whose conversation is
// gone.
func (h *Hub) look(tenant string, taps []*tap) {
	ids, seqs := make([]string, 0, len(taps)), make(map[*tap]int64, len(taps))
	for _, t := range taps {
		if seq, ok := t.at(); ok {
			ids = append(ids, t.ref.Conversation)
			seqs[t] = seq
		}
	}
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	tails, err := h.log.Tails(ctx, tenant, ids...)
	if err != nil {
		h.logger.Warn("streams wait for the journal", "error", err)
		return
	}
	for t, seq := range seqs {
		tail, ok := tails[t.ref.Conversation]
		switch {
		case !ok, tail.Seq < seq: // erased, and perhaps begun again under the same id
			h.end(t, cutDeleted)
		case tail.Seq > seq:
			t.wake()
		}
	}
}
