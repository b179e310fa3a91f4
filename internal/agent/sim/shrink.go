package sim

import (
	"fmt"
	"slices"
	"strings"
)

// shrinkTries bounds how many histories are played to make a failing one smaller.
const shrinkTries = 5000

// Replay plays the history of a seed. If it breaks a law, the error has the smallest schedule found
// that breaks one too.
func Replay(seed uint64) (Stats, error) {
	s := draw(seed, nil)
	stats, err := play(s, nil)
	if err == nil {
		return stats, nil
	}
	small, failure := shrink(s, err)
	var steps strings.Builder
	_, _ = play(small, func(format string, args ...any) {
		fmt.Fprintf(&steps, format+"\n", args...)
	})
	return stats, fmt.Errorf(
		"seed %d: %w\nreplay it: make sim SEED=%d\nsmallest schedule found, %d actions of %d, ends with: %w\n%s",
		seed, err, seed, len(small.actions), len(s.actions), failure, steps.String())
}

// shrink leaves actions out as long as some law is still broken.
func shrink(s schedule, failure error) (schedule, error) {
	tries := 0
	for size := len(s.actions); size > 0; {
		shorter := false
		for at := 0; at+size <= len(s.actions) && tries < shrinkTries; {
			tries++
			candidate := schedule{setting: s.setting, actions: slices.Delete(slices.Clone(s.actions), at, at+size)}
			if _, err := play(candidate, nil); err != nil {
				s, failure, shorter = candidate, err, true
			} else {
				at += size
			}
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return s, failure
}
