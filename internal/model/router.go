package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Tier is a name for a kind of model that each installation fills in.
type Tier string

// The tiers.
const (
	TierFast     Tier = "fast"
	TierBalanced Tier = "balanced"
	TierStrong   Tier = "strong"
)

// Inherit stands for the parent's model in a role. It is no model, and a Router refuses it.
const Inherit = "inherit"

// Inherited is the name of the model for a role that names one, or leaves it to the parent.
func Inherited(own, parent string) string {
	if own == "" || own == Inherit {
		return parent
	}
	return own
}

// Route is one model of one provider. Its text is provider/model.
type Route struct {
	Provider string
	Model    string
}

// ParseRoute reads provider/model. The part after the first slash is the provider's own name of the
// model, slashes included.
func ParseRoute(name string) (Route, error) {
	provider, model, found := strings.Cut(name, "/")
	if !found || provider == "" || model == "" {
		return Route{}, &chat.Error{
			Code:    chat.CodeInvalid,
			Message: fmt.Sprintf("%q names no model: write provider/model, or fast, balanced or strong", name),
		}
	}
	return Route{Provider: provider, Model: model}, nil
}

// String implements fmt.Stringer.
func (r Route) String() string { return r.Provider + "/" + r.Model }

// RouterOptions are the settings of a Router.
type RouterOptions struct {
	// Clients are the providers, by name.
	Clients map[string]Client
	// Tiers are the models of the tiers: the first of a list, then its fallbacks in order.
	Tiers map[Tier][]Route
	// Fallbacks are what to ask when a model that was named cannot answer, in order. The fallbacks
	// of a fallback are not looked up.
	Fallbacks map[Route][]Route
	// TextOnly are the models that take no images. They get a note in place of each.
	TextOnly map[Route]bool
}

// Router is a Client whose requests name a tier or provider/model, and go to the provider that has
// it. Where there are fallbacks it asks the next one after an error that says nothing about the
// request: rate_limit, once the rate limiter has given up, server_error and network. Other errors
// would be the same elsewhere, or must be seen: with a refused key, a request to another provider
// would hide the fault and bill another account. After context_exhausted the core makes the
// transcript shorter.
//
// A fallback may begin after a part of a reply was sent. Its deltas then have a higher Attempt.
// Reply.Name is the model that answered, Reply.Tries are those that did not.
type Router struct {
	options RouterOptions
}

// NewRouter makes a router, and refuses settings that name unknown providers.
func NewRouter(options RouterOptions) (*Router, error) {
	var all []Route
	for tier, routes := range options.Tiers {
		if len(routes) == 0 {
			return nil, fmt.Errorf("tier %s: no model", tier)
		}
		all = append(all, routes...)
	}
	for named, fallbacks := range options.Fallbacks {
		all = append(append(all, named), fallbacks...)
	}
	for _, route := range all {
		if route.Model == "" || options.Clients[route.Provider] == nil {
			return nil, fmt.Errorf("model %s: no such provider, or no model", route)
		}
	}
	return &Router{options: options}, nil
}

// Resolve lists the models for a name, in the order in which they are asked, each once.
func (r *Router) Resolve(name string) ([]Route, error) {
	switch tier := Tier(name); tier {
	case TierFast, TierBalanced, TierStrong:
		routes := r.options.Tiers[tier]
		if len(routes) == 0 {
			return nil, &chat.Error{
				Code:    chat.CodeInvalid,
				Message: fmt.Sprintf("no model is set for the tier %s", tier),
			}
		}
		return unique(routes), nil
	}
	route, err := ParseRoute(name)
	if err != nil {
		return nil, err
	}
	if r.options.Clients[route.Provider] == nil {
		return nil, &chat.Error{
			Code:    chat.CodeInvalid,
			Message: fmt.Sprintf("no provider is called %q", route.Provider),
		}
	}
	return unique(append([]Route{route}, r.options.Fallbacks[route]...)), nil
}

