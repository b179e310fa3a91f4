package scripted

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// refused sends a body and wants a status, the provider's shape, and some words of the message.
func refused(t *testing.T, s *Server, p Provider, body string, status int, words string, change ...func(*http.Request)) {
	t.Helper()
	r := post(t, s, p, body, change...)
	if r.err != nil {
		t.Fatal(r.err)
	}
	var shape struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(r.body), &shape); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	wantType := openaiErrors[status][0]
	if p == Anthropic {
		wantType = anthropicErrors[status]
	}
	if r.status != status || shape.Error.Type != wantType || !strings.Contains(shape.Error.Message, words) {
		t.Errorf("got %d %s\nwant %d %s with %q", r.status, r.body, status, wantType, words)
	}
	if (p == Anthropic) != (shape.Type == "error") || r.header.Get(requestIDHeader(p)) == "" {
		t.Errorf("not the shape of %s: %s %v", p, r.body, r.header)
	}
}

// TestARefusalLooksLikeTheProviders sends what only the provider's own checks refuse. Which
// requests those are is tested in package request.
func TestARefusalLooksLikeTheProviders(t *testing.T) {
	s := serve(t, always(Reply{Text: "ok"}), Options{})
	for p, words := range map[Provider]string{Anthropic: "fancy: Extra inputs", OpenAI: "Unrecognized request argument supplied: fancy"} {
		refused(t, s, p, strings.Replace(hello(p), `"model"`, `"fancy":1,"model"`, 1), http.StatusBadRequest, words)
		refused(t, s, p, hello(p)[1:], http.StatusBadRequest, "")
	}
}

func TestHeadersAreChecked(t *testing.T) {
	script := always(Reply{Text: "ok"})
	script.Keys, script.Models = []string{"key-1"}, []string{"m"}
	s := serve(t, script, Options{})
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	refused(t, s, Anthropic, anthropicHello, 401, "invalid x-api-key", header("X-Api-Key", ""))
	refused(t, s, Anthropic, anthropicHello, 401, "invalid x-api-key", header("X-Api-Key", "key-2"))
	refused(t, s, Anthropic, anthropicHello, 400, "anthropic-version", header("Anthropic-Version", ""))
	refused(t, s, Anthropic, anthropicHello, 400, "anthropic-version", header("Anthropic-Version", "tomorrow"))
	refused(t, s, OpenAI, openaiHello, 401, "Incorrect API key", header("Authorization", ""))
	refused(t, s, OpenAI, openaiHello, 401, "Incorrect API key", header("Authorization", "Bearer key-2"))
	large := `{"model":"` + strings.Repeat("m", maxBody) + `"}`
	for _, p := range providers {
		refused(t, s, p, hello(p), 400, "Content-Type", header("Content-Type", "text/plain"))
		refused(t, s, p, large, 413, "maximum size")
		refused(t, s, p, strings.Replace(hello(p), `"m"`, `"x"`, 1), 404, "x")
	}
}

func TestALaxServerTakesWhatItUnderstands(t *testing.T) {
	s := serve(t, always(Reply{Text: "ok"}), Options{Lax: true})
	for p, body := range map[Provider]string{
		Anthropic: strings.Replace(anthropicHello, `"user"`, `"assistant"`, 1), OpenAI: strings.Replace(openaiHello, `"user"`, `"assistant"`, 1),
	} {
		if r := post(t, s, p, body, func(r *http.Request) { r.Header = http.Header{} }); r.status != 200 {
			t.Errorf("%s: refused: %d %s", p, r.status, r.body)
		}
	}
}
