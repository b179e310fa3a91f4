package admission

import (
	"context"
	"net/http"
)

// identify finds out who asks and whether they may. It notes refusals.
func (g *Guard) identify(access Access, r *http.Request) (Caller, error) {
	if access.Public {
		return Caller{From: g.Remote(r), Route: r.Pattern}, nil
	}
	caller, err := g.recognise(access, r)
	if err != nil {
		g.denied(caller, r, err)
	}
	return caller, err
}

func (g *Guard) recognise(access Access, r *http.Request) (Caller, error) {
	seen := g.revocations.seen.Load()
	caller, err := g.lookUp(r)
	if err != nil {
		return Caller{}, err
	}
	caller.From, caller.Route = g.Remote(r), r.Pattern
	if err := forged(caller, r); err != nil {
		return caller, err
	}
	if err := access.Allows(caller); err != nil {
		return caller, err
	}
	g.revocations.hold(r, revocation{access: access, caller: caller, seen: seen, looked: g.options.Now()})
	return caller, nil
}

// lookUp finds out who asks. An address that has guessed too often learns nothing from guessing on
// and waits in line with its like, but a caller with a valid credential from there is admitted.
func (g *Guard) lookUp(r *http.Request) (Caller, error) {
	address, now := g.Address(r), g.options.Now()
	refusal := g.limiter.Check(address, now)
	if refusal != nil {
		leave, ok := g.limiter.line(r.Context())
		if !ok {
			return Caller{}, refusal
		}
		defer leave()
	}
	caller, err := g.whoIs(r)
	if err == nil || ProblemOf(err).Status != http.StatusUnauthorized {
		return caller, err
	}
	if refusal != nil {
		return Caller{}, refusal
	}
	if shown := r.Header.Get("Authorization") + r.Header.Get("Cookie"); shown != "" {
		g.limiter.Failed(address, shown, now)
	}
	return Caller{}, err
}

// whoIs asks the authenticator, which may take lookTime.
func (g *Guard) whoIs(r *http.Request) (Caller, error) {
	ctx, cancel := context.WithTimeout(r.Context(), lookTime)
	defer cancel()
	return g.options.Authenticator.Identify(r.WithContext(ctx))
}

// CommandHeader is a header that no page of another origin can make a browser send.
const CommandHeader = "Retinue-Request"

// forged refuses what a browser may have been made to send by another page: writes without the
// header, and everything, streams among it, that the browser says a page of elsewhere asked for. A
// person may follow a link from elsewhere.
func forged(c Caller, r *http.Request) error {
	site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode")
	if c.Cookie && (site == "cross-site" || site == "same-site") && mode != "navigate" {
		return &Problem{
			Status: http.StatusForbidden, Code: "forbidden", Detail: "the request comes from another origin",
			Next: "send it from the server's own page, or from a program with a key",
		}
	}
	if !c.Cookie || r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header.Get(CommandHeader) != "" {
		return nil
	}
	return &Problem{
		Status: http.StatusForbidden, Code: "forbidden", Detail: "a write with a cookie needs the header " + CommandHeader,
		Next: "send '" + CommandHeader + ": 1'",
	}
}
