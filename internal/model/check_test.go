package model_test

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// TestCheck breaks a request in one way at a time. It is refused before anything is sent.
//
// Covers: P5.
func TestCheck(t *testing.T) {
	hot, nan := 2.1, math.NaN()
	cases := []struct {
		name   string
		change func(*model.Request)
		want   string
	}{
		{"no model", func(r *model.Request) { r.Model = "" }, "no model is named"},
		{"negative turn", func(r *model.Request) { r.Turn = -1 }, "turn -1 is negative"},
		{"no limit", func(r *model.Request) { r.MaxOutput = 0 }, "the most tokens of a reply are not set"},
		{"too hot", func(r *model.Request) { r.Temperature = &hot }, "the temperature is not between 0 and 2"},
		{"no temperature", func(r *model.Request) { r.Temperature = &nan }, "the temperature is not between 0 and 2"},
		{"effort", func(r *model.Request) { r.Effort = "some" }, `effort "some" is unknown`},
		{"instruction", func(r *model.Request) { r.System = []model.Instruction{{Text: " "}} }, "instruction 0 is empty"},
		{"tool name", func(r *model.Request) { r.Tools[1].Name = "a b" }, "tool 1: its name may hold up to 64 letters, digits, _ and -"},
		{"tool twice", func(r *model.Request) { r.Tools[1].Name = "list" }, "tool list occurs twice"},
		{"no schema", func(r *model.Request) { r.Tools[1].Schema = nil }, "tool read: its schema is not a JSON schema of type object"},
		{"schema of a list", func(r *model.Request) { r.Tools[1].Schema = []byte(`{"type":"array"}`) }, "tool read: its schema is not a JSON schema of type object"},
		{"transcript", func(r *model.Request) { r.Transcript = nil }, "the transcript cannot be sent: invalid: the transcript is empty"},
		{
			"image",
			func(r *model.Request) {
				r.Transcript = talk([]chat.Part{{Kind: chat.PartImage, Image: "i"}})
				r.Images = map[string]model.Image{"i": {MediaType: "text/html", Data: []byte("x")}}
			},
			"message a: image i is missing or of no known type",
		},
		{
			"calls of this turn",
			func(r *model.Request) {
				r.Transcript = talk([]chat.Part{text("a")}, []chat.Part{use("7.0", "list", "{}")}, []chat.Part{result("7.0", "b", false)})
			},
			"message b already holds calls of turn 7",
		},
	}
	for _, w := range wires {
		server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
		client := w.dial(t, server.URL)
		for _, c := range cases {
			t.Run(w.name+"/"+c.name, func(t *testing.T) {
				req := request()
				c.change(&req)
				_, err := client.Generate(t.Context(), req, nil)
				var e *model.Error
				if !errors.As(err, &e) || e.Kind != chat.KindInvalidRequest || e.Message != c.want || e.Unmetered {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		}
	}
}

// TestWireID keeps ids apart, short and legal.
func TestWireID(t *testing.T) {
	ids := []string{
		"3.0", "3_0", "3_2e0", "call_3", "", "é", "30", "3.00", "33.0", "hash_", strings.Repeat("a", 36),
		strings.Repeat("a", 35), strings.Repeat("a", 37), strings.Repeat(".", 35),
	}
	seen := map[string]string{}
	for _, id := range ids {
		got := model.WireID(id)
		if got == "" || len(got) > 40 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q travels as %q", id, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q both travel as %q", id, other, got)
		}
		seen[got] = id
	}
	if got := model.WireID("3.0"); got != "call_3_2e0" {
		t.Errorf("3.0 travels as %q", got)
	}
}

// TestBaseURL refuses an invalid address at once, and not at the first request.
func TestBaseURL(t *testing.T) {
	for _, base := range []string{"localhost:80", "ftp://host/", "http://", "://"} {
		for _, w := range wires {
			if _, err := w.make(w.key, base, nil); err == nil {
				t.Errorf("%s takes %q", w.name, base)
			}
		}
	}
}
