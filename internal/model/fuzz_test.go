package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// FuzzAnthropicStream feeds any bytes as a response through SDK and adapter.
func FuzzAnthropicStream(f *testing.F) { fuzzStream(f, wires[0]) }

// FuzzOpenAIStream does the same on the other wire.
func FuzzOpenAIStream(f *testing.F) { fuzzStream(f, wires[1]) }

// bodies is a transport that answers every request with the same bytes, without a network.
type bodies string

// RoundTrip implements http.RoundTripper.
func (b bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	res := httptest.NewRecorder()
	answer(string(b))(res, r)
	out := res.Result()
	out.Request = r
	return out, nil
}

func fuzzStream(f *testing.F, w wire) {
	f.Helper()
	for _, fixture := range []string{"text", "tools"} {
		stream := w.fixture(f, fixture)
		f.Add(stream)
		for i, frame := range frames(stream) {
			f.Add(frame)
			f.Add(strings.Join(frames(stream)[i:], ""))
		}
	}
	f.Add(calling(w, word(w, "tool_use", "tool_calls"), asked{"a", "read", "{"}, asked{"", "", "[]"}))
	f.Fuzz(func(t *testing.T, stream string) { _ = swallow(t, w, stream) })
}

// swallow takes any bytes as a response: it has one clear end, in time, and a reply can be used. It
// reports whether a reply came.
func swallow(t *testing.T, w wire, stream string) bool {
	t.Helper()
	client := w.through(t, &http.Client{Transport: bodies(stream)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := request()
	reply, err := client.Generate(ctx, req, func(model.Delta) {})
	var e *model.Error
	switch {
	case err != nil && !errors.As(err, &e):
		t.Fatalf("an error without a kind: %v\n%q", err, stream)
	case err != nil && (e.Kind == "" || e.Kind == chat.KindTimedOut || reply.Stop != ""):
		t.Fatalf("not one clear end: %+v, %v\n%q", reply, err, stream)
	case err == nil:
		usable(t, w, req, reply)
	}
	return err == nil
}

var (
	garbled = flag.Int("garbled", 300, "how many garbled streams to read per wire")
	seed    = flag.Uint64("seed", 1, "seed of the garbled streams")
)

// TestGarbled reads fixtures in which bytes and frames were changed by chance. It does the work of
// the fuzz targets at a price that every run can pay: those need the SDKs compiled anew.
func TestGarbled(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			parts := frames(w.fixture(t, "text") + w.fixture(t, "tools"))
			chance := rand.New(rand.NewPCG(*seed, uint64(len(w.name))))
			replies := 0
			for range *garbled {
				if swallow(t, w, garble(chance, parts)) {
					replies++
				}
			}
			t.Logf("seed %d: %d replies, %d errors", *seed, replies, *garbled-replies)
			if replies == 0 || replies == *garbled {
				t.Error("the streams are too much alike")
			}
		})
	}
}

// garble makes a stream out of frames: most in order, some repeated, left out, cut or with bytes
// that are not theirs.
func garble(chance *rand.Rand, parts []string) string {
	var out []byte
	for _, p := range parts {
		switch chance.IntN(12) {
		case 0:
			continue
		case 1:
			out = append(out, p...)
		case 2:
			p = parts[chance.IntN(len(parts))]
		case 3:
			p = p[:chance.IntN(len(p))]
		}
		out = append(out, p...)
	}
	const spice = "{}[]\":,\\\n0-9e.nul\xff\x00 "
	for range chance.IntN(4) {
		if len(out) > 0 {
			out[chance.IntN(len(out))] = spice[chance.IntN(len(spice))]
		}
	}
	return string(out)
}

// usable checks that a reply can be acted on and sent back.
func usable(t *testing.T, w wire, req model.Request, reply model.Reply) {
	t.Helper()
	var results []chat.Part
	speaks := false
	for _, p := range reply.Parts {
		speaks = speaks || p.Kind != chat.PartThinking
		if p.Kind != chat.PartToolUse {
			continue
		}
		results = append(results, result(p.Call, "done", false))
		var args map[string]json.RawMessage
		if err := json.Unmarshal([]byte(p.Args), &args); err != nil || args == nil {
			t.Fatalf("the arguments of %s are %q", p.Call, p.Args)
		}
		if slices.Contains(reply.Malformed, p.Call) && (len(args) != 1 || args["malformed"] == nil) {
			t.Fatalf("the malformed arguments of %s are %q", p.Call, p.Args)
		}
	}
	if reply.Usage.Input <= 0 || reply.Usage.Output < 0 {
		t.Fatalf("used %+v", reply.Usage)
	}
	if !speaks {
		return
	}
	req.Turn++
	req.Transcript = append(req.Transcript,
		chat.Message{ID: "m2", Speaker: chat.Assistant, Parts: reply.Parts},
		chat.Message{ID: "m3", Speaker: chat.User, Parts: append(results, text("Go on."))})
	deliver(t, w, req)
}

// FuzzTranscript reads any transcript. Nothing panics, and what validates is taken by both wires.
func FuzzTranscript(f *testing.F) {
	for _, req := range scenarios() {
		f.Add(string(must(json.Marshal(req.Transcript))(f)))
	}
	f.Add(`[{"speaker":"user","parts":[{"kind":"text","text":"a"}]},{"speaker":"user","parts":[]}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		var recorded []chat.Message
		if json.Unmarshal([]byte(raw), &recorded) != nil {
			return
		}
		transcript := chat.Join(recorded)
		if transcript.Validate() != nil {
			return
		}
		req := request()
		req.Transcript, req.Images = transcript, map[string]model.Image{}
		for _, msg := range transcript {
			for _, p := range msg.Parts {
				if p.Kind == chat.PartImage {
					req.Images[p.Image] = model.Image{MediaType: "image/png", Data: []byte("PNG")}
				}
				if strings.HasPrefix(p.Call, "7.") {
					return // a turn of the fuzzer's that we are about to play ourselves
				}
			}
		}
		for _, w := range wires {
			deliver(t, w, req)
		}
	})
}

// deliver sends a request and checks that what arrives is JSON with all messages in it.
func deliver(t *testing.T, w wire, req model.Request) {
	t.Helper()
	sent := &sink{reply: w.fixture(t, "text")}
	if _, err := w.through(t, &http.Client{Transport: sent}).Generate(t.Context(), req, nil); err != nil {
		t.Fatalf("%s: %v", w.name, err)
	}
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(sent.body, &body); err != nil {
		t.Fatalf("%s: sent %q: %v", w.name, sent.body, err)
	}
	if len(body.Messages) < len(req.Transcript) {
		t.Fatalf("%s: %d of %d messages arrived", w.name, len(body.Messages), len(req.Transcript))
	}
}

// sink keeps the body of a request and answers with a whole reply.
type sink struct {
	reply string
	body  []byte
}

// RoundTrip implements http.RoundTripper.
func (s *sink) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent capture
	res := httptest.NewRecorder()
	sent.handle(s.reply)(res, r)
	s.body = sent.body
	out := res.Result()
	out.Request = r
	return out, nil
}
