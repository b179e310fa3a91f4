package model_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/model"
)

// brief is an idle time that a test can wait for, and in which a busy machine can send a request;
// it is less than the two seconds that a reply is waited for after it said why it stopped. A
// request that has to be answered within the idle time, by a server that has to get a core first,
// has longer.
const brief, longer = 1500 * time.Millisecond, 5 * time.Second

// TestSilence gives up on providers that send nothing, or nothing of use.
//
// Covers: L3, L16.
func TestSilence(t *testing.T) {
	for _, w := range wires {
		stream := w.fixture(t, "text")
		half := strings.Join(frames(stream)[:2], "")
		ping := word(w, event("ping", `{"type":"ping"}`), ": keep-alive\n\n")
		cases := []struct {
			name   string
			idle   time.Duration
			handle http.HandlerFunc
			want   string
		}{
			{"L3 no answer", brief, hang(""), "error network unmetered"},
			{"silence on the way", longer, hang(half), word(w, "error network used 12 unmetered", "error network unmetered")},
			{"L16 only pings", brief, drip(ping), "error network unmetered"},
			{"L13 silence after the reason to stop", brief, hang(stream[:finish(t, w, stream)]), "reply"},
		}
		for _, c := range cases {
			t.Run(w.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				req := request()
				req.Idle = c.idle
				reply, err := w.ask(t, req, c.handle, nil)
				got := show(reply, err)
				if err == nil && reply.Stop == model.StopEnd && len(reply.Parts) == 1 {
					got = "reply"
				}
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
	}
}

// drip sends the same frame again and again, more often than the idle time, for as long as the
// client listens.
func drip(frame string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(brief / 10)
		defer tick.Stop()
		for {
			answer(frame)(w, r)
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
		}
	}
}

// begun is how many frames of the fixture text bring its first word.
func begun(w wire) int { return map[string]int{"anthropic": 4, "openai": 2}[w.name] }

// TestSlowListener is not the provider's fault: the watchdog waits while deltas are passed on.
func TestSlowListener(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			req.Idle = longer
			busy, done := context.WithTimeout(t.Context(), 2*longer)
			defer done()
			list := frames(w.fixture(t, "text"))
			reply, err := w.ask(t, req, func(rw http.ResponseWriter, r *http.Request) {
				answer(strings.Join(list[:begun(w)], ""))(rw, r)
				_ = http.NewResponseController(rw).Flush()
				<-busy.Done()
				answer(strings.Join(list[begun(w):], ""))(rw, r)
			}, func(model.Delta) { <-busy.Done() })
			if err != nil {
				t.Errorf("got %s", show(reply, err))
			}
		})
	}
}

