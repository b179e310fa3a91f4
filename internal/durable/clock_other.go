//go:build !linux

package durable

import "time"

// sinceBoot is the time of day: Go's monotonic clock stops while a machine sleeps. If somebody sets
// the time ahead, the worker gives up its legs for nothing, and they begin again.
func sinceBoot() time.Duration { return wallClock() }
