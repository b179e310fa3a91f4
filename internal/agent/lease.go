package agent

import "fmt"

// Lease is an allowance that a parent granted. An amount is reserved before the effect that uses it
// and settled after it, so that reserved and spent together never pass the grant.
type Lease struct {
	// Grant of zero means unbounded for tokens and cost.
	Grant int64 `json:"grant,omitempty"`
	Held  int64 `json:"held,omitempty"`
	Spent int64 `json:"spent,omitempty"`
}

// Left is the amount that may still be reserved.
func (l Lease) Left() int64 { return max(0, l.Grant-l.Held-l.Spent) }

// affords reports whether n more may be held, when a grant of zero means unbounded.
func (l Lease) affords(n int64) bool { return l.Grant == 0 || l.Left() >= n }

func (l *Lease) hold(n int64) { l.Held += n }

// settle replaces a hold by the real use.
func (l *Lease) settle(held, used int64) {
	l.Held -= held
	l.Spent += used
}

// shares is the grant of each child of a spawn call.
type shares struct {
	agents, tokens, cost []int64
}

// share divides the rest of the lease among the items of a call and one share for the agent itself.
// It reports, with the numbers, when a child could not even make its first model call.
func (m *machine) share(items []Item, roles []*RoleSpec) (shares, string) {
	s := m.s
	n := int64(len(items))
	if s.Agents.Left() < n {
		return shares{}, fmt.Sprintf("%d more agents asked for, %d left of %d", n, s.Agents.Left(), s.Agents.Grant)
	}
	var out shares
	for i, role := range roles {
		first := items[i].Tokens + role.Model.MaxOutput
		tokens, ok := portion(s.Tokens, n, role.Limits.Tokens, first)
		if !ok {
			return shares{}, fmt.Sprintf("tokens: a %s needs %d, %d left of %d to share by %d",
				role.Name, first, s.Tokens.Left(), s.Tokens.Grant, n+1)
		}
		price := role.Model.price(items[i].Tokens, role.Model.MaxOutput)
		cost, ok := portion(s.Cost, n, role.Limits.Cost, price)
		if !ok {
			return shares{}, fmt.Sprintf("cost: a %s needs %d µ$, %d left of %d to share by %d",
				role.Name, price, s.Cost.Left(), s.Cost.Grant, n+1)
		}
		out.tokens = append(out.tokens, tokens)
		out.cost = append(out.cost, cost)
		out.agents = append(out.agents, m.allotment(role, n))
	}
	return out, ""
}

// portion is one child's grant, at most its role's limit and an equal share, and whether it is
// enough.
func portion(l Lease, n, limit, need int64) (int64, bool) {
	if l.Grant == 0 {
		return limit, limit == 0 || limit >= need
	}
	grant := l.Left() / (n + 1)
	if limit > 0 {
		grant = min(grant, limit)
	}
	// A grant of zero would read as no limit at all.
	return grant, grant >= max(need, 1)
}

// allotment is how many agents a child may have below it: none if it may not delegate.
func (m *machine) allotment(role *RoleSpec, n int64) int64 {
	b := m.s.Brief
	if !role.CanDelegate || b.Depth+2 > b.Limits.Depth {
		return 0
	}
	limit := first(role.Limits.Agents, DefaultLimits().Agents)
	return min(limit, (m.s.Agents.Left()-n)/(2*n))
}

// holdFor reserves the most that the next model call may use, if the leases allow it.
func (m *machine) holdFor(output int64) (tokens, cost int64, ok bool) {
	s := m.s
	tokens = s.Context + output
	cost = s.Brief.Model.price(s.Context, output)
	if !s.Tokens.affords(tokens) || !s.Cost.affords(cost) {
		return 0, 0, false
	}
	s.Tokens.hold(tokens)
	s.Cost.hold(cost)
	return tokens, cost, true
}
