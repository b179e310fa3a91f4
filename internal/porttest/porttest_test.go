package porttest

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestAHeldPort listens there twice, and looks who answers before, between and after.
func TestAHeldPort(t *testing.T) {
	address := fmt.Sprintf("127.0.0.1:%d", Hold(t))
	refused := func() {
		t.Helper()
		if conn, err := net.DialTimeout("tcp", address, time.Minute); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens, and connecting gives %v, %v", conn, err)
		}
	}
	refused()
	for range 2 {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.DialTimeout("tcp", address, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(conn.Close(), listener.Close()); err != nil {
			t.Error(err)
		}
		refused()
	}
}
