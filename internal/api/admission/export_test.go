package admission

// MostBodies is how many commands of one person may be on their way in.
const MostBodies = mostBodies

// Held is how many hold a place of a name.
func (g *Guard) Held(name string) int {
	g.gate.mu.Lock()
	defer g.gate.mu.Unlock()
	return g.gate.held[name]
}

// Width is how many commands are carried out at a time.
func (g *Guard) Width() int64 { return g.gate.width.now(g.gate.limits) }
