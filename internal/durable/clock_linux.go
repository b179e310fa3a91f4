package durable

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot is how long the machine has been on, also while it slept. Setting the time of day does
// not change it.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return wallClock()
	}
	return time.Duration(now.Nano())
}
