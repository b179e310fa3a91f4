package client

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/wire"
)

const (
	// quietTime is how long a stream may show no sign of life. The server gives one every 15
	// seconds.
	quietTime = 45 * time.Second
	// maxLine is how long a line of a stream may be.
	maxLine = 32 << 20
)

// FollowOptions select the events of a conversation. The zero value selects all recorded ones, from
// the beginning.
type FollowOptions struct {
	// After is the last event that was seen, such as the seq of a snapshot.
	After int64
	// Deltas are the agents whose text is wanted while it is made; "all" means all of them.
	Deltas []string
	// Lost, if set, is called each time the server could not be reached. The client keeps
	// following.
	Lost func(error)
}

// Follow gives what happens in a conversation, each recorded event once and in order, until ctx
// ends or the caller stops. Cut connections and ends of servers are waited out. An error is the
// last thing that it gives: the server's refusal, or that ctx has ended.
func (c *Client) Follow(ctx context.Context, conversation string, o FollowOptions) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		f := &follower{client: c, conversation: conversation, last: o.After, yield: yield}
		err := c.lasting(ctx, func() request { return f.request(o) }, f.hand, o.Lost)
		if !errors.Is(err, errStopped) {
			yield(wire.Event{}, err)
		}
	}
}

// errStopped is the end that the caller wanted.
var errStopped = errors.New("client: stopped by the caller")

// frame is one event as it comes.
type frame struct {
	id, name string
	data     []byte
}

// lasting reads a stream over as many connections as it takes. It ends with an error that waiting
// does not mend, and that of ctx when it ends. Lost is told of connections that brought nothing; it
// may be nil.
func (c *Client) lasting(
	ctx context.Context, ask func() request, hand func(context.Context, frame) error, lost func(error),
) error {
	for failures := 0; ; failures++ {
		lasted, err := c.stream(ctx, ask(), hand)
		if errors.Is(err, errStopped) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if lasted {
			failures = 0
		}
		wait, again := patience(err, failures+1)
		if !again {
			return err
		}
		if !lasted && lost != nil {
			lost(err)
		}
		if sleep(ctx, wait) != nil {
			return context.Cause(ctx)
		}
	}
}

// stream reads one connection to its end. It reports whether anything came through it.
func (c *Client) stream(ctx context.Context, r request, hand func(context.Context, frame) error) (lasted bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(quietTime, cancel)
	defer quiet.Stop()
	resp, err := c.send(ctx, r, nil, "", "text/event-stream")
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // all of it was read, or it is of no use
	in := bufio.NewReaderSize(resp.Body, 64<<10)
	for {
		f, err := readFrame(in, func() { quiet.Reset(quietTime) })
		if err != nil {
			return lasted, &brokenError{err}
		}
		lasted = true
		if wire.EventType(f.name) == wire.StreamCut {
			return lasted, &brokenError{errors.New("the server ended the stream")}
		}
		if err := hand(ctx, f); err != nil {
			return lasted, err
		}
	}
}

// follower follows one conversation over several connections.
type follower struct {
	client       *Client
	conversation string
	// last is the last event that was handed on.
	last  int64
	yield func(wire.Event, error) bool
}

// request asks for the events after the last one.
func (f *follower) request(o FollowOptions) request {
	r := request{method: http.MethodGet, path: at("conversations", f.conversation, "events"), query: url.Values{}}
	if number(r.query, "after", f.last); f.last != 0 {
		r.last = strconv.FormatInt(f.last, 10)
	}
	if len(o.Deltas) > 0 {
		agents := make([]string, len(o.Deltas))
		for i, a := range o.Deltas {
			agents[i] = inAddress(a)
		}
		r.query.Set("deltas", strings.Join(agents, ","))
	}
	return r
}

// hand passes one event on, unless it did before.
func (f *follower) hand(ctx context.Context, in frame) error {
	e, err := wire.Parse(wire.EventType(in.name), in.data)
	if err != nil {
		return err
	}
	switch data := e.Data.(type) {
	case wire.Delta:
		e.Conversation, e.Agent = f.conversation, data.Agent
	case wire.Resync:
		snapshot, err := f.client.Conversation(ctx, f.conversation)
		if err != nil {
			return err
		}
		f.last = snapshot.Conversation.Seq
		e.Conversation, e.Data = f.conversation, snapshot
	default:
		if e.Seq <= f.last {
			return nil
		}
		f.last = e.Seq
	}
	if !f.yield(e, nil) {
		return errStopped
	}
	return nil
}

// readFrame reads one event. Alive is called for every line.
func readFrame(in *bufio.Reader, alive func()) (f frame, err error) {
	for {
		line, err := readLine(in)
		if err != nil {
			return frame{}, err
		}
		alive()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && f.data != nil:
			return f, nil
		case line == "":
			f = frame{}
		case field == "id":
			f.id = value
		case field == "event":
			f.name = value
		case field == "data":
			if f.data != nil {
				f.data = append(f.data, '\n')
			}
			f.data = append(f.data, value...)
		}
	}
}

// readLine reads a line that is not endless.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return strings.TrimRight(string(line), "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		case len(line) > maxLine:
			return "", errors.New("a line of the stream is too long")
		}
	}
}
