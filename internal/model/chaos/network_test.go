package chaos

import (
	"slices"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// TestConnectionsThatFail plays L1 and L2: nobody listens, and a handshake that is torn down.
// Nothing was sent, so nothing can have been billed.
func TestConnectionsThatFail(t *testing.T) {
	reset, end, err := scripted.ListenReset()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end() }()
	for _, a := range adapters {
		for id, base := range map[string]string{"L1": scripted.Refused, "L2": reset} {
			client, err := a.at(base, "k")
			if err != nil {
				t.Fatal(err)
			}
			for range *runs {
				e := call(t, client, request("hello"))
				if e.err == nil || !slices.Contains(network, e.err.Kind) || e.err.Unmetered {
					t.Errorf("%s %s: %+v, want a network error that cost nothing", id, a.provider, e.err)
				}
			}
		}
	}
	// A connection that is torn down after the request was sent may have cost something.
	server := serve(t, &scripted.Script{Default: &scripted.Reply{Fault: scripted.Trouble{Name: "refused"}}}, scripted.Options{})
	for _, a := range adapters {
		e := call(t, a.dial(t, server, "k"), request("hello"))
		if e.err == nil || e.err.Kind != chat.KindNetwork || !e.err.Unmetered {
			t.Errorf("%s: %+v, want a network error whose cost is unknown", a.provider, e.err)
		}
	}
}
