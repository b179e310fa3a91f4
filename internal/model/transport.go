package model

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	keepIdle         = 90 * time.Second
	keepPerHost      = 64
	maxHeader        = 256 << 10
	// maxWire is the most bytes read for one reply, maxRefusal for one error.
	maxWire    = 64 << 20
	maxRefusal = 1 << 20
)

var errTooMuch = errors.New("the response is too large")

// NewHTTPClient makes the HTTP client that adapters talk through. It takes no proxy from the
// environment, follows no redirect, since that would carry the key elsewhere, and unpacks nothing,
// since a small reply could become a large one. How long a reply may take is the watchdog's matter.
func NewHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    handshakeTimeout,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			MaxIdleConnsPerHost:    keepPerHost,
			IdleConnTimeout:        keepIdle,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Send passes the request on and watches the response. It is a middleware of both SDKs.
func (x *Exchange) Send(
	r *http.Request, next func(*http.Request) (*http.Response, error),
) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteHeaders: func() { x.sent.Store(true) }}
	res, err := next(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err != nil {
		x.wire = err
		return res, err
	}
	x.guard.heard()
	body := &watchedBody{ReadCloser: res.Body, x: x, left: maxWire, over: errTooMuch}
	switch {
	case res.StatusCode >= http.StatusBadRequest:
		body.left, body.over = maxRefusal, io.EOF
	case res.StatusCode >= http.StatusMultipleChoices:
		x.Break(chat.KindInvalidRequest, "the provider answers with a redirect: check the base URL")
	}
	res.Body = body
	return res, nil
}

// watchedBody counts the bytes read and tells the watchdog. At its end it returns over: the first
// bytes of an error are as good as all of them, those of a reply are not.
type watchedBody struct {
	io.ReadCloser
	x    *Exchange
	left int64
	over error
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if errors.Is(b.over, errTooMuch) {
			b.x.Break(chat.KindNoResult, "the response is larger than %d bytes", maxWire)
		}
		return 0, b.over
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if n > 0 {
		b.x.guard.heard()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.x.wire = err
	}
	return n, err
}
