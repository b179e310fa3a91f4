package durable

import "testing"

// TestHeartbeatsAreFew counts the heartbeats of a worker's legs in a second: with many legs they
// are hardly more. Each leg sends four before the engine gives it up, and a leg without an answer
// ends before that.
func TestHeartbeatsAreFew(t *testing.T) {
	t.Parallel()
	for running, most := range map[int64]float64{1: 2, 12: 25, 50: 40, 375: 26, 1000: 67} {
		var b heartbeats
		b.running.Store(running)
		pause := b.pause()
		if each := float64(running) / pause.Seconds(); each > most {
			t.Errorf("%d legs send %.0f heartbeats in a second, at most %.0f", running, each, most)
		}
		if beatParts*pause > legSilence || pause < beat {
			t.Errorf("%d run: a heartbeat every %v, and %v of silence end it", running, pause, legSilence)
		}
	}
	if worst := unheard + heartbeatTimeout + beatAgain + legSilence/beatParts; worst >= legSilence {
		t.Errorf("a leg that hears nothing ends after %v, and the engine gives it to another after %v", worst, legSilence)
	}
}
