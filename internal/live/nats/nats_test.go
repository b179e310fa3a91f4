//go:build services

package nats_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/live/livetest"
	"github.com/retinue-dev/retinue/internal/live/nats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serverURL is the address of the NATS server the suite runs against. A missing server is a
// failure: a suite that skips itself shows nothing.
func serverURL(tb testing.TB) string {
	tb.Helper()
	url := os.Getenv("TEST_RETINUE_NATS")
	if url == "" {
		url = "nats://127.0.0.1:4222"
	}
	address := url[strings.LastIndexAny(url, "/@")+1:]
	conn, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		tb.Fatalf("no NATS server at %s (%v): start one with `nats-server -a 127.0.0.1`, "+
			"or set TEST_RETINUE_NATS to where it is", address, err)
	}
	if err := conn.Close(); err != nil {
		tb.Fatal(err)
	}
	return url
}

var opened atomic.Int64

// prefix is one that no other test, process or run uses.
func prefix() string {
	return fmt.Sprintf("retinue.test.%d.%d", os.Getpid(), opened.Add(1))
}

// pair makes two buses with connections of their own, as two processes have them.
func pair(tb testing.TB, buffer int) (publisher, reader live.Bus) {
	options := nats.Options{URL: serverURL(tb), Prefix: prefix(), Buffer: buffer}
	return open(tb, options), open(tb, options)
}

func open(tb testing.TB, options nats.Options) *nats.Bus {
	tb.Helper()
	bus, err := nats.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(bus.Close)
	return bus
}

func TestBus(t *testing.T) { livetest.Run(t, pair) }

func BenchmarkBus(b *testing.B) { livetest.Bench(b, pair) }
