package chaos

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// mostHeap is how many MB a bomb may cost while it unpacks, server and client together. The reply
// itself may be 8 MB, its largest line here 4 MB, and each is held a few times over.
const mostHeap = 128

// TestBombsStaySmall plays the large faults one by one and watches the heap.
func TestBombsStaySmall(t *testing.T) {
	for _, a := range adapters {
		for _, id := range []string{"L18", "L19", "L28", "L29"} {
			server := serve(t, &scripted.Script{Default: &scripted.Reply{
				Text: "boom", Fault: scripted.Trouble{Name: id},
			}}, scripted.Options{})
			client := a.dial(t, server, "k")
			runtime.GC()
			before := heap()
			stop, peak := make(chan struct{}), make(chan uint64)
			go watch(stop, peak)
			_, err := client.Generate(t.Context(), request("go"), nil)
			close(stop)
			grown := int64(<-peak) - int64(before)
			t.Logf("%s %s ended in %v", id, a.provider, err)
			measure.Most(t, fmt.Sprintf("chaos: MB by which the heap grows, %s, %s", id, a.provider), grown>>20, mostHeap)
		}
	}
}

// watch looks at the heap until it is told to stop and sends the most it saw.
func watch(stop <-chan struct{}, peak chan<- uint64) {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	most := heap()
	for {
		select {
		case <-look.C:
			most = max(most, heap())
		case <-stop:
			peak <- max(most, heap())
			return
		}
	}
}

// heap is how many bytes objects take, dead ones that were not swept yet included.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
