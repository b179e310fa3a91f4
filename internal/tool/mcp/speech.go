package mcp

import (
	"bytes"
	"errors"
	"io"
)

// mostNoise is how many bytes a server may write that are no messages.
const mostNoise = 64 << 10

// speech is a program's output, without the lines that cannot be messages: many greet the person
// who starts them.
type speech struct {
	from  io.ReadCloser
	buf   []byte
	rest  []byte
	noise int
	// inside means that the line which is being read is a message, skipping that it is not; neither
	// means that its first letter has not come.
	inside, skipping bool
}

// Read implements io.Reader.
func (s *speech) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.noise > mostNoise {
			return 0, errors.New("the server writes text that is not MCP to its standard output")
		}
		if s.buf == nil {
			s.buf = make([]byte, 32<<10)
		}
		n, err := s.from.Read(s.buf)
		s.rest = s.filter(s.buf[:n])
		if err != nil && len(s.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// filter keeps what belongs to messages, in place.
func (s *speech) filter(data []byte) []byte {
	kept := data[:0]
	for len(data) > 0 {
		switch {
		case s.inside, s.skipping:
			line, more := data, []byte(nil)
			i := bytes.IndexByte(data, '\n')
			if i >= 0 {
				line, more = data[:i+1], data[i+1:]
			}
			if s.inside {
				kept = append(kept, line...)
			} else {
				s.noise += len(line)
			}
			if i >= 0 {
				s.inside, s.skipping = false, false
			}
			data = more
		case data[0] == '{':
			s.inside = true
		case data[0] == ' ' || data[0] == '\t' || data[0] == '\r' || data[0] == '\n':
			s.noise++
			data = data[1:]
		default:
			s.skipping = true
		}
	}
	return kept
}

// Close implements io.Closer.
func (s *speech) Close() error { return s.from.Close() }
