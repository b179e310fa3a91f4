package api

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
)

// mostBodies is how many commands of one person may be on their way in. Each has the five seconds
// that huma gives a body.
const mostBodies = 64

type arrivalKey struct{}

// withArrival puts what to do once a request has arrived whole where begin finds it.
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

// begin is where a request that has arrived whole is carried out. A command takes its place here
// and not before: how long its body took says nothing about what the server can do.
func (s *Server) begin(ctx context.Context, k kind) (context.Context, func(), error) {
	leave := func() {}
	if k == kindCommand {
		if arrived, ok := ctx.Value(arrivalKey{}).(func()); ok {
			arrived()
		}
		var err error
		if leave, err = s.gate.command(); err != nil {
			return ctx, nil, err
		}
	}
	if k == kindRead || k == kindStream {
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
func timeOf(k kind) time.Duration {
	switch k {
	case kindStream, kindLong:
		return 0
	case kindUpload:
		return importTime
	case kindRead, kindSearch, kindCommand, kindRelease:
	}
	return commandTime
}
