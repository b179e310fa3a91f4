package livetest

import (
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/internal/live"
)

// Bench measures what publishing costs the publisher, and how fast one publisher reaches a hundred
// readers.
func Bench(b *testing.B, open Open) {
	b.Run("publish", func(b *testing.B) {
		publisher, _ := buses(b, open, 256)
		d := delta(topic, 0)
		d.Text = "a few words at a time"
		b.ReportAllocs()
		for b.Loop() {
			publisher.Publish(d)
		}
	})
	b.Run("100readers", func(b *testing.B) { benchReaders(b, open, 100) })
}

// benchReaders publishes in windows that fit into the readers' buffers, so that nobody is cut off
// and every delta is delivered to all.
func benchReaders(b *testing.B, open Open, readers int) {
	const window = 128
	publisher, reader := buses(b, open, 2*window)
	var seen sync.WaitGroup
	for range readers {
		r := subscribe(b, reader, topic)
		go func() {
			for n := range r.Notices() {
				if d, ok := n.(live.Delta); ok && d.Offset == window-1 {
					seen.Done()
				}
			}
		}()
	}
	b.ReportAllocs()
	rounds := 0
	for b.Loop() {
		rounds++
		seen.Add(readers)
		for i := range window {
			publisher.Publish(delta(topic, i))
		}
		seen.Wait()
	}
	delivered := float64(rounds) * window * float64(readers)
	b.ReportMetric(delivered/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/(float64(rounds)*window), "ns/delta")
	if cut := reader.Counts().Cut; cut > 0 {
		b.Fatalf("%d readers were cut off", cut)
	}
}
