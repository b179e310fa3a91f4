//go:build !race

package builtin_test

import "time"

// patience is how long a cancelled call may go on. It is 100 ms on a machine of its own.
const patience = 200 * time.Millisecond
