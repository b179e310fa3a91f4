package durable

import (
	"context"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// reserved is what a model call has of its tenant's budget; the zero value where there is no budget.
type reserved struct {
	month  string
	amount int64
}

// reserve takes what a call may cost at most from what the tenant may spend this month. A call without a known price
// takes the least there is, so that it is refused too when nothing is left.
func (l *leg) reserve(ctx context.Context, cost int64) (r reserved, ok bool, err error) {
	most := l.budget()
	if most == 0 {
		return r, true, nil
	}
	r = reserved{month: journal.MonthOf(l.Now()), amount: max(cost, 1)}
	ok, err = l.Log.Reserve(ctx, l.in.Place.Tenant, r.month, r.amount, most)
	return r, ok, err
}

// budget is what the leg's tenant may spend in a month, in millionths of a US dollar; zero means any amount.
func (l *leg) budget() int64 {
	if l.Budget == nil {
		return 0
	}
	return l.Budget(l.in.Place.Tenant)
}

// on has the end of a call give back what it did not use.
func (r reserved) on(end journal.Responded) journal.Responded {
	end.Month, end.Reserved = r.month, r.amount
	return end
}

// overBudget is the end of a call that was not made because the tenant has spent its budget.
func (l *leg) overBudget(row journal.Requested) journal.Responded {
	next := l.Now().UTC().AddDate(0, 1, 1-l.Now().UTC().Day())
	return journal.Responded{
		In: row.In, Call: row.Call, Status: chat.KindBudgetExceeded.Status(), ErrorKind: chat.KindBudgetExceeded,
		Message: fmt.Sprintf("the budget of this month, $%.2f, does not allow a call that may cost $%.4f: wait until %s, or ask whoever runs this installation to raise quotas.month_usd",
			float64(l.budget())/1e6, float64(row.HoldCost)/1e6, next.Format(time.DateOnly)),
	}
}
