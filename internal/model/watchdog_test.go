package model

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatchdog plays signs of life against a virtual clock.
func TestWatchdog(t *testing.T) {
	const idle = 10 * time.Second
	cases := []struct {
		name string
		live func(*watchdog)
		at   time.Duration
		want error
	}{
		{"nothing ever", func(*watchdog) {}, idle, errIdle},
		{"bytes, then nothing", func(w *watchdog) { often(3, 9*time.Second, w.heard) }, 37 * time.Second, errIdle},
		{"bytes for ever", func(w *watchdog) { often(100, time.Second, w.heard) }, patience * idle, errBarren},
		{"content, then nothing", func(w *watchdog) { often(100, 9*time.Second, w.fed) }, 910 * time.Second, errIdle},
		{
			"content, then bytes for ever",
			func(w *watchdog) { often(5, 9*time.Second, w.fed); often(100, time.Second, w.heard) },
			45*time.Second + patience*idle, errBarren,
		},
		{
			"a long hold",
			func(w *watchdog) { w.hold(); often(1, time.Hour, w.fed) },
			time.Hour + idle, errIdle,
		},
		{"calmed", func(w *watchdog) { often(1, time.Second, func() { w.calm(3 * time.Second) }) }, 4 * time.Second, errIdle},
		{"calm is never longer", func(w *watchdog) { w.calm(time.Hour) }, idle, errIdle},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, bites := time.Now(), 0
				var at time.Duration
				w := watch(idle, func(error) { bites++; at = time.Since(began) })
				c.live(w)
				time.Sleep(2 * time.Hour)
				if got := w.stop(); bites != 1 || at != c.at || !errors.Is(got, c.want) {
					t.Errorf("bit %d times, at %v with %v; want %v with %v", bites, at, got, c.at, c.want)
				}
			})
		})
	}
}

// often does something n times, after a time each.
func often(n int, every time.Duration, do func()) {
	for range n {
		time.Sleep(every)
		do()
	}
}

// TestWatchdogStopped never bites again.
func TestWatchdogStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(time.Second, func(error) { t.Error("it bit") })
		if err := w.stop(); err != nil {
			t.Errorf("stopped with %v", err)
		}
		time.Sleep(time.Hour)
	})
}

// TestRetryAfter reads every form of the header, and none of its nonsense.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	cases := []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "30", 30 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Sun, 15 Nov 2026 12:01:30 GMT", 90 * time.Second},
		{"Retry-After", "Sun, 15 Nov 2026 11:00:00 GMT", 0},
		{"Retry-After", "-5", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "Inf", longestWait},
		{"Retry-After", "1e300", longestWait},
		{"Retry-After", "soon", 0},
		{"Retry-After", "", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After-Ms", "1e12", longestWait},
	}
	for _, c := range cases {
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			if got := retryAfter(http.Header{c.name: {c.value}}, now); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestHTTPClient takes no proxy from the environment, follows nobody and unpacks nothing.
func TestHTTPClient(t *testing.T) {
	client := NewHTTPClient()
	transport, ok := client.Transport.(*http.Transport)
	if !ok || transport.Proxy != nil || !transport.DisableCompression {
		t.Errorf("the transport is %+v", transport)
	}
	if err := client.CheckRedirect(nil, nil); !errors.Is(err, http.ErrUseLastResponse) {
		t.Errorf("a redirect gives %v", err)
	}
}
