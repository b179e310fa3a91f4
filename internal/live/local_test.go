package live_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/live/livetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func local(_ testing.TB, buffer int) (publisher, reader live.Bus) {
	l := live.NewLocal(buffer)
	return l, l
}

func TestLocal(t *testing.T) { livetest.Run(t, local) }

func BenchmarkLocal(b *testing.B) { livetest.Bench(b, local) }
