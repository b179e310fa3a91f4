package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Fetcher sends one request. It checks the address that it really connects to, and follows no
// redirects: each is a new request, so that it is checked like the first.
type Fetcher interface {
	Do(request *http.Request) (*http.Response, error)
}

// The limits of one fetch.
const (
	urlBytes    = 4096
	bodyBytes   = 5_000_000
	headerBytes = 64 << 10
	// bodyRatio is how many times larger than the sent bytes an unpacked body may be.
	bodyRatio = 100
	redirects = 5
)

// judge says why a page that another redirects to is not asked for, or nothing.
type judge func(to *url.URL) error

// userAgent says to sites who asks.
const userAgent = "retinue (+https://github.com/retinue-dev/retinue)"

// fetched is an answer that was read to its end.
type fetched struct {
	url    *url.URL
	status int
	// kind is the Content-Type as it was sent.
	kind string
	body []byte
}

// fetch gets an address, through a few redirects within its origin. It does not follow one that
// leads elsewhere: people and rules decided on the address in the call.
func fetch(ctx context.Context, f Fetcher, given string, refused judge) (fetched, error) {
	at, err := parseURL(given)
	if err != nil {
		return fetched{}, err
	}
	seen := map[string]bool{}
	for {
		if seen[at.String()] {
			return fetched{}, tool.Refuse("%s cannot be fetched: it redirects in a circle", tool.Show(given))
		}
		if len(seen) > redirects {
			return fetched{}, tool.Refuse("%s cannot be fetched: it redirects more than %d times", tool.Show(given), redirects)
		}
		seen[at.String()] = true
		got, next, err := fetchOnce(ctx, f, at)
		if err != nil || next == nil {
			return got, err
		}
		if origin(next) != origin(at) {
			return fetched{}, tool.Refuse("%s redirects to %s, which is another site: that is not followed. "+
				"If you need the page, call web_fetch with that address.", tool.Show(given), tool.Show(next.String()))
		}
		if err := refused(next); err != nil {
			return fetched{}, err
		}
		at = next
	}
}

// origin is what a rule for a site covers: scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = usualPorts[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

var usualPorts = map[string]string{"http": "80", "https": "443"}

// fetchOnce sends one request. It gives an answer, or where to ask instead.
func fetchOnce(ctx context.Context, f Fetcher, at *url.URL) (fetched, *url.URL, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return fetched{}, nil, tool.Refuse("%s is no address that can be fetched", tool.Show(at.String()))
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "text/html, text/markdown, text/plain, application/json, application/xml;q=0.9, */*;q=0.1")
	// Asked for by name, so that it is unpacked here, where the ratio is seen.
	request.Header.Set("Accept-Encoding", "gzip")
	response, body, err := exchange(ctx, f, request)
	if err != nil {
		return fetched{}, nil, about(at, err)
	}
	if location := response.Header.Get("Location"); location != "" && redirected(response.StatusCode) {
		next, err := at.Parse(location)
		if err != nil {
			return fetched{}, nil, tool.Refuse("%s redirects to an invalid address", tool.Show(at.String()))
		}
		next, err = parseURL(next.String())
		return fetched{}, next, err
	}
	return fetched{url: at, status: response.StatusCode, kind: response.Header.Get("Content-Type"), body: body}, nil, nil
}

// about puts the address before an error.
func about(at *url.URL, err error) error {
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return &chat.Error{Code: e.Code, Message: tool.Show(at.String()) + " cannot be read: " + e.Message}
	}
	return fmt.Errorf("fetch %s: %w", tool.Show(at.String()), err)
}

func redirected(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// parseURL takes an address that may be asked for. Which hosts may be reached is the fetcher's
// affair.
func parseURL(given string) (*url.URL, error) {
	if len(given) > urlBytes {
		return nil, tool.Refuse("the address has %d bytes, more than %d", len(given), urlBytes)
	}
	if strings.ContainsFunc(given, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return nil, tool.Refuse("%s is no address: it holds a space or a control character", tool.Show(given))
	}
	u, err := url.Parse(given)
	switch {
	case err != nil:
		return nil, tool.Refuse("%s is no address", tool.Show(given))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, denied("%s cannot be fetched: only http and https can", tool.Show(given))
	case u.Hostname() == "" || u.Opaque != "":
		return nil, tool.Refuse("%s names no host", tool.Show(given))
	case u.User != nil:
		return nil, denied("an address with a name or password in it is not fetched")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func denied(format string, args ...any) error {
	return &chat.Error{Code: chat.CodeDenied, Message: fmt.Sprintf(format, args...)}
}

// exchange sends a request and reads the whole answer, within the caps. The body of a redirect is
// not read.
func exchange(ctx context.Context, f Fetcher, request *http.Request) (*http.Response, []byte, error) {
	response, err := f.Do(request)
	if err != nil {
		return nil, nil, reason(ctx, err)
	}
	// A body that does not hear the context is closed under the reader's hands.
	stop := context.AfterFunc(ctx, func() { _ = response.Body.Close() })
	defer func() {
		stop()
		_ = response.Body.Close() // the needed bytes have been read
	}()
	if at := response.Request; at != nil && at.URL.String() != request.URL.String() {
		return nil, nil, errors.New("the fetcher followed a redirect by itself")
	}
	if redirected(response.StatusCode) && response.Header.Get("Location") != "" {
		return response, nil, nil
	}
	size := 0
	for name, values := range response.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if size > headerBytes {
		return nil, nil, tool.Refuse("the headers have more than %d bytes", headerBytes)
	}
	if response.ContentLength > bodyBytes {
		return nil, nil, tooLarge()
	}
	body, err := unpack(response)
	if err != nil {
		return nil, nil, reason(ctx, err)
	}
	return response, body, nil
}

// reason leaves the address out of an error: the caller names it. The error of an ended context
// comes first.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func tooLarge() error { return tool.Refuse("the answer has more than %d bytes", bodyBytes) }

// counter counts the bytes sent.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// unpack reads a body and undoes its compression.
func unpack(response *http.Response) ([]byte, error) {
	sent := &counter{from: response.Body}
	switch encoding := strings.ToLower(strings.TrimSpace(response.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return readBounded(sent, func(int64) error { return nil })
	case "gzip", "x-gzip":
		unzipped, err := gzip.NewReader(sent)
		if err != nil {
			return nil, tool.Refuse("the answer is not the gzip that it says it is")
		}
		return readBounded(unzipped, func(unpacked int64) error {
			if unpacked > bodyRatio*sent.n {
				return tool.Refuse("the answer unpacks to more than %d times what was sent", bodyRatio)
			}
			return nil
		})
	default:
		return nil, tool.Refuse("the answer is packed as %s, which was not asked for", tool.Show(encoding))
	}
}

// readBounded reads to the end, within the cap and what a check allows.
func readBounded(from io.Reader, check func(read int64) error) ([]byte, error) {
	var out bytes.Buffer
	const step = 32 << 10
	for {
		_, err := io.CopyN(&out, from, step)
		if problem := check(int64(out.Len())); problem != nil {
			return nil, problem
		}
		if out.Len() > bodyBytes {
			return nil, tooLarge()
		}
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("the answer broke off after %d bytes: %w", out.Len(), err)
		}
	}
}
