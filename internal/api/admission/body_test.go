package admission_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// dribble sends the beginning of a command and leaves the rest out.
func dribble(t *testing.T, front, who string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(front, "http://")
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "POST /v1/conversations HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nIdempotency-Key: slow-12345678\r\nContent-Length: 100\r\n\r\n{", address, who)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSlowBodiesCostNobodyElse has one person send as many bodies as they may without ever ending
// one: others are served meanwhile, and how many commands are carried out at a time does not
// shrink.
func TestSlowBodiesCostNobodyElse(t *testing.T) {
	t.Parallel()
	s := apitest.Crowded(t, journaltest.NewMemory(), func(o *api.Options) {
		o.Limits = admission.Limits{Commands: admission.MostBodies, Latency: 4 * time.Second} // less than the five seconds of a body
	})
	onTheWay := func() int { return s.API.Guard().Held("body/a/slow") }
	var first net.Conn
	for range admission.MostBodies {
		if c := dribble(t, s.URL, "a/slow"); first == nil {
			first = c
		}
	}
	apitest.Eventually(t, "all bodies are on their way", func() bool { return onTheWay() == admission.MostBodies })
	if n := s.API.Counts().Commands; n != 0 {
		t.Errorf("%d bodies take the place of a command", n)
	}
	if status, _ := s.Ask(t, "a/slow", http.MethodPost, "/v1/conversations", "more-12345678", `{"title":"x"}`); status != http.StatusTooManyRequests {
		t.Errorf("one body more than a person may send: status %d", status)
	}
	for i := range 20 {
		for _, who := range []string{"a/other", "b/other"} {
			if status, body := s.Ask(t, who, http.MethodPost, "/v1/conversations", fmt.Sprintf("good-%08d", i), `{"title":"x"}`); status != http.StatusCreated {
				t.Fatalf("%s: status %d, %s", who, status, body)
			}
		}
	}
	if onTheWay() == 0 {
		t.Error("the bodies were given up before others were served")
	}
	line, err := bufio.NewReader(first).ReadString('\n')
	if err != nil || !strings.Contains(line, "408") {
		t.Errorf("a body that never ends: %q, %v", line, err)
	}
	apitest.Eventually(t, "the bodies are given up", func() bool { return onTheWay() == 0 })
	if got := s.API.Guard().Width(); got != admission.MostBodies {
		t.Errorf("%d commands are carried out at a time", got)
	}
}

// TestAnImportTakesNoPlaceOfACommand lets an import arrive slowly.
func TestAnImportTakesNoPlaceOfACommand(t *testing.T) {
	t.Parallel()
	s := apitest.Crowded(t, journaltest.NewMemory(), func(o *api.Options) {
		o.Limits = admission.Limits{Commands: 1, Latency: time.Millisecond}
	})
	out, in := io.Pipe()
	defer func() { _ = in.Close() }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/import", out)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer a/importer")
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("Idempotency-Key", "import-12345678")
	done := make(chan int, 1)
	go func() {
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			done <- 0
			return
		}
		_ = answer.Body.Close()
		done <- answer.StatusCode
	}()
	if _, err := io.WriteString(in, "{"); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the import has begun", func() bool { return s.API.Guard().Held("upload") == 1 })
	if status, body := s.Ask(t, "b/other", http.MethodPost, "/v1/conversations", "good-12345678", `{"title":"x"}`); status != http.StatusCreated {
		t.Errorf("status %d, %s", status, body)
	}
	_ = in.Close()
	if status := <-done; status != http.StatusUnprocessableEntity {
		t.Errorf("half an import: status %d", status)
	}
}

// TestReleasesAreLetInAlways gives things up on a server that takes on nothing else.
func TestReleasesAreLetInAlways(t *testing.T) {
	t.Parallel()
	s := apitest.Crowded(t, journaltest.NewMemory(), func(o *api.Options) {
		o.Limits = admission.Limits{PersonStreams: 1, CommandRate: 1, TenantCommandRate: 1}
		o.Pressed = func(string) (string, time.Duration) { return "the disk is full", time.Second }
	})
	s.Open(t, "/v1/events")
	apitest.Eventually(t, "the stream is open", func() bool { return s.API.Counts().Streams == 1 })
	if status, _ := s.Ask(t, "a/ann", http.MethodPost, "/v1/conversations", "some-12345678", `{"title":"x"}`); status != http.StatusServiceUnavailable {
		t.Errorf("a command on a full disk: status %d", status)
	}
	// There are no people here, which is what the handlers say once a request is admitted.
	for _, c := range [][2]string{
		{http.MethodPost, "/logout"},
		{http.MethodDelete, "/v1/keys/k1"},
		{http.MethodDelete, "/v1/members/p1"},
		{http.MethodPost, "/v1/tenants/t2/session"},
	} {
		if status, body := s.Ask(t, "a/"+c[1], c[0], c[1], "", ""); status != http.StatusNotFound || !strings.Contains(body, "one person") {
			t.Errorf("%s %s: status %d, %s", c[0], c[1], status, body)
		}
	}
	refused := 0
	for range 10 { // but nobody may do it without end
		if status, _ := s.Ask(t, "a/ann", http.MethodPost, "/logout", "", ""); status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 {
		t.Error("there is no end to it")
	}
}
