//go:build linux

package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/measure"
)

// visitor talks to a server as a program with the token does.
type visitor struct {
	t      *testing.T
	front  *Front
	client *http.Client
	keys   int
}

func newVisitor(t *testing.T, f *Front) *visitor {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{t: t, front: f, client: &http.Client{Transport: transport, Timeout: time.Minute}}
}

// do sends a request; the body of the answer is read unless it is a stream.
func (v *visitor) do(method, path, body string, headers ...string) (*http.Response, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.front.URL+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	v.keys++
	req.Header.Set("Authorization", "Bearer "+v.front.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", fmt.Sprintf("visitor-key-%09d", v.keys))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answer, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		v.t.Cleanup(func() { _ = answer.Body.Close() })
		return answer, ""
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer, string(text)
}

// begin makes a conversation and returns the status and its id.
func (v *visitor) begin() (int, string, string) {
	v.t.Helper()
	answer, text := v.do(http.MethodPost, "/v1/conversations", "{}")
	_, rest, _ := strings.Cut(text, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return answer.StatusCode, id, answer.Header.Get("Retry-After")
}

func TestMoreThanTheRateIsRefused(t *testing.T) {
	f, n := localFront(t, "serve.limits.command_rate", "1")
	v := newVisitor(t, f)
	taken, refused := 0, 0
	for range 20 {
		switch status, _, wait := v.begin(); {
		case status == http.StatusCreated:
			taken++
		case status == http.StatusTooManyRequests && wait != "":
			refused++
		default:
			t.Errorf("%d, Retry-After %q", status, wait)
		}
	}
	list, err := n.Log.Conversations(t.Context(), LocalTenant, journal.Page{})
	if err != nil || len(list) != taken || taken < 2 || refused == 0 {
		t.Errorf("%d taken, %d refused, %d in the journal, %v", taken, refused, len(list), err)
	}
	if answer, _ := v.do(http.MethodGet, "/v1/me", ""); answer.StatusCode != http.StatusOK {
		t.Errorf("reading is refused as well: %s", answer.Status)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	f, _ := localFront(t, "serve.limits.person_streams", "2")
	v := newVisitor(t, f)
	_, id, _ := v.begin()
	events := "/v1/conversations/" + id + "/events"
	first, _ := v.do(http.MethodGet, events, "")
	second, _ := v.do(http.MethodGet, events, "")
	third, text := v.do(http.MethodGet, events, "")
	if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusOK || third.StatusCode != http.StatusTooManyRequests ||
		third.Header.Get("Retry-After") == "" || !strings.Contains(text, `"code":"limit"`) {
		t.Errorf("%s, %s, %s %v\n%s", first.Status, second.Status, third.Status, third.Header, text)
	}
	if open := f.api.Counts().Streams; open != 2 {
		t.Errorf("%d streams are open", open)
	}
	_ = first.Body.Close()
	for deadline := time.Now().Add(time.Minute); f.api.Counts().Streams == 2 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		continue
	}
	if fourth, _ := v.do(http.MethodGet, events, ""); fourth.StatusCode != http.StatusOK {
		t.Errorf("the place of a stream that ended is not free: %s", fourth.Status)
	}
}

func TestASlowJournalIsGivenTime(t *testing.T) {
	f, n := localFront(t, "serve.limits.delay", "50ms")
	v := newVisitor(t, f)
	end := n.pressure.begin(LocalTenant)
	time.Sleep(80 * time.Millisecond)
	if status, _, wait := v.begin(); status != http.StatusServiceUnavailable || wait == "" {
		t.Errorf("%d, Retry-After %q", status, wait)
	}
	end(nil)
	if status, _, _ := v.begin(); status != http.StatusCreated {
		t.Errorf("afterwards: %d", status)
	}
}

func TestAnEngineThatIsBehindIsGivenTime(t *testing.T) {
	f, n := localFront(t, "serve.limits.backlog", "3")
	v := newVisitor(t, f)
	ref := journal.Ref{Tenant: LocalTenant, Conversation: "waits"}
	long := time.Now().Add(-time.Minute)
	if _, err := n.Log.Append(t.Context(), ref, long, journaltest.Opening()...); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := n.Log.Append(t.Context(), ref, long, journal.MailPosted{ID: fmt.Sprint("message:", i), Topic: "message"}); err != nil {
			t.Fatal(err)
		}
	}
	await := func(want int) {
		t.Helper()
		status := 0
		for deadline := time.Now().Add(time.Minute); status != want && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			status, _, _ = v.begin()
		}
		if status != want {
			t.Errorf("%d instead of %d", status, want)
		}
	}
	await(http.StatusServiceUnavailable)
	if posts, age := n.pressure.waiting(); posts != 3 || age < time.Minute {
		t.Errorf("%d posts wait, the oldest for %v", posts, age)
	}
	if _, err := n.Log.Append(t.Context(), ref, time.Now(), journal.MailDelivered{ID: "message:0"}); err != nil {
		t.Fatal(err)
	}
	await(http.StatusCreated)
}

