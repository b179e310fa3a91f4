//go:build !race

package web_test

import "time"

// patience is how long a cancelled call may still run.
const patience = 100 * time.Millisecond
