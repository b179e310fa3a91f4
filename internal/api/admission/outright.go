package admission

import (
	"bytes"
	"net"
	"slices"
)

// Outright adds the headers of all answers to those that net/http gives by itself, before it has a
// request that it could hand on: to what is not HTTP, to headers that are too large. It is for
// listeners without TLS; with TLS such answers have a fixed text and nothing else.
func Outright(l net.Listener) net.Listener { return outright{l} }

type outright struct{ net.Listener }

// Accept implements net.Listener.
func (o outright) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return outrightConn{conn}, nil
}

type outrightConn struct{ net.Conn }

// bareEnd is what the headers of such an answer end with. An answer of ours has a date.
var bareEnd = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// mostOutright is more than such an answer has: it comes in one piece.
const mostOutright = 512

// Write implements net.Conn.
func (c outrightConn) Write(p []byte) (int, error) {
	at := -1
	if len(p) < mostOutright && bytes.HasPrefix(p, []byte("HTTP/1.1 ")) && !bytes.Contains(p, []byte("\r\nDate: ")) {
		at = bytes.Index(p, bareEnd)
	}
	if at < 0 {
		return c.Conn.Write(p)
	}
	at += len("\r\n")
	whole := slices.Clone(p[:at])
	for name, value := range headers {
		whole = append(whole, name+": "+value+"\r\n"...)
	}
	if _, err := c.Conn.Write(append(whole, p[at:]...)); err != nil {
		return 0, err
	}
	return len(p), nil
}
