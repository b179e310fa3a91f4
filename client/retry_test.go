package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/wire"
)

// faulty answers one request after another as it is told, then well.
func faulty(t *testing.T, answers ...func(http.ResponseWriter)) (*Client, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if n := len(keys); n <= len(answers) {
			answers[n-1](w)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id":"c1"}`)
	}))
	t.Cleanup(server.Close)
	return &Client{BaseURL: server.URL, HTTP: &http.Client{Transport: &http.Transport{}}}, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return keys
	}
}

func status(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"code":"limit","detail":"d","next":"n","status":%d}`, code)
	}
}

func torn(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func half(w http.ResponseWriter) {
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, `{"id":"c`)
}

// TestOneCommandHasOneKey meets every fault that is worth another attempt.
func TestOneCommandHasOneKey(t *testing.T) {
	c, keys := faulty(t, torn, status(http.StatusServiceUnavailable), half, status(http.StatusTooManyRequests, "Retry-After", "1"))
	began := time.Now()
	got, err := c.Create(t.Context(), wire.NewConversation{})
	if err != nil || got.ID != "c1" {
		t.Fatalf("%+v, %v", got, err)
	}
	measure.Least(t, "client: waited where it was told to, for a second", time.Since(began), time.Second)
	all := keys()
	for _, key := range all {
		if len(all) != 5 || key == "" || key != all[0] {
			t.Fatalf("the keys of five attempts are %v", all)
		}
	}
	if _, err := c.Create(t.Context(), wire.NewConversation{}); err != nil {
		t.Fatal(err)
	}
	if again := keys(); again[5] == all[0] {
		t.Error("another command has the same key")
	}
	if _, err := c.Keyed("my own key").Create(t.Context(), wire.NewConversation{}); err != nil {
		t.Fatal(err)
	}
	if again := keys(); again[6] != "my own key" {
		t.Errorf("the caller's key is %q", again[6])
	}
}

// TestRefusalsAreNotSentAgain ends with the problem.
func TestRefusalsAreNotSentAgain(t *testing.T) {
	c, keys := faulty(t, status(http.StatusConflict, "Request-Id", "r1"))
	_, err := c.Create(t.Context(), wire.NewConversation{})
	p, ok := errors.AsType[*Problem](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	if diff := cmp.Diff(&Problem{Code: "limit", Status: 409, Detail: "d", Next: "n", Request: "r1"}, p); diff != "" {
		t.Errorf("the problem (+) against the wanted (-):\n%s", diff)
	}
	if n := len(keys()); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
	c.Attempts = 2
	c, keys = faulty(t, torn, torn, torn)
	c.Attempts = 2
	if _, err := c.Create(t.Context(), wire.NewConversation{}); err == nil || len(keys()) != 2 {
		t.Errorf("after two attempts: %v, %d sent", err, len(keys()))
	}
}