func TestBodiesAreBounded(t *testing.T) {
	f, n := localFront(t)
	v := newVisitor(t, f)
	for name, test := range map[string]struct {
		body, kind string
		want       int
	}{
		"too large":    {`{"title": "` + strings.Repeat("a", 2<<20) + `"}`, "application/json", http.StatusRequestEntityTooLarge},
		"unknown":      {`{"titel": "x"}`, "application/json", http.StatusUnprocessableEntity},
		"twice":        {`{"title": "x", "title": "y"}`, "application/json", http.StatusBadRequest},
		"trailing":     {`{} {}`, "application/json", http.StatusBadRequest},
		"deep":         {strings.Repeat("[", 100) + strings.Repeat("]", 100), "application/json", http.StatusBadRequest},
		"another kind": {`{}`, "text/plain", http.StatusUnsupportedMediaType},
		"no JSON":      {`title=x`, "application/json", http.StatusBadRequest},
	} {
		answer, text := v.do(http.MethodPost, "/v1/conversations", test.body, "Content-Type", test.kind)
		if answer.StatusCode/100 != 4 || answer.StatusCode != test.want {
			t.Errorf("%s: %s instead of %d\n%s", name, answer.Status, test.want, text)
		}
		if answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s", name, answer.Header.Get("Content-Type"))
		}
	}
	if list, err := n.Log.Conversations(t.Context(), LocalTenant, journal.Page{}); err != nil || len(list) > 0 {
		t.Errorf("%d conversations, %v", len(list), err)
	}
}

