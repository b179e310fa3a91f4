package engine

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

func TestAHeldPortGoesToWhoNamesIt(t *testing.T) {
	if !heldWhileListening {
		t.Skip("ports cannot be held on this system")
	}
	ports, err := holdPorts(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer ports.free()
	for _, name := range services {
		listener, err := net.Listen("tcp", ports.address(name))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := listener.Close(); err != nil {
				t.Error(err)
			}
		}()
		// The listener, not the holder of its port, answers a client that connects.
		conn, err := net.DialTimeout("tcp", ports.address(name), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAPortThatIsTakenIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = holdPorts(t.Context(), netip.MustParseAddrPort(listener.Addr().String()))
	want := "listen on " + listener.Addr().String() + ": another program listens there: end it, or choose another port"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
