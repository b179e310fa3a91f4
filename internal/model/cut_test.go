package model_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// frames splits a stream after the blank lines.
func frames(stream string) []string {
	return strings.SplitAfter(strings.TrimSuffix(stream, "\n\n")+"\n\n", "\n\n")[:strings.Count(stream, "\n\n")]
}

// finish is how many bytes of a stream make the reply complete: all up to the stop reason.
func finish(t *testing.T, w wire, stream string) int {
	t.Helper()
	mark := map[string]string{"anthropic": `"stop_reason":"`, "openai": `"finish_reason":"`}[w.name]
	at := strings.Index(stream, mark)
	if at < 0 {
		t.Fatal("the fixture never stops")
	}
	return at + strings.Index(stream[at:], "\n\n") + 2
}

// TestCut ends a stream after every byte, and cuts the connection after every frame. Before the
// stop reason that is an error and nothing else; after it the reply is complete.
//
// Covers: L11, L12, L13.
func TestCut(t *testing.T) {
	for _, w := range wires {
		for _, fixture := range []string{"text", "tools"} {
			t.Run(w.name+"/"+fixture, func(t *testing.T) {
				stream := w.fixture(t, fixture)
				whole := must(w.ask(t, request(), answer(stream), nil))(t)
				enough := finish(t, w, stream)
				var handle atomic.Value
				server := serve(t, func(rw http.ResponseWriter, r *http.Request) {
					h, _ := handle.Load().(http.HandlerFunc)
					h(rw, r)
				})
				client := w.dial(t, server.URL)
				cut := func(bytes int, how func(string) http.HandlerFunc) {
					t.Helper()
					handle.Store(how(stream[:bytes]))
					got, err := client.Generate(t.Context(), request(), nil)
					if bytes >= enough {
						if err != nil || cmp.Diff(whole.Parts, got.Parts) != "" || got.Stop != whole.Stop {
							t.Fatalf("after %d of %d bytes: %s", bytes, len(stream), show(got, err))
						}
						return
					}
					var e *model.Error
					if !errors.As(err, &e) || e.Kind != chat.KindNetwork || !e.Unmetered {
						t.Fatalf("after %d of %d bytes: %s", bytes, len(stream), show(got, err))
					}
				}
				for k := range len(stream) {
					cut(k, answer)
				}
				at := 0
				for _, f := range frames(stream) {
					cut(at, abort)
					at += len(f)
				}
			})
		}
	}
}

// TestShuffled repeats, drops and swaps every frame of a stream. A call that may be run is still
// one that the model has asked for in full.
//
// Covers: L14, L15.
func TestShuffled(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			list := frames(w.fixture(t, "tools"))
			for i := range list {
				rest := strings.Join(list[i+1:], "")
				head := strings.Join(list[:i], "")
				sane(t, w, head+list[i]+list[i]+rest)
				sane(t, w, head+rest)
				if i+1 < len(list) {
					sane(t, w, head+list[i+1]+list[i]+strings.Join(list[i+2:], ""))
				}
			}
		})
	}
}

func sane(t *testing.T, w wire, stream string) {
	t.Helper()
	reply, err := w.ask(t, request(), answer(stream), nil)
	if err != nil {
		var e *model.Error
		if !errors.As(err, &e) || !e.Kind.Retryable() {
			t.Errorf("%s\n%s", show(reply, err), stream)
		}
		return
	}
	for _, p := range reply.Parts {
		if p.Kind != chat.PartToolUse || strings.Contains(strings.Join(reply.Malformed, " "), p.Call) {
			continue
		}
		if got := p.Tool + p.Args; got != `read{"path": "a.txt"}` && got != "list{}" {
			t.Errorf("may run %s\n%s", got, stream)
		}
	}
}
