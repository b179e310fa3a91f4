// Package nats is the live bus on NATS core: two subjects per conversation, one for announcements
// and one for deltas, so that a reader of a whole tenant's announcements gets nothing else. Nothing
// is stored. It imports live and chat.
//
// The connection is kept up for ever. While the server is down, published messages count as lost
// and readers stay; once it is back they are told to read the journal.
package nats

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/retinue-dev/retinue/internal/live"
)

// Options are the settings of a Bus.
type Options struct {
	// URL is the server's address, or several with commas between them.
	URL string
	// Prefix begins all subjects; zero means DefaultPrefix. Installations that share a server have
	// different ones.
	Prefix string
	// Credentials is the path of a credentials file, and TLS what to trust. Both may be zero.
	Credentials string
	TLS         *tls.Config
	// Buffer is how many notices wait for a reader; zero means live.DefaultBuffer.
	Buffer int
	// Queue is how many notices wait for the server; zero means DefaultQueue.
	Queue int
}

// The defaults of the options.
const (
	DefaultPrefix = "retinue.live"
	DefaultQueue  = 4096
)

// come is how many messages may wait for delivery to readers. When more do, readers are told to
// resync.
const come = 8192

// The timeouts of a connection.
const (
	// confirmTime is how long a subscription waits for the server to confirm it, and lastTime how
	// long closing waits for the last notices to leave.
	confirmTime = 2 * time.Second
	lastTime    = 500 * time.Millisecond
	// writeTime is how long a write may hang before the connection counts as broken; pingTime is
	// how often a silent server is asked whether it is still there.
	writeTime = 5 * time.Second
	pingTime  = 10 * time.Second
	// retryTime and retryJitter lie between two tries to connect.
	retryTime   = 250 * time.Millisecond
	retryJitter = 250 * time.Millisecond
)

// Bus is a live.Bus on a NATS server. Notices wait for the server in a queue of our own, because
// the client's Publish blocks when the server stops reading.
type Bus struct {
	conn   *client.Conn
	prefix string
	hub    *live.Hub

	// come receives the messages of all subscriptions: one goroutine delivers them for all
	// conversations.
	come                chan *client.Msg
	queue               chan live.Notice
	quit                chan struct{}
	done, received      chan struct{}
	closing             sync.Once
	sent, refused, lost atomic.Int64

	mu     sync.RWMutex
	topics map[live.Topic]*client.Subscription
	// bySubject has the topic of each subscription.
	bySubject map[string]live.Topic
}

// Open makes a bus. A server that cannot be reached yet is no error: the bus keeps trying.
func Open(options Options) (*Bus, error) {
	if options.Prefix == "" {
		options.Prefix = DefaultPrefix
	}
	if options.Queue <= 0 {
		options.Queue = DefaultQueue
	}
	b := &Bus{
		prefix: options.Prefix,
		come:   make(chan *client.Msg, come),
		queue:  make(chan live.Notice, options.Queue),
		quit:   make(chan struct{}),
		done:   make(chan struct{}), received: make(chan struct{}),
		topics: map[live.Topic]*client.Subscription{}, bySubject: map[string]live.Topic{},
	}
	b.hub = live.NewHub(live.HubOptions{Buffer: options.Buffer, First: b.follow, Last: b.unfollow})
	conn, err := client.Connect(options.URL, b.settings(options)...)
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	b.conn = conn
	go b.send()
	go b.receive()
	return b, nil
}

func (b *Bus) settings(options Options) []client.Option {
	settings := []client.Option{
		client.Name("retinue"),
		client.RetryOnFailedConnect(true),
		client.MaxReconnects(-1),
		client.ReconnectWait(retryTime),
		client.ReconnectJitter(retryJitter, retryJitter),
		client.ReconnectBufSize(-1), // messages published during an outage are of no use after it
		client.FlusherTimeout(writeTime),
		client.PingInterval(pingTime),
		client.IgnoreAuthErrorAbort(), // credentials are mended while we run
		client.ConnectHandler(b.connected),
		client.ReconnectHandler(b.resync),
		client.ErrorHandler(func(c *client.Conn, _ *client.Subscription, _ error) { b.resync(c) }),
	}
	if options.Credentials != "" {
		settings = append(settings, client.UserCredentials(options.Credentials))
	}
	if options.TLS != nil {
		settings = append(settings, client.Secure(options.TLS))
	}
	return settings
}

// Publish implements live.Bus.
func (b *Bus) Publish(d live.Delta) { b.enqueue(d, d.Check()) }

// Announce implements live.Bus.
func (b *Bus) Announce(p live.Appended) { b.enqueue(p, p.Check()) }

