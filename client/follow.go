package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// quietTime is how long a stream may show no sign of life. The server gives one every 15 seconds.
	quietTime = 45 * time.Second
	// maxLine is how long a line of a stream may be.
	maxLine = 32 << 20
)

// FollowOptions say what of a conversation is followed. The zero value is everything that is recorded,
// from its beginning.
type FollowOptions struct {
	// After is the last event that was seen, such as the seq of a snapshot.
	After int64
	// Deltas are the agents whose text is wanted while it is made; "all" means all of them.
	Deltas []string
}

// Follow gives what happens in a conversation, each recorded event once and in order, until ctx ends or
// the caller stops. Cut connections and ends of servers are waited out. An error is the last thing that
// it gives: the server's refusal, or that ctx has ended.
func (c *Client) Follow(ctx context.Context, conversation string, o FollowOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{client: c, conversation: conversation, options: o, last: o.After}
		for failures := 0; ; failures++ {
			lasted, err := f.stream(ctx, yield)
			if errors.Is(err, errStopped) {
				return
			}
			if ctx.Err() != nil {
				yield(Event{}, context.Cause(ctx))
				return
			}
			if lasted {
				failures = 0
			}
			wait, again := patience(err, failures+1)
			if !again {
				yield(Event{}, err)
				return
			}
			if sleep(ctx, wait) != nil {
				yield(Event{}, context.Cause(ctx))
				return
			}
		}
	}
}

// errStopped is the end that the caller wanted.
var errStopped = errors.New("client: stopped by the caller")

// follower follows one conversation over several connections.
type follower struct {
	client       *Client
	conversation string
	options      FollowOptions
	// last is the last event that was handed on.
	last int64
}

// stream reads one connection to its end. It reports whether anything came through it.
func (f *follower) stream(ctx context.Context, yield func(Event, error) bool) (lasted bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(quietTime, cancel)
	defer quiet.Stop()
	q := url.Values{}
	number(q, "after", f.last)
	if len(f.options.Deltas) > 0 {
		agents := make([]string, len(f.options.Deltas))
		for i, a := range f.options.Deltas {
			agents[i] = inAddress(a)
		}
		q.Set("deltas", strings.Join(agents, ","))
	}
	resp, err := f.client.send(ctx, request{
		method: http.MethodGet, path: at("conversations", f.conversation, "events"), query: q, last: f.last,
	}, nil, "", "text/event-stream")
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // all of it was read, or it is of no use
	in := bufio.NewReaderSize(resp.Body, 64<<10)
	for {
		name, data, err := readFrame(in, func() { quiet.Reset(quietTime) })
		if err != nil {
			return lasted, &brokenError{err}
		}
		lasted = true
		if err := f.hand(ctx, EventType(name), data, yield); err != nil {
			return lasted, err
		}
	}
}

// hand hands one event on, unless it was handed on before.
func (f *follower) hand(ctx context.Context, name EventType, data []byte, yield func(Event, error) bool) error {
	var e Event
	switch name { //nolint:exhaustive // all others are recorded and read alike
	case MessageDelta:
		delta := &Delta{}
		if err := json.Unmarshal(data, delta); err != nil {
			return fmt.Errorf("read delta: %w", err)
		}
		e = Event{Type: MessageDelta, Conversation: f.conversation, Agent: delta.Agent, Data: delta}
	case Resynced:
		snapshot, err := f.client.Conversation(ctx, f.conversation)
		if err != nil {
			return err
		}
		f.last = snapshot.Conversation.Seq
		e = Event{Type: Resynced, Conversation: f.conversation, Data: &snapshot}
	case streamCut:
		return &brokenError{errors.New("the server ended the stream")}
	default:
		var err error
		if e, err = parseEvent(data); err != nil {
			return err
		}
		if e.Seq <= f.last {
			return nil
		}
		f.last = e.Seq
	}
	if !yield(e, nil) {
		return errStopped
	}
	return nil
}

// readFrame reads one event. Alive is called for every line.
func readFrame(in *bufio.Reader, alive func()) (name string, data []byte, err error) {
	for {
		line, err := readLine(in)
		if err != nil {
			return "", nil, err
		}
		alive()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			return name, data, nil
		case line == "":
			name = ""
		case field == "event":
			name = value
		case field == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
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

// lastID is the header that names the last event that was seen.
func lastID(seq int64) string {
	if seq == 0 {
		return ""
	}
	return strconv.FormatInt(seq, 10)
}
