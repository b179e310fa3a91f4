//go:build race

package builtin_test

import "time"

// patience is longer where every access to memory is watched.
const patience = time.Second

// watched means that the race detector is at work.
const watched = true
