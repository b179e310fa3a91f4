package sim

// chance draws every choice of a history.
type chance struct{ state uint64 }

func newChance(seed uint64) *chance { return &chance{state: seed * 0x9e3779b97f4a7c15} }

// next is splitmix64.
func (c *chance) next() uint64 {
	c.state += 0x9e3779b97f4a7c15
	z := c.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// n draws a number from 0 to k-1.
func (c *chance) n(k int) int {
	if k <= 1 {
		return 0
	}
	return int((c.next() >> 33) % uint64(k))
}

// odds is true in so many of a hundred cases.
func (c *chance) odds(percent int) bool { return c.n(100) < percent }

// pick draws an index with the given weights.
func (c *chance) pick(weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	v := c.n(total)
	for i, w := range weights {
		if v < w {
			return i
		}
		v -= w
	}
	return 0
}
