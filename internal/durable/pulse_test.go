package durable

import (
	"testing"
	"time"
)

// TestSignsOfLifeAreFew counts what the legs of a worker send to the engine in a second. However many run, each is heard of
// three times before the engine gives it up.
func TestSignsOfLifeAreFew(t *testing.T) {
	t.Parallel()
	for running, most := range map[int64]float64{1: 2, 12: 25, 50: 31, 200: 121} {
		var p pulse
		p.running.Store(running)
		pause := p.pause(legSilence)
		if each := float64(running) / pause.Seconds(); each > most {
			t.Errorf("%d legs send %.0f signs of life in a second, at most %.0f", running, each, most)
		}
		for _, silence := range []time.Duration{legSilence, onceSilence} {
			if pause := p.pause(silence); beatParts*pause > silence || pause < beat {
				t.Errorf("%d run: a sign of life every %v, and %v of silence end it", running, pause, silence)
			}
		}
	}
}
