//go:build !race

package builtin_test

import "time"

// patience is how long a cancelled call may still run.
const patience = 100 * time.Millisecond

// watched means that the race detector is at work.
const watched = false