// Subscribe implements live.Bus. Without a server it succeeds, and Resync comes with the server.
func (b *Bus) Subscribe(ctx context.Context, topic live.Topic) (*live.Reader, error) {
	r, err := b.hub.Join(topic)
	if err != nil {
		return nil, err
	}
	if b.conn.IsConnected() {
		confirm, cancel := context.WithTimeout(ctx, confirmTime)
		defer cancel()
		// A server that does not confirm is gone or about to be: Resync covers that.
		_ = b.conn.FlushWithContext(confirm)
	}
	if err := ctx.Err(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Counts implements live.Bus.
func (b *Bus) Counts() live.Counts {
	return live.Counts{
		Sent: b.sent.Load(), Refused: b.refused.Load(), Lost: b.lost.Load(), Cut: b.hub.Cut(),
	}
}

// Close implements live.Bus. It gives queued messages a moment to leave.
func (b *Bus) Close() {
	b.closing.Do(func() {
		b.hub.Close()
		close(b.quit)
		<-b.done
		<-b.received
		if b.conn.IsConnected() {
			_ = b.conn.FlushTimeout(lastTime)
		}
		b.conn.Close()
	})
}

func (b *Bus) enqueue(n live.Notice, refusal error) {
	if refusal != nil {
		b.refused.Add(1)
		return
	}
	select {
	case <-b.quit:
		b.lost.Add(1)
		return
	default:
	}
	select {
	case b.queue <- n:
	default:
		b.lost.Add(1)
	}
}

// send is the one goroutine that publishes, so that order is kept.
func (b *Bus) send() {
	defer close(b.done)
	for {
		select {
		case n := <-b.queue:
			b.publish(n)
		case <-b.quit:
			for len(b.queue) > 0 {
				b.publish(<-b.queue)
			}
			return
		}
	}
}

func (b *Bus) publish(n live.Notice) {
	topic, data, err := encode(n)
	if err == nil {
		err = b.conn.Publish(subject(b.prefix, topic)+ending(n), data)
	}
	if err != nil {
		b.lost.Add(1)
		return
	}
	b.sent.Add(1)
}

// connected is told of the first connection. Readers can have missed something only if it took more
// than one try.
func (b *Bus) connected(conn *client.Conn) {
	if conn.Stats().Reconnects > 0 {
		b.resync(conn)
	}
}

// resync tells all readers that they may have missed something, once the server has their
// subscriptions again.
func (b *Bus) resync(conn *client.Conn) {
	if conn.IsConnected() {
		_ = conn.FlushTimeout(confirmTime)
	}
	b.hub.Broadcast(live.Resync{})
}

// receive delivers the server's messages in the order of their arrival.
func (b *Bus) receive() {
	defer close(b.received)
	for {
		select {
		case m := <-b.come:
			b.hand(m)
		case <-b.quit:
			return
		}
	}
}

// hand gives a message to the readers of the subscription that it came under.
func (b *Bus) hand(m *client.Msg) {
	b.mu.RLock()
	topic, ok := b.bySubject[m.Sub.Subject]
	b.mu.RUnlock()
	if !ok {
		return // it was ended meanwhile
	}
	about := topic
	if topic.Conversation == "" {
		if about.Conversation, ok = conversationOf(m.Subject); !ok {
			return
		}
	}
	if n, err := decode(about, m.Data); err == nil {
		b.hub.Send(topic, n)
	}
}

// follow and unfollow hold one subscription per topic with readers in this process.
func (b *Bus) follow(topic live.Topic) error {
	name := wanted(b.prefix, topic)
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.conn.ChanSubscribe(name, b.come)
	if err != nil {
		return fmt.Errorf("subscribe to conversation %s: %w", topic.Conversation, err)
	}
	b.topics[topic], b.bySubject[name] = s, topic
	return nil
}

func (b *Bus) unfollow(topic live.Topic) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// It fails only on a closed connection, and then nothing is left to end.
	_ = b.topics[topic].Unsubscribe()
	delete(b.topics, topic)
	delete(b.bySubject, wanted(b.prefix, topic))
}

// subject names the place of a conversation. The ids are encoded, because a dot, a star or a space
// in one would name other places.
func subject(prefix string, topic live.Topic) string {
	id := base64.RawURLEncoding.EncodeToString
	return prefix + "." + id([]byte(topic.Tenant)) + "." + id([]byte(topic.Conversation))
}

// The endings of a subject, after the place of a conversation.
const (
	announcements = ".p"
	deltas        = ".d"
)

func ending(n live.Notice) string {
	if _, ok := n.(live.Appended); ok {
		return announcements
	}
	return deltas
}

// wanted names all that the readers of a topic get. A star stands for one encoded id or one ending.
func wanted(prefix string, topic live.Topic) string {
	if topic.Conversation != "" {
		return subject(prefix, topic) + ".*"
	}
	return prefix + "." + base64.RawURLEncoding.EncodeToString([]byte(topic.Tenant)) + ".*" + announcements
}

// conversationOf reads the conversation off the subject of an announcement.
func conversationOf(subject string) (string, bool) {
	rest, ok := strings.CutSuffix(subject, announcements)
	id, err := base64.RawURLEncoding.DecodeString(rest[strings.LastIndexByte(rest, '.')+1:])
	return string(id), ok && err == nil && len(id) > 0
}

// wire is the encoded message: one of the two.
type wire struct {
	Delta    *live.Delta    `json:"d,omitempty"`
	Appended *live.Appended `json:"p,omitempty"`
}

func encode(n live.Notice) (live.Topic, []byte, error) {
	switch n := n.(type) {
	case live.Delta:
		data, err := json.Marshal(wire{Delta: &n})
		return n.Topic, data, err
	case live.Appended:
		data, err := json.Marshal(wire{Appended: &n})
		return n.Topic, data, err
	case live.Resync:
		return live.Topic{}, nil, fmt.Errorf("encode notice: %T does not travel", n)
	}
	return live.Topic{}, nil, fmt.Errorf("encode notice: %T is unknown", n)
}

// decode reads a notice. Its topic is that of the subscription, not the sender's.
func decode(topic live.Topic, data []byte) (live.Notice, error) {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("decode notice: %w", err)
	}
	switch {
	case w.Delta != nil:
		w.Delta.Topic = topic
		return *w.Delta, w.Delta.Check()
	case w.Appended != nil:
		w.Appended.Topic = topic
		return *w.Appended, nil
	}
	return nil, fmt.Errorf("decode notice: neither delta nor announcement")
}