// TestCancel ends a call from outside.
func TestCancel(t *testing.T) {
	for _, w := range wires {
		half := strings.Join(frames(w.fixture(t, "text"))[:begun(w)], "")
		used := word(w, " used 12", "")
		t.Run(w.name+"/cancelled", func(t *testing.T) {
			server := serve(t, hang(half))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := show(w.dial(t, server.URL).Generate(ctx, request(), func(model.Delta) { cancel() }))
			if want := "error cancelled" + used + " unmetered"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
		t.Run(w.name+"/cancelled before", func(t *testing.T) {
			server := serve(t, answer(half))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if got := show(w.dial(t, server.URL).Generate(ctx, request(), nil)); got != "error cancelled" {
				t.Errorf("got %q", got)
			}
		})
		t.Run(w.name+"/deadline", func(t *testing.T) {
			t.Parallel()
			server := serve(t, hang(""))
			ctx, cancel := context.WithTimeout(t.Context(), brief)
			defer cancel()
			want := "error timed_out unmetered"
			if got := show(w.dial(t, server.URL).Generate(ctx, request(), nil)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestUnreachable says that nothing can have been billed when nothing was sent.
//
// Covers: L1, L2.
func TestUnreachable(t *testing.T) {
	plain := serve(t, answer(""))
	for _, w := range wires {
		for name, base := range map[string]string{
			"L1 refused": "http://127.0.0.1:1", // no port that was free a moment ago: another may listen there by now
			"L2 no TLS":  strings.Replace(plain.URL, "http://", "https://", 1),
		} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				got := show(w.dial(t, base).Generate(t.Context(), request(), nil))
				if got != "error network" {
					t.Errorf("got %q", got)
				}
			})
		}
	}
}

// TestLarge takes a large reply and refuses one without end.
//
// Covers: L18, L19, L29.
func TestLarge(t *testing.T) {
	piece := strings.Repeat("x", 64<<10)
	for _, w := range wires {
		delta := word(w, blockDelta(0, `{"type":"text_delta","text":"`+piece+`"}`),
			chunk(`{"index":0,"delta":{"content":"`+piece+`"},"finish_reason":null}`))
		whole := said(w, "", word(w, "end_turn", "stop"), "")
		at := strings.Index(whole, word(w, "event: content_block_stop", "data: "))
		t.Run(w.name+"/L29 five megabytes", func(t *testing.T) {
			reply, err := w.ask(t, request(), answer(whole[:at]+strings.Repeat(delta, 80)+whole[at:]), nil)
			if err != nil || len(reply.Parts) != 1 || len(reply.Parts[0].Text) != 80<<16 {
				t.Errorf("got %d parts, error %v", len(reply.Parts), err)
			}
		})
		comment := ": " + piece + "\n\n"
		for name, endless := range map[string]struct {
			frame string
			most  int
		}{
			"L19 content without end":  {delta, 20 << 20},
			"L16 comments without end": {comment, 80 << 20},
		} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				total := make(chan int, 1)
				got := show(w.ask(t, request(), func(rw http.ResponseWriter, r *http.Request) {
					answer(whole[:at])(rw, r)
					sent := 0
					for err := error(nil); err == nil && sent < 100<<20; sent += len(endless.frame) {
						_, err = rw.Write([]byte(endless.frame))
					}
					total <- sent
				}, nil))
				if want := "error no_result" + word(w, " used 12", "") + " unmetered"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				if sent := <-total; sent > endless.most {
					t.Errorf("%d bytes were read", sent)
				}
			})
		}
		t.Run(w.name+"/L9 an error without end", func(t *testing.T) {
			total := make(chan int, 1)
			got := show(w.ask(t, request(), func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(http.StatusBadGateway)
				sent := 0
				for err := error(nil); err == nil && sent < 100<<20; sent += len(piece) {
					_, err = rw.Write([]byte(piece))
				}
				total <- sent
			}, nil))
			if sent := <-total; sent > 16<<20 || got != "error server_error 502 unmetered" {
				t.Errorf("got %q after %d bytes", got, sent)
			}
		})
		t.Run(w.name+"/L18 a gzip bomb", func(t *testing.T) {
			var bomb bytes.Buffer
			zip := gzip.NewWriter(&bomb)
			for range 1024 {
				fmt.Fprint(zip, piece)
			}
			if err := zip.Close(); err != nil {
				t.Fatal(err)
			}
			got := show(w.ask(t, request(), func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Encoding", "gzip")
				answer(bomb.String())(rw, r)
			}, nil))
			if got != "error network unmetered" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestNothingLeaks looks for the key and for the provider's words in everything an error can print.
func TestNothingLeaks(t *testing.T) {
	const canary = "words-of-the-provider"
	body := `{"type":"error","error":{"type":"` + canary + `","code":"` + canary + `","message":"` +
		canary + " " + testKey + `"}}`
	for _, w := range wires {
		for name, handle := range map[string]http.HandlerFunc{
			"refused":     refusal(400, body, "Request-Id: "+canary+" "+testKey),
			"on the way":  answer(word(w, event("error", body), "data: "+body+"\n\n")),
			"broken JSON": answer(word(w, event("message_start", body+"}"), "data: "+body+"}\n\n")),
			"cut off":     abort(canary),
		} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				_, err := w.ask(t, request(), handle, nil)
				silent(t, err, canary)
			})
		}
		t.Run(w.name+"/in the address", func(t *testing.T) {
			_, err := w.dial(t, "http://127.0.0.1:1/"+canary).Generate(t.Context(), request(), nil)
			silent(t, err, canary)
		})
	}
}

// silent looks for a canary and the key in an error and all its causes.
func silent(t *testing.T, err error, canary string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for err != nil {
		for _, printed := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err)} {
			if strings.Contains(printed, canary) || strings.Contains(printed, testKey) {
				t.Errorf("leaks in %s", printed)
			}
		}
		err = errors.Unwrap(err)
	}
}

// TestReuse sends one call after another over one connection.
func TestReuse(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			var opened atomic.Int32
			stream := w.fixture(t, "text")
			server := httptest.NewUnstartedServer(answer(stream))
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					opened.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			client := w.dial(t, server.URL)
			for range 5 {
				if _, err := client.Generate(t.Context(), request(), nil); err != nil {
					t.Fatal(err)
				}
			}
			if n := opened.Load(); n != 1 {
				t.Errorf("%d connections for 5 calls", n)
			}
		})
	}
}

// TestOpenEnd does not wait long for a provider that never closes its response, and only a little
// longer for one that stops without its last frame.
func TestOpenEnd(t *testing.T) {
	for _, w := range wires {
		stream := w.fixture(t, "text")
		for _, c := range []struct {
			name string
			body string
			most time.Duration
		}{
			{"after the last frame", stream, 1900 * time.Millisecond},
			{"after the reason to stop", stream[:finish(t, w, stream)], 5 * time.Second},
		} {
			t.Run(w.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				client, began := w.dial(t, serve(t, hang(c.body)).URL), time.Now()
				reply, err := client.Generate(ctx, request(), nil)
				measure.Most(t, "model: "+w.name+": an open end "+c.name, time.Since(began), c.most)
				if err != nil || ctx.Err() != nil {
					t.Errorf("waited too long for %s", show(reply, err))
				}
			})
		}
	}
}
