//go:build linux

package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
)

// The requests of the engine's protocol that tests look at.
const (
	askNamespace = "DescribeNamespace"
	askRun       = "DescribeWorkflowExecution"
	askList      = "ListWorkflowExecutions"
	askSignal    = "SignalWorkflowExecution"
	askStart     = "StartWorkflowExecution"
	askTell      = "SignalWithStartWorkflowExecution"
)

// engineStub speaks the engine's protocol on a loopback address. It accepts everything and does
// nothing: no run exists, and a worker that waits for work gets none.
type engineStub struct {
	address string

	mu    sync.Mutex
	asked map[string][]string
	// refused are the requests that it refuses, and listed is its list of runs, as it sends it.
	refused map[string]codes.Code
	listed  []byte
}

func newEngineStub(t *testing.T) *engineStub {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // the server closes it
	if err != nil {
		t.Fatal(err)
	}
	e := &engineStub{
		address: l.Addr().String(), asked: map[string][]string{},
		refused: map[string]codes.Code{askRun: codes.NotFound},
	}
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(e.handle))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return e
}

// handle answers a request, whatever it is.
func (e *engineStub) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	method := path.Base(full)
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	e.mu.Lock()
	e.asked[method] = append(e.asked[method], string(request))
	refusal, answer := e.refused[method], []byte(nil)
	if method == askList {
		answer = e.listed
	}
	e.mu.Unlock()
	if refusal != codes.OK {
		return status.Error(refusal, "the engine of the test does not")
	}
	if strings.HasPrefix(method, "Poll") {
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	return stream.SendMsg(&answer)
}

// refuse has it refuse a request from now on, or accept it again.
func (e *engineStub) refuse(method string, code codes.Code) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused[method] = code
}

// list has it list these runs from now on.
func (e *engineStub) list(runs ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listed = nil
	for _, run := range runs {
		execution := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), run)
		info := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), execution)
		e.listed = protowire.AppendBytes(protowire.AppendTag(e.listed, 1, protowire.BytesType), info)
	}
}

// heard counts the requests of a kind that have a text in them.
func (e *engineStub) heard(method, text string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, request := range e.asked[method] {
		if strings.Contains(request, text) {
			n++
		}
	}
	return n
}

// rawCodec leaves messages as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	if text, ok := v.(*[]byte); ok {
		return *text, nil
	}
	return nil, fmt.Errorf("cannot send a %T", v)
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	text, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot receive a %T", v)
	}
	*text = append([]byte{}, data...)
	return nil
}

// nodeSettings are the settings of a node with a folder of its own; set holds keys and values.
func nodeSettings(t *testing.T, set ...string) config.Loaded {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	set = append([]string{
		"data_dir", filepath.Join(dir, "data"), "serve.address", "127.0.0.1:0", "serve.health", "127.0.0.1:0",
		"tiers.fast", "anthropic/x", "tiers.balanced", "anthropic/x", "tiers.strong", "anthropic/x",
	}, set...)
	in := config.Inputs{
		Managed: filepath.Join(dir, "managed"), Home: dir, ConfigHome: filepath.Join(dir, "config"), DataHome: dir, Environ: []string{},
	}
	for i := 0; i < len(set); i += 2 {
		in.Flags = append(in.Flags, config.Flag{Name: "--set", Key: set[i], Value: set[i+1]})
	}
	loaded, err := config.LoadSettings(in)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// nodeOptions are those of a node with these variables in its environment.
func nodeOptions(loaded config.Loaded, engine string, environment map[string]string) NodeOptions {
	return NodeOptions{
		Loaded: loaded, Engine: engine, Logger: slog.New(slog.DiscardHandler), Vault: secret.New(nil),
		Lookup: func(name string) (string, bool) { v, ok := environment[name]; return v, ok },
	}
}

// openNode opens a node with a journal in a file, which is closed at the end of the test.
func openNode(t *testing.T, o NodeOptions) *Node {
	t.Helper()
	n, err := OpenNode(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// background runs something until the test ends.
func background(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { run(ctx) })
	t.Cleanup(func() { cancel(); group.Wait() })
}

// soon takes what comes next.
func soon[T any](t *testing.T, what string, from <-chan T) (next T) {
	t.Helper()
	select {
	case next = <-from:
	case <-time.After(time.Minute):
		t.Fatalf("in vain: %s", what)
	}
	return next
}
