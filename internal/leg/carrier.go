package leg

import (
	"sync"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/model"
)

// Options are what a carrier is made of.
type Options struct {
	Host   host.Options
	Models model.Client
	Live   live.Bus
	// Engine is told of mail for agents that do not run here, and ends runs that do not let go.
	Engine Engine
	// TenantLegs is how many legs of one tenant run at the same time; zero means any number.
	TenantLegs int
	// Family is how many sub-agents one leg carries; zero means 2,000, and less than zero none. Others
	// get runs of their own.
	Family int
	// Budget is a tenant's budget for models in a month, in millionths of a US dollar; zero, like
	// no function, means any amount.
	Budget func(tenant string) int64
}

// Carrier runs agents in legs, and does the few other things that a run leaves to the worker that
// has the agents' files.
type Carrier struct {
	*host.Host
	Options

	mu sync.Mutex
	// counts are what providers counted of the last calls, by conversation and agent.
	counts map[string]*model.Counted
	// parked are what ended legs had before them, by agent and task.
	parked     map[string]parked
	cacheBytes int
	listeners  listeners
	shares     *shares
	// orders has a place for each run that the engine is told to start.
	orders chan struct{}
}

// ordersAtOnce is how many runs the engine is told to start at the same time by one worker.
const ordersAtOnce = 16

// rememberedCounts bounds a carrier's memory of calls.
const rememberedCounts = 4096

// usualFamily is how many sub-agents one leg carries. Further ones get runs of their own, which any
// worker may carry.
const usualFamily = 2000

// New makes a carrier.
func New(o Options) *Carrier {
	if o.Family == 0 {
		o.Family = usualFamily
	}
	return &Carrier{
		Host: host.New(o.Host), Options: o, counts: map[string]*model.Counted{},
		parked: map[string]parked{}, shares: newShares(o.TenantLegs), orders: make(chan struct{}, ordersAtOnce),
	}
}
