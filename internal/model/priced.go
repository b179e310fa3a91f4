package model

import (
	"context"
	"errors"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Priced is a Client that adds the cost to the usage of replies and errors, or counts it as
// unpriced. It sits directly before a provider's client, so that each sending is priced before
// anybody above decides to send again.
type Priced struct {
	client   Client
	provider string
	prices   *Prices
}

// NewPriced prices what a client of a provider uses.
func NewPriced(client Client, provider string, prices *Prices) *Priced {
	return &Priced{client: client, provider: provider, prices: prices}
}

// Generate implements Client. Before a request is sent, its budget reserves the most that it may
// cost; when it has ended, the budget gets back the part that is known to be unused.
func (p *Priced) Generate(ctx context.Context, req Request, told func(Delta)) (Reply, error) {
	most := p.most(req, req.Most(p.provider+"/"+req.Model))
	if req.Budget != nil {
		if end := req.Budget.Take(ctx, most); end != nil {
			return Reply{}, end
		}
	}
	reply, err := p.client.Generate(ctx, req, told)
	if err == nil {
		reply.Usage = p.add(reply.Usage, req.Model, reply.Model)
		if !reply.Estimated {
			p.settle(req, most, reply.Usage.Cost)
		}
		return reply, nil
	}
	var failure *Error
	if !errors.As(err, &failure) {
		return Reply{}, err
	}
	priced := *failure
	priced.Usage = p.add(failure.Usage, req.Model)
	switch {
	case !failure.Unmetered:
		p.settle(req, most, priced.Usage.Cost)
	case failure.Usage.Input > 0: // input is counted, output is not
		p.settle(req, most, p.most(req, failure.Usage.Input))
	}
	return Reply{}, &priced
}

// most is the highest cost of a request with so many tokens: all of them at the dearest price of
// input, and a reply that is as long as it may be.
func (p *Priced) most(req Request, input int64) int64 {
	now := time.Now()
	plain, _ := p.prices.Cost(p.provider, req.Model, chat.Usage{Input: input, Output: req.MaxOutput}, now)
	written, _ := p.prices.Cost(p.provider, req.Model, chat.Usage{Input: input, CacheWrite: input, Output: req.MaxOutput}, now)
	return max(plain, written)
}

// settle returns the unused part of a sending to the budget.
func (p *Priced) settle(req Request, most, cost int64) {
	if req.Budget != nil {
		req.Budget.Return(most - cost)
	}
}

// add prices a usage by the first name with a known price: the requested model, then the one that
// answered. A cost that the provider itself reported stands.
func (p *Priced) add(u chat.Usage, names ...string) chat.Usage {
	if u == (chat.Usage{}) || u.Cost > 0 {
		return u
	}
	for _, name := range names {
		if cost, known := p.prices.Cost(p.provider, name, u, time.Now()); known {
			u.Cost = cost
			return u
		}
	}
	u.Unpriced = 1
	return u
}
