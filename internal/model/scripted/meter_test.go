package scripted

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTheMeterCountsWhatWasGenerated(t *testing.T) {
	s := serve(t, &Script{Rules: []Rule{
		{Name: "lost", When: Match{Text: "lost"}, Reply: Reply{
			Usage: &Usage{Input: 10, Output: 5}, Fault: Trouble{Name: "late_gateway"},
		}},
		{Name: "limited", When: Match{Text: "limited"}, Reply: Reply{Fault: Trouble{Name: "L6"}}},
	}, Default: &Reply{Text: "x", Usage: &Usage{Input: 100, Output: 50, CacheRead: 7, CacheWrite: 2, Reasoning: 3}}}, Options{})
	for _, text := range []string{"lost", "limited", "fine", ""} {
		post(t, s, OpenAI, strings.Replace(openaiHello, "hello", text, 1))
	}
	settled(t, s)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.AnthropicURL()+"/_scripted/meter", nil)
	if err != nil {
		t.Fatal(err)
	}
	var m Meter
	if err := json.Unmarshal([]byte(do(req).body), &m); err != nil {
		t.Fatal(err)
	}
	key := Fingerprint("key-1")
	want := Meter{
		Requests: 4, Answered: 2, Refused: 1, Limited: 1, HighWater: 1,
		Billed: Usage{Input: 110, Output: 55, CacheRead: 7, CacheWrite: 2, Reasoning: 3},
		Attempts: []Attempt{
			{Provider: OpenAI, Key: key, Model: "m", Rule: "lost", Fault: "late_gateway", Status: 504, Frames: 1, Billed: Usage{Input: 10, Output: 5}},
			{Provider: OpenAI, Key: key, Model: "m", Rule: "limited", Fault: "L6", Status: 429, Frames: 1},
			{Provider: OpenAI, Key: key, Model: "m", Rule: "default", Status: 200, Frames: 1, Billed: Usage{Input: 100, Output: 50, CacheRead: 7, CacheWrite: 2, Reasoning: 3}},
			{Provider: OpenAI, Key: key, Status: 400, Message: "Invalid 'messages[0].content': empty text."},
		},
	}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreFields(Attempt{}, "ID", "At", "Took")); diff != "" {
		t.Errorf("meter (+) against what happened (-):\n%s", diff)
	}
	for i, a := range m.Attempts {
		if a.At.IsZero() || !strings.HasPrefix(a.ID, "req_") || (i > 0 && a.At.Before(m.Attempts[i-1].At)) {
			t.Errorf("attempt %d has no time, no name or the wrong place: %+v", i, a)
		}
	}
}

func TestTheMeterKnowsHowManyCameAtOnce(t *testing.T) {
	s := serve(t, always(Reply{Text: "x", Fault: Trouble{Name: "stall", Wait: time.Hour}}), Options{})
	var all sync.WaitGroup
	for range 7 {
		all.Go(func() { post(t, s, OpenAI, openaiHello) })
	}
	for end := time.Now().Add(time.Minute); s.Meter().Running < 7; {
		if time.Now().After(end) {
			t.Fatalf("only %d are under way", s.Meter().Running)
		}
	}
	if err := s.http.Close(); err != nil { // everybody is thrown out
		t.Fatal(err)
	}
	all.Wait()
	if m := settled(t, s); m.HighWater != 7 || m.Requests != 7 {
		t.Errorf("meter is %+v", m)
	}
}

func TestTheLimitIsPerKey(t *testing.T) {
	l := limiter{rate: 5, free: map[string]time.Time{}}
	start := time.Unix(1000, 0)
	for i := range 5 {
		if a := l.take("a", start); a.wait != 0 || a.limit != 5 || a.remaining != 4-i {
			t.Errorf("request %d: %+v", i, a)
		}
	}
	each := 200 * time.Millisecond
	want := allowance{limit: 5, wait: each, reset: time.Second}
	if a := l.take("a", start); a != want {
		t.Errorf("the sixth: %+v, want %+v", a, want)
	}
	if a := l.take("b", start); a.wait != 0 {
		t.Errorf("another key: %+v", a)
	}
	if a := l.take("a", start.Add(each-1)); a.wait != 1 {
		t.Errorf("a moment too early: %+v", a)
	}
	if a := l.take("a", start.Add(each)); a.wait != 0 || a.remaining != 0 {
		t.Errorf("in time: %+v", a)
	}
	if a := l.take("a", start.Add(time.Minute)); a.wait != 0 || a.remaining != 4 {
		t.Errorf("after a rest: %+v", a)
	}
}

func TestTheLimitIsToldAsTheProviderDoes(t *testing.T) {
	for p, names := range map[Provider][]string{
		Anthropic: {"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
		OpenAI:    {"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	} {
		s := serve(t, always(Reply{Text: "x"}), Options{Rate: 0.001})
		for _, status := range []int{200, 429} {
			r := post(t, s, p, hello(p))
			if r.status != status || (r.header.Get("Retry-After") != "") != (status == 429) {
				t.Errorf("%s: got %d %v, want %d", p, r.status, r.header, status)
			}
			for _, n := range names {
				if r.header.Get(n) == "" {
					t.Errorf("%s: no %s in %v", p, n, r.header)
				}
			}
		}
	}
}