func TestHealthHasAPortOfItsOwn(t *testing.T) {
	f, _ := localFront(t)
	asked, fault, now := atomic.Int64{}, error(nil), time.Now()
	f.ready.Now = func() time.Time { return now }
	f.ready.Checks = map[string]func(context.Context) error{"engine": func(context.Context) error { asked.Add(1); return fault }}
	get := func(base, path string, headers ...string) (int, string) {
		t.Helper()
		v := newVisitor(t, &Front{URL: base})
		answer, text := v.do(http.MethodGet, path, "", headers...)
		return answer.StatusCode, text
	}
	if status, text := get(f.Health, "/healthz"); status != http.StatusOK || text != "alive\n" {
		t.Errorf("healthz: %d %s", status, text)
	}
	for range 5 {
		if status, text := get(f.Health, "/readyz"); status != http.StatusOK || !strings.Contains(text, `"ready":true`) {
			t.Errorf("readyz: %d %s", status, text)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the engine was asked %d times within a second", n)
	}
	fault = errors.New("gone")
	now = now.Add(time.Second + time.Nanosecond)
	if status, text := get(f.Health, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, `"engine":"gone"`) {
		t.Errorf("readyz without an engine: %d %s", status, text)
	}
	if status, _ := get(f.Health, "/healthz"); status != http.StatusOK {
		t.Errorf("healthz without an engine: %d", status)
	}
	newVisitor(t, f).begin()
	status, text := get(f.Health, "/metrics")
	for _, name := range []string{
		`retinue_http_requests_total{operation="createConversation",status="201"} 1`, "retinue_http_request_seconds_bucket",
		"retinue_streams_open 0", "retinue_streams_cut_total", "retinue_resyncs_total", "retinue_conversations_watched", "retinue_live_sent_total",
		"retinue_mail_oldest_seconds", `retinue_journal_appends_total{result="ok"} 1`, "go_goroutines", "process_open_fds",
	} {
		if status != http.StatusOK || !strings.Contains(text, name) {
			t.Errorf("metrics: %d, no %s", status, name)
		}
	}
	for name, test := range map[string]struct {
		base, path string
		want       int
		headers    []string
	}{
		"profiles":          {f.Health, "/debug/pprof/", http.StatusNotFound, nil},
		"metrics of a page": {f.Health, "/metrics", http.StatusForbidden, []string{"Sec-Fetch-Site", "cross-site"}},
		"metrics elsewhere": {f.URL, "/metrics", http.StatusNotFound, nil},
		"health elsewhere":  {f.URL, "/readyz", http.StatusNotFound, nil},
	} {
		if status, _ := get(test.base, test.path, test.headers...); status != test.want {
			t.Errorf("%s: %d instead of %d", name, status, test.want)
		}
	}
	profiled, _ := localFront(t, "serve.profile", "true")
	if status, _ := get(profiled.Health, "/debug/pprof/"); status != http.StatusOK {
		t.Errorf("profiles that were asked for: %d", status)
	}
}

func TestStreamsEndWhenTheServerDoes(t *testing.T) {
	f, _ := localFront(t)
	v := newVisitor(t, f)
	_, id, _ := v.begin()
	var streams []*http.Response
	for range 5 {
		stream, _ := v.do(http.MethodGet, "/v1/conversations/"+id+"/events", "")
		streams = append(streams, stream)
	}
	began := time.Now()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	measure.Most(t, "app: a server with open streams stops", time.Since(began), 5*time.Second)
	for _, s := range streams {
		text, err := io.ReadAll(s.Body)
		if err != nil || !bytes.Contains(text, []byte(`data: {"type":"stream.cut","reason":"closing"}`)) {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if _, ready := f.ready.Look(t.Context()); ready {
		t.Error("a server that has stopped says that it is ready")
	}
}

func TestWhoSendsHeadersSlowlyIsLeft(t *testing.T) {
	t.Parallel()
	f, _ := localFront(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing is left to lose
	if _, err := conn.Write([]byte("GET /v1/me HTTP/1.1\r\nHost: ")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := conn.SetReadDeadline(began.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("nobody hung up: %v", err)
	}
	measure.Most(t, "app: who sends headers slowly is left", time.Since(began), f.server.ReadHeaderTimeout+3*time.Second)
}

// selfSigned writes a certificate that is its own authority.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestTLS(t *testing.T) {
	cert, key := selfSigned(t)
	f, _ := localFront(t, "serve.tls.cert", cert, "serve.tls.key", key)
	v := newVisitor(t, f)
	v.client.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // a certificate of the test's own
	answer, _ := v.do(http.MethodGet, "/v1/me", "")
	if answer.ProtoMajor != 2 || answer.StatusCode != http.StatusOK || answer.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s %s %v", answer.Proto, answer.Status, answer.Header)
	}
	v.client.CloseIdleConnections()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}} //nolint:gosec // as above
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(f.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing is left to lose
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	settings, ok := frame.(*http2.SettingsFrame)
	if err != nil || !ok {
		t.Fatal(frame, err)
	}
	if most, ok := settings.Value(http2.SettingMaxConcurrentStreams); !ok || int(most) != f.server.HTTP2.MaxConcurrentStreams {
		t.Errorf("a connection may have %d streams", most)
	}
}

// TestTheCardNamesTheAddressFromOutside asks a server behind a proxy that ends TLS.
func TestTheCardNamesTheAddressFromOutside(t *testing.T) {
	f, _ := localFront(t, "serve.url", "https://retinue.example.org/")
	answer, text := newVisitor(t, f).do(http.MethodGet, "/.well-known/agent-card.json", "")
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, `"https://retinue.example.org/`) || strings.Contains(text, `"http://`) ||
		strings.Contains(text, `org//`) {
		t.Errorf("%s: %s", answer.Status, text)
	}
}
