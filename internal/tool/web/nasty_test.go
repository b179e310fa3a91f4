package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/tool"
)

// nasty is a hostile answer, and the message about it.
type nasty struct {
	answer http.HandlerFunc
	want   string
	// timesOut means that only the deadline ends it.
	timesOut bool
}

// zipped is a text of so many equal bytes, packed.
func zipped(t testing.TB, letter byte, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	must(t, err)
	chunk := bytes.Repeat([]byte{letter}, 1<<20)
	for ; size > 0; size -= len(chunk) {
		_, err = z.Write(chunk[:min(size, len(chunk))])
		must(t, err)
	}
	must(t, z.Close())
	return out.Bytes()
}

func packed(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(body)
	}
}

func redirectTo(where string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", where)
		w.WriteHeader(http.StatusFound)
	}
}

// raw writes bytes to the connection, and no HTTP of the library's.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		hijacker, ok := w.(http.Hijacker)
		if !ok {
			return
		}
		conn, _, err := hijacker.Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

// endless repeats a text until nobody listens.
func endless(kind, text string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			if pause > 0 {
				if flusher, ok := w.(http.Flusher); ok {
					flusher.Flush()
				}
				select {
				case <-r.Context().Done():
				case <-time.After(pause):
				}
			}
		}
	}
}

func page(kind, text string) nasty { return nasty{answer: says(kind, text)} }

// nastyAnswers are by the path they are at.
func nastyAnswers(t testing.TB) map[string]nasty {
	const unpacked = 128 << 20
	bomb := zipped(t, 0, unpacked)
	t.Logf("%d bytes in %d, %d:1", unpacked, len(bomb), unpacked/len(bomb))
	letters := zipped(t, 'a', 4<<20)
	var tangled strings.Builder
	for i := range 200 {
		fmt.Fprintf(&tangled, "<b id=%d>", i)
	}
	return map[string]nasty{
		"gzip-bomb":       {answer: packed(bomb), want: "unpacks to more than 100 times what was sent"},
		"gzip-within-cap": {answer: packed(letters), want: "unpacks to more than 100 times what was sent"},
		"gzip-broken":     {answer: packed([]byte("this is no gzip")), want: "not the gzip that it says it is"},
		"gzip-cut":        {answer: packed(letters[:len(letters)/2]), want: "unpacks to more than"},
		"gzip-of-gzip":    {answer: packed(zippedBytes(t, bomb)), want: "unpacks to more than 100 times what was sent"},
		"brotli": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write([]byte("x"))
		}, want: "packed as br, which was not asked for"},
		"endless":            {answer: endless("text/plain", strings.Repeat("x", 1<<16), 0), want: "more than 5000000 bytes"},
		"endless-html":       {answer: endless("text/html", strings.Repeat("<p>x", 1<<14), 0), want: "more than 5000000 bytes"},
		"says-it-is-large":   {answer: raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99999999999\r\n\r\nx"), want: "more than 5000000 bytes"},
		"shorter-than-said":  {answer: raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nshort"), want: "broke off after 5 bytes"},
		"negative-length":    {answer: raw("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx"), want: "Content-Length"},
		"two-lengths":        {answer: raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), want: "Content-Length"},
		"broken-chunks":      {answer: raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nx"), want: "broke off"},
		"no-http":            {answer: raw("SSH-2.0-OpenSSH_9.9\r\n"), want: "malformed HTTP"},
		"hangs-up":           {answer: raw(""), want: "EOF"},
		"huge-headers":       {answer: raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 2<<20) + "\r\n\r\nx"), want: "header"},
		"many-headers":       {answer: raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 100)+"\r\n", 1000) + "\r\nx"), want: "headers have more than 65536 bytes"},
		"endless-100":        {answer: raw(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100_000)), want: "http"},
		"redirect-circle":    {answer: redirectTo("redirect-circle"), want: "redirects in a circle"},
		"redirect-chain":     {answer: func(w http.ResponseWriter, r *http.Request) { redirectTo("/redirect-chain?"+r.URL.RawQuery+"x")(w, r) }, want: "redirects more than 5 times"},
		"redirect-to-file":   {answer: redirectTo("file:///etc/passwd"), want: "only http and https can"},
		"redirect-to-data":   {answer: redirectTo("data:text/plain,x"), want: "only http and https can"},
		"redirect-with-user": {answer: redirectTo("http://user:pass@127.0.0.1/"), want: "name or password"},
		"redirect-nonsense":  {answer: redirectTo("http://[::1/"), want: "missing ']' in host"},
		"slow-headers":       {answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, timesOut: true},
		"slow-body":          {answer: endless("text/plain", "x", 10*time.Millisecond), timesOut: true},
		"nul":                {answer: says("text/plain", "a\x00b"), want: "binary"},
		"charset-of-nobody":  page("text/plain; charset=klingon", "plain"),
		"charset-that-lies":  page("text/plain; charset=utf-8", "caf\xe9 \xff\xfe"),
		"utf7":               page("text/html; charset=utf-7", "+ADw-script+AD4-"),
		"picture":            {answer: says("image/png", "\x89PNG"), want: "image/png, 4 bytes: only text"},
		"program":            {answer: says("application/octet-stream", "\x7fELF"), want: "only text"},
		"type-nonsense":      {answer: says(";;;", "x"), want: "no type that is known"},
		"no-type":            {answer: raw("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\x89PNG\r\n\x1a\n"), want: "image/png"},
		"status-404":         {answer: http.NotFound, want: "answered 404 Not Found"},
		"status-204":         {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		"status-999":         {answer: raw("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"), want: "answered 999"},
		"deep":               page("text/html", strings.Repeat("<div>", 400_000)+"deep"),
		"many-tags":          page("text/html", strings.Repeat("<a>", 1_000_000)+"tags"),
		"many-attributes":    page("text/html", "<p "+strings.Repeat("a ", 2_000_000)+">attributes"),
		"tangled":            page("text/html", "<p>"+tangled.String()+strings.Repeat("<p>x", 5_000)),
		"tangled-template":   page("text/html", "<p>"+tangled.String()+"<template>"+strings.Repeat("</b>", 200)+"</template>"+strings.Repeat("<p>x", 5_000)),
		"long-text":          page("text/html", strings.Repeat("<div>", 200)+strings.Repeat("word, ", 300_000)),
		"script-only":        page("text/html", "<script>"+strings.Repeat("x", 4_000_000)),
	}
}

