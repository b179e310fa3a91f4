//go:build services

package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/journal"
)

// patience is how long a process tries to reach the engine and the journal.
const patience = 60 * time.Second

// open connects a process; right after a kill the others may be away.
func (p part) open(ctx context.Context, log io.Writer) (*app.Node, error) {
	o, err := p.options(log)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		node, err := app.OpenNode(ctx, o)
		if err == nil || time.Now().After(deadline) {
			return node, err
		}
	}
}

// worker runs agents until it is killed.
func (p part) worker() error {
	ctx := context.Background()
	node, err := p.open(ctx, os.Stderr)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if err = node.Work(); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	node.Sweep(ctx)
	return nil
}

// serve serves callers until it is killed.
func (p part) serve() error {
	ctx := context.Background()
	node, err := p.open(ctx, os.Stderr)
	if err != nil {
		return err
	}
	if _, err := node.Serve(ctx, app.FrontOptions{Version: "crash"}); err != nil {
		return err
	}
	fmt.Println("ready")
	node.Sweep(ctx)
	return nil
}

// job is what a client is to do.
type job struct {
	ID   string
	Do   string
	Conv string
	Text string
	// Of is the approval to decide, the question to answer, the task to cancel, or the workspace of
	// a conversation.
	Of string
}

// client does jobs from its standard input, all at once, each until it succeeds. It says so only
// after the call has returned.
func (p part) client() error {
	ctx := context.Background()
	node, err := p.open(ctx, os.Stderr)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	say("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var j job
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			return err
		}
		go func() {
			for {
				err := j.do(ctx, node)
				if err == nil || chat.CodeOf(err) == chat.CodeConflict {
					say("acked %s", j.ID)
					return
				}
				say("error %s %v", j.ID, err)
				time.Sleep(300 * time.Millisecond)
			}
		}()
	}
	return lines.Err()
}

func (j job) do(ctx context.Context, node *app.Node) error {
	ref := placeOf(j.Conv)
	switch j.Do {
	case "open":
		return node.Open(ctx, ref, api.NewConversation{By: "somebody"})
	case "cancel":
		return node.Client.Cancel(ctx, ref, j.ID, "somebody", j.Of)
	default:
		_, err := node.Client.Say(ctx, ref, durable.Message{
			ID: j.ID, By: "somebody", Parts: []chat.Part{{Kind: chat.PartText, Text: j.Text}},
		})
		return err
	}
}

func placeOf(conv string) journal.Ref {
	return journal.Ref{Tenant: app.LocalTenant, Conversation: conv}
}
