package client

import (
	"context"
	"net"
	"net/http"
	"time"
)

// OverSocket returns a client of the server that listens on a Unix socket, such as retinue.sock in
// the data folder of a local installation. It needs no key: the server knows the user at the other
// end.
func OverSocket(path string) *Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return Over(func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) })
}

// Over returns a client that reaches its server through the connections that dial makes.
func Over(dial func(context.Context) (net.Conn, error)) *Client {
	return &Client{BaseURL: "http://localhost", HTTP: &http.Client{Transport: &http.Transport{
		DialContext:           func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		ResponseHeaderTimeout: 6 * time.Minute, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 16,
	}}}
}
