package egress

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// span is the largest size of one value in a body, in any encoding. So much of a body is held back
// until more of it is known, so that no part of a value leaves.
const span = 16 << 10

// leak refuses a part of a request that holds what must not leave. It does not repeat it.
func (g *Gate) leak(part, text string) error {
	if g.leaks == nil {
		return nil
	}
	if what := g.leaks(text); what != "" {
		return denied(fmt.Sprintf("the %s holds %s, which must not leave this machine", part, what))
	}
	return nil
}

// leakingHeader looks through the headers of a program's request. Those for the proxy stay here.
func (g *Gate) leakingHeader(header http.Header) error {
	for name, values := range header {
		if strings.HasPrefix(name, "Proxy-") {
			continue
		}
		for _, value := range append([]string{name}, values...) {
			if err := g.leak("header", value); err != nil {
				return err
			}
		}
	}
	return nil
}

// watched is a body that breaks off before a value which must not leave begins. If that is near its
// beginning, there is none, and nothing of the request need be sent.
func (g *Gate) watched(body io.ReadCloser) (io.ReadCloser, error) {
	if g.leaks == nil || body == nil || body == http.NoBody {
		return body, nil
	}
	b := &watchedBody{ReadCloser: body, gate: g}
	if b.more(); b.looked == 0 && !errors.Is(b.end, io.EOF) {
		return nil, b.end
	}
	return b, nil
}

type watchedBody struct {
	io.ReadCloser
	gate *Gate
	// held was read and not yet given on; the first looked bytes of it can be.
	held   []byte
	looked int
	end    error
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	for b.looked == 0 {
		if b.end != nil {
			return 0, b.end
		}
		b.more()
	}
	n := copy(p, b.held[:b.looked])
	b.held, b.looked = b.held[n:], b.looked-n
	return n, nil
}

// more reads on until something can be given on, or the end is known.
func (b *watchedBody) more() {
	chunk := make([]byte, 2*span)
	n, err := io.ReadFull(b.ReadCloser, chunk)
	b.held = append(b.held, chunk[:n]...)
	if err := b.gate.leak("body", string(b.held)); err != nil {
		b.held, b.end = nil, err
		return
	}
	switch {
	case err == nil:
		b.looked = max(0, len(b.held)-span)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		b.looked, b.end = len(b.held), io.EOF
	default:
		b.held, b.end = nil, err
	}
}

// seen checks the bytes that enter a tunnel. Most are encrypted and cannot be read. Nothing is held
// back: both ends may wait for each byte. So a value is found when its last piece follows the
// others, and only that piece is stopped.
func (g *Gate) seen(from io.Reader) io.Reader {
	if g.leaks == nil {
		return from
	}
	return &seenStream{Reader: from, gate: g}
}

type seenStream struct {
	io.Reader
	gate *Gate
	last []byte
}

// Read implements io.Reader.
func (s *seenStream) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.last = append(s.last[max(0, len(s.last)-span):], p[:n]...)
	if leaked := s.gate.leak("tunnel", string(s.last)); leaked != nil {
		return 0, leaked
	}
	return n, err
}
