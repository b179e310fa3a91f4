package admission

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
)

// mostBodies is how many commands of one person may be on their way in. Each has the five seconds
// that huma gives a body.
const mostBodies = 64

// UploadTime is how long an upload may take to arrive and to be carried out. While other tenants
// are there, it rests most of that.
const UploadTime = 20 * time.Minute

type arrivalKey struct{}

// withArrival puts what to do once a request has arrived whole where Begin finds it.
func withArrival(ctx context.Context, arrived func()) context.Context {
	return context.WithValue(ctx, arrivalKey{}, arrived)
}

// body takes a place for a command whose body is on its way. The places are each person's own, so
// that who sends slowly costs nobody else anything.
func (g *gate) body(c Caller) (func(), error) {
	return g.hold(RefusedRate, Problem{
		Detail: "too many commands of yours are on their way", Wait: fullWait, Next: "send the bodies of those faster",
	}, slot{"body", 0}, slot{"body/" + c.Tenant + "/" + c.User, mostBodies})
}

// Begin is where a request that has arrived whole is carried out. A command takes its place here
// and not before: how long its body took says nothing about what the server can do.
func (g *Guard) Begin(ctx context.Context, k Kind) (context.Context, func(), error) {
	leave := func() {}
	if k == KindCommand {
		if arrived, ok := ctx.Value(arrivalKey{}).(func()); ok {
			arrived()
		}
		var err error
		if leave, err = g.gate.command(); err != nil {
			return ctx, func() {}, err
		}
	}
	if k == KindRead || k == KindStream {
		ctx = journal.ForReading(ctx)
	}
	limit := timeOf(k)
	if limit == 0 {
		return ctx, leave, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, func() {
		cancel()
		leave()
	}, nil
}

// timeOf is how long carrying a request out may take; zero means as long as its reader stays.
func timeOf(k Kind) time.Duration {
	switch k {
	case KindStream, KindLong:
		return 0
	case KindUpload:
		return UploadTime
	case KindRead, KindSearch, KindCommand, KindRelease:
	}
	return commandTime
}
