package sandbox

import (
	"fmt"
	"io"
	"sync"
)

// Output is the head and the tail of what a program wrote, and how much between them was dropped.
type Output struct {
	Head []byte
	Tail []byte
	Cut  int64 // bytes between head and tail that were not kept
}

// String is the output with a line in place of the cut part.
func (o Output) String() string {
	if o.Cut == 0 {
		return string(o.Head) + string(o.Tail)
	}
	return fmt.Sprintf("%s\n[%d bytes cut]\n%s", o.Head, o.Cut, o.Tail)
}

// capture keeps the first and the last half of size bytes, whatever is written to it.
type capture struct {
	mu      sync.Mutex
	half    int
	head    []byte
	ring    []byte
	at      int
	written int64
}

func newCapture(size int) *capture { return &capture{half: max(1, size/2)} }

// Write implements io.Writer and never fails, so that a program is never stopped by its own output.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.written += int64(n)
	if room := c.half - len(c.head); room > 0 {
		taken := min(room, len(p))
		c.head = append(c.head, p[:taken]...)
		p = p[taken:]
	}
	for len(p) > 0 {
		if len(c.ring) < c.half {
			taken := min(c.half-len(c.ring), len(p))
			c.ring = append(c.ring, p[:taken]...)
			p = p[taken:]
			continue
		}
		taken := copy(c.ring[c.at:], p)
		c.at = (c.at + taken) % c.half
		p = p[taken:]
	}
	return n, nil
}

func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := append(append([]byte{}, c.ring[c.at:]...), c.ring[:c.at]...)
	return Output{
		Head: append([]byte{}, c.head...),
		Tail: tail,
		Cut:  c.written - int64(len(c.head)) - int64(len(tail)),
	}
}

// drain reads until the end of r in pieces of a fixed size: a line may be as long as it likes. The
// writer cannot fail, and a reader that does has ended.
func drain(w io.Writer, r io.Reader) {
	_, _ = io.CopyBuffer(w, struct{ io.Reader }{r}, make([]byte, 32<<10))
}
