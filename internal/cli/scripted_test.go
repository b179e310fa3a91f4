package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// port finds a free one and puts it into a variable: port PORT. It is none of those that the system
// hands out, so that nobody is given it before the program has taken it. The one so far below it is
// kept until the script has ended, so that no other script, of another process even, is given the
// same.
func port(ts *testscript.TestScript, _ bool, args []string) {
	const below = 10_000
	for range 100 {
		number := 2*below + time.Now().UnixMicro()%below
		kept, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", number-below))
		if err != nil {
			continue // another script has it
		}
		listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", number))
		if err != nil {
			_ = kept.Close()
			continue // it is taken
		}
		ts.Defer(func() { _ = kept.Close() })
		ts.Check(listener.Close())
		ts.Setenv(args[0], strconv.FormatInt(number, 10))
		return
	}
	ts.Fatalf("no port is free")
}

// listening waits until a port takes connections: listening $PORT.
func listening(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(time.Minute); ; {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+args[0], time.Second)
		if err == nil {
			ts.Check(conn.Close())
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("nobody listens on %s: %v", args[0], err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// ask posts a body over one wire and prints what comes back: ask anthropic $PORT body.
func ask(ts *testscript.TestScript, _ bool, args []string) {
	path := map[string]string{"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}[args[0]]
	req, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:"+args[1]+path, strings.NewReader(args[2]))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer key-1")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(errors.Join(err, resp.Body.Close()))
}

// terminate asks every command in the background to end, as a supervisor would.
func terminate(ts *testscript.TestScript, _ bool, _ []string) {
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}
