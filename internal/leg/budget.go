package leg

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
)

// callBudget pays for the sendings of one model call from the rest of the agent's lease and of the
// tenant's month. The core reserves the estimated cost of a call; the budget reserves the most that
// each sending may cost, before it goes out.
type callBudget struct {
	leg *leg
	// call is the key of the model call's effect.
	call string
	// capped means that the lease has a limit, and left is the rest of it.
	capped bool
	// month and budget are the tenant's; no budget means any amount.
	month  string
	budget int64

	mu    sync.Mutex
	left  int64
	spent int64
	// reserved is the call's part of the budget, and spare the part of it that was returned.
	reserved, spare int64
}

// newCallBudget makes a budget for an effect that may use so much of the lease.
func (l *leg) newCallBudget(effect agent.Effect, left int64) *callBudget {
	return &callBudget{
		leg: l, call: effect.Key(), capped: l.position.State.Cost.Grant > 0, left: left,
		month: journal.MonthOf(l.Now()), budget: l.budget(),
	}
}

// Take implements model.Budget. A call without a known price takes the smallest amount from the
// budget, so that it is refused too when nothing is left.
func (p *callBudget) Take(ctx context.Context, most int64) *model.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.capped && most > p.left {
		return &model.Error{Kind: chat.KindBudgetExceeded, Message: fmt.Sprintf(
			"$%.4f is left of what this task may cost, and the call may cost $%.4f: begin again with a higher max_cost, or make the task smaller",
			float64(max(p.left, 0))/1e6, float64(most)/1e6)}
	}
	if need := max(most, 1) - p.spare; p.budget > 0 && need > 0 {
		ok, err := p.leg.Log.Reserve(ctx, p.leg.in.Ref.Tenant, p.month, need, p.budget)
		if err != nil {
			return &model.Error{Kind: chat.KindServerError, Message: "the budget of the month cannot be read: try again", Cause: err}
		}
		if !ok {
			return p.refusal(most)
		}
		p.reserved, p.spare = p.reserved+need, p.spare+need
	}
	p.left, p.spent, p.spare = p.left-most, p.spent+most, p.spare-most
	return nil
}

// Return implements model.Budget.
func (p *callBudget) Return(rest int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.spent, p.spare = p.left+rest, p.spent-rest, p.spare+rest
}

// cede makes a model call under way leave an amount of the lease to a side turn, if the lease has
// that much.
func (l *leg) cede(amount int64) bool {
	p := l.pays
	if p == nil || l.running[p.call] == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.capped && amount > p.left {
		return false
	}
	p.left -= amount
	return true
}

// refusal is the end of a call that the tenant's budget does not allow.
func (p *callBudget) refusal(most int64) *model.Error {
	now := p.leg.Now().UTC()
	next := now.AddDate(0, 1, 1-now.Day())
	return &model.Error{Kind: chat.KindBudgetExceeded, Message: fmt.Sprintf(
		"the budget of this month, $%.2f, does not allow a call that may cost $%.4f: wait until %s, or ask the person who runs this installation to raise quotas.month_usd",
		float64(p.budget)/1e6, float64(most)/1e6, next.Format(time.DateOnly))}
}

// on returns the unused part to the budget when a call ends.
func (p *callBudget) on(end journal.ModelReplied) journal.ModelReplied {
	if p.reserved > 0 {
		end.Month, end.Reserved = p.month, p.reserved
	}
	return end
}

// charge charges the lease for a call. A sending of unknown use is charged the most that it may
// have used; the journal keeps the known use, and that it is incomplete.
func (p *callBudget) charge(end completion) completion {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.capped {
		return end
	}
	switch e := end.event.(type) {
	case agent.Replied:
		e.Usage.Cost = max(e.Usage.Cost, p.spent)
		end.event = e
	case agent.ModelFailed:
		e.Usage.Cost = max(e.Usage.Cost, p.spent)
		end.event = e
	case agent.Compacted:
		e.Usage.Cost = max(e.Usage.Cost, p.spent)
		end.event = e
	case agent.Resolved:
		e.Usage.Cost = max(e.Usage.Cost, p.spent)
		end.event = e
	case agent.Routed:
		e.Usage.Cost = max(e.Usage.Cost, p.spent)
		end.event = e
	default:
		// No other event ends a model call.
	}
	return end
}

// budget is the tenant's budget for a month, in millionths of a US dollar; zero means any amount.
func (l *leg) budget() int64 {
	if l.Budget == nil {
		return 0
	}
	return l.Budget(l.in.Ref.Tenant)
}

// payLost pays for a call that is made again, because its first maker was lost and may have been
// billed for it.
func (l *leg) payLost(ctx context.Context, e agent.CallModel, row journal.ModelCalled, p *callBudget) error {
	first := row
	first.Call = callOf(e)
	if row.Call == first.Call || !p.capped {
		return nil
	}
	end := journal.ModelReplied{In: row.In, Call: first.Call}.Key()
	rows, err := l.cache.look(ctx, first.Key(), end)
	if err != nil || rows[first.Key()] == nil || rows[end] != nil {
		return err
	}
	p.left, p.spent = p.left-e.HoldCost, p.spent+e.HoldCost
	return nil
}

// counted is the provider's count of the agent's last call, nil if this worker does not know it.
func (l *leg) counted() *model.Counted {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[host.RunID(l.in.Ref, l.in.Agent)]
}

func (l *leg) count(c *model.Counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.counts) >= rememberedCounts {
		clear(l.counts)
	}
	l.counts[host.RunID(l.in.Ref, l.in.Agent)] = c
}
