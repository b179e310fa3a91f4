package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// The numbers behind a rate limiter's pace.
const (
	// firstBackoff is the most that the first pause after a failure lasts; it doubles with each
	// failure until one succeeds, up to lastBackoff. The pause itself is drawn evenly below that.
	firstBackoff = time.Second
	lastBackoff  = time.Minute
	// firstRate is where learning a rate begins, in requests per second, and slowest where it ends.
	// They are low enough for a provider's refusal to be heard before much more has been sent.
	firstRate = 20.0
	slowest   = 0.1
	// recovery is how many seconds a halved rate takes to recover.
	recovery = 60.0
)

// pace decides when the next request of a key may go. It is told the time and does nothing by
// itself.
type pace struct {
	chance *rand.Rand
	// busy is how many requests are under way and most how many may be. Of those that went since
	// the last slowing there are fresh, and there may be width: long replies from before it do not
	// hold up the probe.
	busy, most, fresh, width int
	// rate is in requests per second, top the most it may be, and rise what a second in which
	// everything succeeds adds to it. Free is when the rate lets the next one go.
	rate, top, rise float64
	free            time.Time
	// pause is the end of a pause for all, with its reason.
	pause time.Time
	why   Why
	// trouble counts failures that slowed the key since the last success, and cause is their kind.
	trouble int
	cause   chat.ErrorKind
	// errors counts server errors in a row, of which limit are one too many.
	errors, limit int
	// epoch rises with each slowing. A request that went before it says nothing about the time after
	// it, so a burst that fails as one counts as one failure.
	epoch int
}

func newPace(o RateLimiterOptions) pace {
	p := pace{
		chance: o.Chance, most: o.Concurrency, width: o.Concurrency, limit: o.Failures,
		rate: firstRate, rise: firstRate, top: math.Inf(1),
	}
	if o.Rate > 0 {
		p.rate, p.top = o.Rate, o.Rate
	}
	return p
}

// next says whether a request may go now: it may if the reason is empty. Otherwise at is when it
// may, or zero when another request has to return first.
func (p *pace) next(now time.Time) (at time.Time, why Why) {
	switch {
	case now.Before(p.pause):
		return p.pause, p.why
	case p.fresh >= p.width && p.trouble > 0:
		return time.Time{}, WhyProbe
	case p.fresh >= p.width || p.busy >= p.most:
		return time.Time{}, WhySlot
	case now.Before(p.free):
		return p.free, WhyRate
	}
	return now, ""
}

// send takes a place and returns the epoch to settle it with.
func (p *pace) send(now time.Time) int {
	p.busy++
	p.fresh++
	p.free = now.Add(p.gap())
	return p.epoch
}

// gap is the distance to the next sending. After server errors it has a part that is drawn, so that
// callers that failed together do not come back together.
func (p *pace) gap() time.Duration {
	gap := time.Duration(float64(time.Second) / p.rate)
	if p.errors > 0 {
		gap += p.draw(firstBackoff)
	}
	return gap
}

// settle gives a place back and learns from how the request ended. Crowded says that others wait.
func (p *pace) settle(now time.Time, epoch int, err error, crowded bool) {
	p.busy--
	if epoch == p.epoch {
		p.fresh--
	}
	if err == nil {
		p.succeeded(epoch, crowded)
		return
	}
	var failure *Error
	if !errors.As(err, &failure) {
		return
	}
	switch failure.Kind {
	case chat.KindRateLimit:
		p.limited(now, epoch, failure.RetryAfter)
	case chat.KindServerError, chat.KindNetwork:
		p.failed(now, epoch, failure.RetryAfter)
	case chat.KindAuth, chat.KindInvalidRequest, chat.KindContentFilter, chat.KindContextExhausted,
		chat.KindNoResult:
		p.errors = 0 // the provider is up and answers
	case chat.KindTimedOut, chat.KindCancelled, chat.KindMaxIterations, chat.KindBudgetExceeded,
		chat.KindSubAgentError, chat.KindSpawnFailed, chat.KindInvalidResult,
		chat.KindQuestionLimit, chat.KindInternal:
	}
}

func (p *pace) succeeded(epoch int, crowded bool) {
	if epoch < p.epoch {
		return
	}
	p.errors, p.trouble, p.cause = 0, 0, ""
	p.width = min(2*p.width, p.most)
	if crowded { // a rate that nobody waits for has not been tried out
		p.rate = min(p.rate+p.rise/p.rate, p.top)
	}
}

func (p *pace) limited(now time.Time, epoch int, ask time.Duration) {
	if epoch == p.epoch && p.trouble == 0 {
		p.rise = max(p.rate, 1) / 2 / recovery
		p.rate = max(p.rate/2, slowest)
	}
	p.slow(now, epoch, ask, chat.KindRateLimit)
}

func (p *pace) failed(now time.Time, epoch int, ask time.Duration) {
	p.errors++
	if p.errors >= p.limit || ask > 0 {
		p.slow(now, epoch, ask, chat.KindServerError)
	}
}

// slow stops all requests for a while, and then sends one at a time. The pause that the provider
// asked for is a lower bound; chance comes on top, because other processes with the same key were
// asked the same.
func (p *pace) slow(now time.Time, epoch int, ask time.Duration, cause chat.ErrorKind) {
	if epoch == p.epoch {
		p.epoch++
		p.fresh = 0
		p.trouble++
		p.width = 1
		p.cause = cause
		p.until(now.Add(ask+p.draw(p.backoff())), ask)
		return
	}
	p.until(now.Add(ask), ask)
}

func (p *pace) until(end time.Time, ask time.Duration) {
	if !end.After(p.pause) {
		return
	}
	p.pause, p.why = end, WhyBackoff
	if ask > 0 {
		p.why = WhyAsked
	}
}

// refusal is the end of a request that would wait too long.
func (p *pace) refusal(now time.Time) *Error {
	_, why := p.next(now)
	return &Error{
		Kind:       cmp.Or(p.cause, chat.KindRateLimit),
		Message:    fmt.Sprintf("waited too long for the key (%s); it may be sent later", why),
		RetryAfter: max(p.pause.Sub(now), 0),
	}
}

// backoff is the most that a pause after this much trouble lasts.
func (p *pace) backoff() time.Duration {
	backoff := firstBackoff
	for range p.trouble - 1 {
		backoff = min(2*backoff, lastBackoff)
	}
	return backoff
}

// draw is full jitter: any time below the given one, each as likely.
func (p *pace) draw(below time.Duration) time.Duration {
	return time.Duration(p.chance.Int64N(int64(below)))
}
