//go:build race

package web_test

import "time"

// patience is longer where every access to memory is watched.
const patience = time.Second
