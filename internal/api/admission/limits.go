package admission

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound what a server takes on. Zero means no bound.
type Limits struct {
	// Commands are carried out at a time, for everybody together. When they take longer than Latency,
	// fewer are, until they do not.
	Commands int
	Latency  time.Duration
	// CommandRate and ReadRate are requests in a second that one credential may make, and those of a
	// tenant what all its people may. As much as comes to burstSeconds may come at once.
	CommandRate, TenantCommandRate float64
	ReadRate, TenantReadRate       float64
	// AddressRate is how many requests in a second may come from one address. It is counted before it
	// is known who asks.
	AddressRate float64
	// Streams are open at a time, for everybody together, one person, one tenant and one address.
	Streams, PersonStreams, TenantStreams, AddressStreams int
	// Uploads arrive at a time, for everybody together and one tenant.
	Uploads, TenantUploads int
	// TenantSearches are under way at a time.
	TenantSearches int
}

const (
	// burstSeconds is how many seconds' worth of requests may come at once.
	burstSeconds = 2
	// fullWait is how long to wait when a server has its hands full, and streamWait when there are too
	// many streams.
	fullWait   = time.Second
	streamWait = 5 * time.Second
	// mostBuckets bounds what is remembered of who asked how often.
	mostBuckets = 20_000
	// commandTime is how long a request may take before it is given up.
	commandTime = 20 * time.Second
)

// Refusal is why something was not taken on.
type Refusal string

// The refusals.
const (
	RefusedRate    Refusal = "rate"
	RefusedFull    Refusal = "full"
	RefusedStreams Refusal = "streams"
	RefusedPressed Refusal = "pressed"
	RefusedAddress Refusal = "address"
	RefusedUploads Refusal = "uploads"
	RefusedReports Refusal = "reports"
	RefusedSearch  Refusal = "search"
)

// gate decides, before anything is read or written, whether a request is taken on.
type gate struct {
	limits Limits
	now    func() time.Time
	// pressed says why nothing more of a tenant can be written just now, and how long that may last;
	// nil if it can. No name means any tenant.
	pressed func(tenant string) (why string, wait time.Duration)
	refused func(Refusal)

	commands atomic.Int64
	width    concurrency
	others   others

	mu      sync.Mutex
	buckets map[string]*bucket
	// held counts the streams, uploads and bodies that are open, by whose places they take.
	held map[string]int
}

// bucket is what one may still ask for.
type bucket struct {
	*rate.Limiter
	used time.Time
}

// Kind is what a request asks for.
type Kind string

// The kinds.
const (
	KindRead Kind = "read"
	// KindSearch is a read that may take as much as many others.
	KindSearch  Kind = "search"
	KindCommand Kind = "command"
	KindStream  Kind = "stream"
	// KindLong is a command whose answer takes as long as a stream.
	KindLong Kind = "long"
	// KindUpload is a command whose body takes as long to arrive.
	KindUpload Kind = "upload"
	// KindRelease gives something up, such as a session or a key. It is admitted however busy the
	// server is: a person who wants to be rid of something must not have to wait for others.
	KindRelease Kind = "release"
)

// writes reports whether something may come of it that has to be written.
func (k Kind) writes() bool { return k == KindCommand || k == KindLong || k == KindUpload }

// enter takes a request on, or says why not. Call leave at the end of a request that was taken on.
func (g *gate) enter(k Kind, c Caller, address string) (leave func(), err error) {
	if err := g.pace(k, c); err != nil {
		return nil, err
	}
	g.others.saw(c.Tenant, g.now())
	if k.writes() {
		if err := g.pressure(c.Tenant); err != nil {
			return nil, err
		}
	}
	switch k {
	case KindCommand:
		return g.body(c)
	case KindStream, KindLong:
		return g.streamSlot(c, address)
	case KindUpload:
		return g.uploadSlot(c)
	case KindSearch:
		return g.searchSlot(c)
	case KindRead, KindRelease:
	}
	return func() {}, nil
}

// pressure refuses what could not be written now.
func (g *gate) pressure(tenant string) error {
	if g.pressed == nil {
		return nil
	}
	why, wait := g.pressed(tenant)
	if wait <= 0 {
		return nil
	}
	return g.refuse(RefusedPressed, &Problem{Code: "unavailable", Detail: why, Wait: wait})
}

// pace refuses who asks too often.
func (g *gate) pace(k Kind, c Caller) error {
	own, all, what := g.limits.ReadRate, g.limits.TenantReadRate, "read/"
	switch k {
	case KindCommand, KindLong, KindUpload:
		own, all, what = g.limits.CommandRate, g.limits.TenantCommandRate, "write/"
	case KindRelease: // what one has asked for before, or the others of a tenant, does not count
		own, all, what = g.limits.CommandRate, 0, "release/"
	case KindRead, KindSearch, KindStream:
	}
	if own <= 0 && all <= 0 {
		return nil
	}
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	first, wait := g.take(now, what+"credential/"+c.Tenant+"/"+c.Credential, own)
	if wait == 0 {
		if _, wait = g.take(now, what+"tenant/"+c.Tenant, all); wait > 0 && first != nil {
			first.CancelAt(now)
		}
	}
	if wait == 0 {
		return nil
	}
	return g.refuse(RefusedRate, &Problem{
		Code: "limit", Detail: "more was asked for than this server takes from one key or tenant", Wait: wait,
	})
}

// take takes one from a bucket, or says how long until there is one.
func (g *gate) take(now time.Time, name string, perSecond float64) (*rate.Reservation, time.Duration) {
	if perSecond <= 0 {
		return nil, 0
	}
	b, ok := g.buckets[name]
	if !ok {
		g.forget(now)
		b = &bucket{Limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond*burstSeconds)))}
		g.buckets[name] = b
	}
	b.used = now
	r := b.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return r, wait
}

// forget lets go of buckets that are full again, when there are many.
func (g *gate) forget(now time.Time) {
	if len(g.buckets) < mostBuckets {
		return
	}
	for name, b := range g.buckets {
		if now.Sub(b.used) > burstSeconds*time.Second {
			delete(g.buckets, name)
		}
	}
	if len(g.buckets) >= mostBuckets {
		clear(g.buckets) // everybody begins anew: better than to grow without end
	}
}

// command takes a place among those that are carried out.
func (g *gate) command() (func(), error) {
	if n := g.commands.Add(1); g.limits.Commands > 0 && n > g.width.now(g.limits) {
		g.commands.Add(-1)
		return nil, g.refuse(RefusedFull, &Problem{
			Code: "unavailable", Detail: "this server carries out as many commands as it can", Wait: fullWait,
		})
	}
	began := g.now()
	return func() {
		g.commands.Add(-1)
		now := g.now()
		g.width.learn(g.limits, now, now.Sub(began))
	}, nil
}

func (g *gate) refuse(why Refusal, p *Problem) error {
	if g.refused != nil {
		g.refused(why)
	}
	return p
}
