package mcp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one life of a server.
type session struct {
	peer   *peer
	client *sdk.ClientSession
	began  time.Time
	// ready is closed when the first list of tools is known, gone when the session ends.
	ready, gone chan struct{}

	mu    sync.Mutex // held while the tools are listed
	stale bool
	calls int
	idle  *time.Timer
	once  sync.Once
}

// list reads the tools of a server, up to the limit, and returns how many it left out.
func (s *session) list(ctx context.Context, e Entry) (list []Offer, omitted int, err error) {
	const mostPages = 64
	var tools []*sdk.Tool
	cursor := ""
	for range mostPages {
		page, err := s.client.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, 0, err
		}
		tools = append(tools, page.Tools...)
		if cursor = page.NextCursor; cursor == "" || len(tools) > mostTools {
			break
		}
	}
	if len(tools) > mostTools {
		omitted = len(tools) - mostTools
		tools = tools[:mostTools]
	}
	return offers(e, tools), omitted, nil
}

// end ends a session and its server at once.
func (s *session) end() {
	s.once.Do(func() {
		close(s.gone)
		s.peer.stop()
		if s.client != nil {
			go func() { _ = s.client.Close() }() // it may wait for the server
		}
	})
}

// over says whether a session has been ended.
func (s *session) over() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// farewell ends a session. The server's last words replace the reason that we know, or follow it if
// that is the better one. The server has the time own to end by itself.
func (s *session) farewell(err error, own time.Duration) string {
	reason, late := cut(visible(err.Error()), 300), errors.Is(err, context.DeadlineExceeded)
	if late {
		reason = "no answer came in time"
	} else {
		s.await(own)
	}
	s.end()
	if s.await(forcedEnd) {
		if s.peer.how != "" && !late {
			reason = s.peer.how
		}
		if s.peer.said != "" {
			reason += "; it said: " + s.peer.said
		}
	}
	return s.peer.hide.Replace(strings.TrimSuffix(reason, "."))
}

// await waits for the end of the server.
func (s *session) await(long time.Duration) bool {
	select {
	case <-s.peer.ended:
		return true
	case <-time.After(long):
		return false
	}
}

// begin and done count the calls, so that a server which nobody uses is ended.
func (s *session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.idle != nil {
		s.idle.Stop()
	}
}

func (s *session) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls--; s.calls == 0 {
		s.idle = time.AfterFunc(idleLife, s.end)
	}
}

// call asks the server to run a tool. It returns as soon as ctx ends.
func (s *session) call(ctx context.Context, ping time.Duration, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	type result struct {
		r   *sdk.CallToolResult
		err error
	}
	s.begin()
	came := make(chan result, 1)
	go func() {
		defer s.done()
		r, err := s.client.CallTool(ctx, params)
		came <- result{r, err}
	}()
	select {
	case r := <-came:
		if ctx.Err() != nil {
			go s.prove(ping)
		}
		return r.r, r.err
	case <-ctx.Done():
		go s.prove(ping)
		return nil, ctx.Err()
	}
}

// prove lets a server show that it is alive, and ends it if it does not.
func (s *session) prove(ping time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), ping)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- s.client.Ping(ctx, nil) }()
	select {
	case err := <-answered:
		// A refusal is an answer too: newer servers know no ping.
		if refused := new(jsonrpc.Error); err != nil && !errors.As(err, &refused) {
			s.end()
		}
	case <-ctx.Done():
		s.end()
	case <-s.gone:
	}
}
