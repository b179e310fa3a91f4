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

// Generate implements Client.
func (p *Priced) Generate(ctx context.Context, req Request, told func(Delta)) (Reply, error) {
	reply, err := p.client.Generate(ctx, req, told)
	if err == nil {
		reply.Usage = p.add(reply.Usage, req.Model, reply.Model)
		return reply, nil
	}
	var failure *Error
	if !errors.As(err, &failure) {
		return Reply{}, err
	}
	priced := *failure
	priced.Usage = p.add(failure.Usage, req.Model)
	return Reply{}, &priced
}

// add prices a usage by the first name that is known: what was asked for, then what answered. A
// cost that the provider itself reported stands.
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