func zippedBytes(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	must(t, err)
	must(t, z.Close())
	return out.Bytes()
}

// TestNastyAnswersAreBounded gives each a deadline and a limit of memory.
func TestNastyAnswersAreBounded(t *testing.T) {
	answers := nastyAnswers(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers[strings.Trim(r.URL.Path, "/")].answer(w, r)
	}))
	t.Cleanup(server.Close)
	s := openWeb(t, loopback(t), nil)
	highest, longest, latest := uint64(0), time.Duration(0), time.Duration(0)
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			deadline := time.Minute // only the work is bounded: other programs use the same cores
			if c.timesOut {
				deadline = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			call := tool.Call{ID: "1", Tool: "web_fetch", Args: json.RawMessage(`{"url":"` + server.URL + `/` + name + `"}`)}
			var r tool.Result
			var err error
			began := worked(t)
			grown := growth(func() { r, err = s.Run(ctx, call) })
			took := worked(t) - began
			t.Logf("%s, %d MiB, %s %.100q", took.Round(time.Millisecond), grown>>20, r.End, r.Text)
			highest, longest = max(highest, grown>>20), max(longest, took)
			if c.timesOut {
				latest = max(latest, comesBack(t, s, call))
			}
			switch {
			case c.timesOut != (err != nil):
				t.Errorf("got %v", err)
			case c.timesOut:
			case c.want == "" && r.End != tool.EndOK, c.want != "" && (r.End != tool.EndFailed || !strings.Contains(r.Text, c.want)):
				t.Errorf("%s %.300s", r.End, r.Text)
			case strings.Contains(r.Text, "broke down") || strings.Contains(r.Text, "root:x:") || len(r.Text) > tool.DefaultCap:
				t.Errorf("%.300s", r.Text)
			}
		})
	}
	measure.Most(t, "web: MiB by which the heap grows for a nasty answer", highest, 64)
	measure.Most(t, "web: processor time for a nasty answer", longest, 30*patience)
	measure.Most(t, "web: what timed out comes back", latest, patience)
}

// worked is how long this process has used a core.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// comesBack is how long after its deadline a call returns. The best of three counts, as others use
// the same cores, and growth does not run, as it stops the world.
func comesBack(t *testing.T, s *tool.Set, call tool.Call) time.Duration {
	t.Helper()
	late := time.Hour
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, _ = s.Run(ctx, call) // how it ends is seen elsewhere
		deadline, _ := ctx.Deadline()
		late = min(late, time.Since(deadline))
		cancel()
	}
	return late
}

// growth is by how much the heap grew at most while something ran, seen every millisecond.
func growth(run func()) uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, stats.HeapAlloc
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	for {
		select {
		case <-done:
			return most - before
		case <-time.After(time.Millisecond):
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
	}
}