func unique(routes []Route) []Route {
	var out []Route
	for _, route := range routes {
		if !slices.Contains(out, route) {
			out = append(out, route)
		}
	}
	return out
}

// Generate implements Client.
func (r *Router) Generate(ctx context.Context, req Request, told func(Delta)) (Reply, error) {
	routes, err := r.Resolve(req.Model)
	if err != nil {
		return Reply{}, &Error{Kind: chat.KindInvalidRequest, Message: err.Error(), Cause: err}
	}
	out := attempts{told: told}
	var failures failures
	for i, route := range routes {
		reply, err := r.options.Clients[route.Provider].Generate(ctx, r.addressed(req, route), out.tell)
		if err == nil {
			return failures.before(reply, route), nil
		}
		var failure *Error
		if !errors.As(err, &failure) {
			return Reply{}, err
		}
		failures = append(failures, failed{route, failure})
		if !movesOn(failure.Kind) || i == len(routes)-1 {
			break
		}
		out.again()
	}
	return Reply{}, failures.end()
}

// unseen stands for an image before a model that takes none.
const unseen = "[There is an image here. It is not shown: this model reads text only.]"

// addressed is a request as one model is sent it.
func (r *Router) addressed(req Request, to Route) Request {
	req.Model = to.Model
	if r.options.TextOnly[to] {
		req.Transcript = req.Transcript.Hide(unseen, func(string) bool { return true })
		req.Images = nil
	}
	return req
}

// movesOn reports whether somebody else may be asked after a failure of this kind.
func movesOn(kind chat.ErrorKind) bool {
	switch kind {
	case chat.KindRateLimit, chat.KindServerError, chat.KindNetwork:
		return true
	case chat.KindAuth, chat.KindInvalidRequest, chat.KindContentFilter, chat.KindContextExhausted,
		chat.KindTimedOut, chat.KindCancelled, chat.KindMaxIterations, chat.KindBudgetExceeded,
		chat.KindSubAgentError, chat.KindSpawnFailed, chat.KindNoResult, chat.KindInvalidResult,
		chat.KindQuestionLimit, chat.KindInternal:
		return false
	}
	return false
}

// failures are the errors of the models that were asked and did not answer, in order.
type failures []failed

type failed struct {
	route   Route
	failure *Error
}

// before completes a reply that came after the failures.
func (f failures) before(reply Reply, route Route) Reply {
	own := named(reply.Tries, route)
	reply.Name, reply.Tries = route.String(), nil
	for _, x := range f {
		reply.Waited += x.failure.Waited
		reply.Tries = append(reply.Tries, x.tries()...)
	}
	reply.Tries = append(reply.Tries, own...)
	return reply
}

// end is the error of a call that no model answered. It is the first model's, since a retry begins
// there again: a fallback with a bad key does not end a run whose own model was only busy. The wait
// is the shortest after which a model may answer. A caller that gave up on the way gets that error.
func (f failures) end() *Error {
	end := *f[0].failure
	end.Message = f[0].route.String() + ": " + end.Message
	end.Tries = named(end.Tries, f[0].route)
	for _, x := range f[1:] {
		if movesOn(x.failure.Kind) {
			end.RetryAfter = min(end.RetryAfter, x.failure.RetryAfter)
		}
		end.Waited += x.failure.Waited
		end.Tries = append(end.Tries, x.tries()...)
		if x.failure.Kind == chat.KindCancelled || x.failure.Kind == chat.KindTimedOut {
			end.Kind = x.failure.Kind
		}
	}
	return &end
}

// tries lists all sendings to one model.
func (x failed) tries() []Try {
	last := Try{Kind: x.failure.Kind, Usage: x.failure.Usage, Unmetered: x.failure.Unmetered}
	return named(append(slices.Clone(x.failure.Tries), last), x.route)
}

// named says whose tries these are.
func named(tries []Try, route Route) []Try {
	tries = slices.Clone(tries)
	for i := range tries {
		tries[i].Name = route.String()
	}
	return tries
}
