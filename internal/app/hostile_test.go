//go:build linux

package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/cast"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/toolbox"
)

// localFront is a server of one machine on a journal in memory, without an engine, in a folder of
// its own.
func localFront(t *testing.T, set ...string) (*Front, *Node) {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	flags := []config.Flag{
		{Name: "--set", Key: "data_dir", Value: filepath.Join(dir, "data")},
		{Name: "--set", Key: "serve.address", Value: "127.0.0.1:0"},
		{Name: "--set", Key: "serve.health", Value: "127.0.0.1:0"},
		{Name: "--set", Key: "tiers.balanced", Value: "anthropic/x"},
		{Name: "--set", Key: "tiers.strong", Value: "anthropic/x"},
		{Name: "--set", Key: "tiers.fast", Value: "anthropic/x"},
	}
	for i := 0; i < len(set); i += 2 {
		flags = append(flags, config.Flag{Name: "--set", Key: set[i], Value: set[i+1]})
	}
	loaded, err := config.LoadSettings(config.Inputs{
		Managed: filepath.Join(dir, "managed"), Home: dir, ConfigHome: filepath.Join(dir, "config"), DataHome: dir, Environ: []string{},
		Flags: flags,
	})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	n := &Node{
		options: NodeOptions{Loaded: loaded, Logger: logger, Vault: secret.New(nil)}, Bus: live.NewLocal(0),
		pressure: newPressure(loaded.Settings.Serve.Limits),
	}
	n.Log = notifyingLog{Log: journaltest.NewMemory(), bus: n.Bus, pressure: n.pressure}
	n.worktrees = toolbox.NewWorktrees(n.folder, loaded.Settings.DataDir)
	if n.catalog, err = cast.New(cast.Options{Loaded: loaded, Folder: n.folder, Tree: n.worktrees.Path, Vault: n.options.Vault}); err != nil {
		t.Fatal(err)
	}
	n.Client = &durable.Client{Log: n.Log, Logger: logger}
	f, err := n.Serve(t.Context(), FrontOptions{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, n
}

const (
	otherPage = "Origin: https://evil.example\r\n"
	asJSON    = "Content-Type: application/json\r\nIdempotency-Key: hostile-key-0000001\r\n"
	toCreate  = "POST /v1/conversations HTTP/1.1\r\n"
	toMe      = "GET /v1/me HTTP/1.1\r\n"
	atHome    = "Host: {host}\r\n"
	withToken = "Authorization: Bearer {token}\r\n"
	noBody    = "Content-Length: 2\r\n\r\n{}"
	crlf      = "\r\n"
	// tooLarge may be hung up on before it is written whole; all others are answered.
	tooLarge = "huge header"
)

// attempts are what a page of another origin, or a program without rights, can send. Those that
// hold the token show that the other checks hold without it.
var attempts = []struct{ name, raw string }{
	{"no-CORS POST", toCreate + atHome + otherPage + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nContent-Type: text/plain\r\n" + noBody},
	{"no-CORS POST with the token", toCreate + atHome + otherPage + withToken + "Sec-Fetch-Mode: no-cors\r\nContent-Type: text/plain\r\n" + noBody},
	{"form post of JSON as text/plain", toCreate + atHome + "Content-Type: text/plain\r\n" + noBody},
	{"form post of JSON as text/plain with the token", toCreate + atHome + withToken + "Idempotency-Key: hostile-key-0000002\r\nContent-Type: text/plain\r\n" + noBody},
	{"urlencoded form with the token", toCreate + atHome + withToken + "Idempotency-Key: hostile-key-0000003\r\nContent-Type: application/x-www-form-urlencoded\r\n" + noBody},
	{"multipart form with the token", toCreate + atHome + withToken + "Idempotency-Key: hostile-key-0000004\r\nContent-Type: multipart/form-data; boundary=x\r\n" + noBody},
	{"cross-site JSON with the token", toCreate + atHome + otherPage + withToken + asJSON + noBody},
	{"same-site page of another port with the token", toCreate + atHome + "Origin: http://127.0.0.1:3000\r\nSec-Fetch-Site: same-site\r\n" + withToken + asJSON + noBody},
	{"another port by Origin alone", toCreate + atHome + "Origin: http://127.0.0.1:3000\r\n" + withToken + asJSON + noBody},
	{"localhost is another origin than 127.0.0.1", toCreate + atHome + "Origin: http://localhost:1\r\n" + withToken + asJSON + noBody},
	{"Origin null with the token", toCreate + atHome + "Origin: null\r\n" + withToken + asJSON + noBody},
	{"Origin of a file", toCreate + atHome + "Origin: file://\r\n" + withToken + asJSON + noBody},
	{"Origin that is none", toCreate + atHome + "Origin: %zz\r\n" + withToken + asJSON + noBody},
	{"Origin twice", toCreate + atHome + "Origin: http://{host}\r\n" + otherPage + withToken + asJSON + noBody},
	{"cross-site without Origin, with the token", toCreate + atHome + "Sec-Fetch-Site: cross-site\r\n" + withToken + asJSON + noBody},
	{"cross-site GET with the token", toMe + atHome + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n" + withToken + crlf},
	{"same-site GET with the token", toMe + atHome + "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: cors\r\n" + withToken + crlf},
	{"GET with a foreign Origin and the token", toMe + atHome + otherPage + withToken + crlf},
	{"unknown Sec-Fetch-Site with the token", toMe + atHome + "Sec-Fetch-Site: whatever\r\n" + withToken + crlf},
	{"cross-site navigation", toMe + atHome + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n" + crlf},
	{"frame", toMe + atHome + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n" + crlf},
	{"rebound name with the token", toMe + "Host: evil.example\r\n" + withToken + crlf},
	{"rebound name with the port and the token", toCreate + "Host: evil.example:{port}\r\n" + withToken + asJSON + noBody},
	{"name that begins like ours", toMe + "Host: 127.0.0.1.evil.example\r\n" + withToken + crlf},
	{"name that ends like ours", toMe + "Host: evil-localhost\r\n" + withToken + crlf},
	{"name with a final dot", toMe + "Host: localhost.:{port}\r\n" + withToken + crlf},
	{"0.0.0.0", toMe + "Host: 0.0.0.0:{port}\r\n" + withToken + crlf},
	{"decimal address", toMe + "Host: 2130706433\r\n" + withToken + crlf},
	{"mapped address", toMe + "Host: [::ffff:7f00:1]:{port}\r\n" + withToken + crlf},
	{"empty Host", toMe + "Host: \r\n" + withToken + crlf},
	{"Host twice", toMe + atHome + "Host: evil.example\r\n" + withToken + crlf},
	{"no Host", toMe + withToken + crlf},
	{"X-Forwarded-Host", toMe + "Host: evil.example\r\nX-Forwarded-Host: {host}\r\n" + withToken + crlf},
	{"absolute form", "GET http://{host}/v1/me HTTP/1.1\r\n" + atHome + withToken + crlf},
	{"absolute form of another host", "GET http://evil.example/v1/me HTTP/1.1\r\n" + atHome + withToken + crlf},
	{"WebSocket upgrade", "GET /v1/conversations/x/events HTTP/1.1\r\n" + atHome + otherPage +
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" + crlf},
	{"WebSocket upgrade with the token", "GET /v1/conversations/x/events HTTP/1.1\r\n" + atHome + otherPage + withToken +
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" + crlf},
	{"EventSource without a token", "GET /v1/conversations/x/events HTTP/1.1\r\n" + atHome + "Accept: text/event-stream\r\nSec-Fetch-Site: same-origin\r\n" + crlf},
	{"stream as a script", "GET /v1/conversations/x/events HTTP/1.1\r\n" + atHome + "Sec-Fetch-Dest: script\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Site: cross-site\r\n" + crlf},
	{"token in the query", "GET /v1/me?token={token} HTTP/1.1\r\n" + atHome + crlf},
	{"token as access_token", "GET /v1/me?access_token={token} HTTP/1.1\r\n" + atHome + crlf},
	{"token in a cookie", toMe + atHome + "Cookie: token={token}; __Host-rt={token}\r\n" + crlf},
	{"token as Basic", toMe + atHome + "Authorization: Basic {token}\r\n" + crlf},
	{"token in another header", toMe + atHome + "X-Api-Key: {token}\r\nToken: {token}\r\n" + crlf},
	{"part of the token", toMe + atHome + "Authorization: Bearer {part}\r\n" + crlf},
	{"empty token", toMe + atHome + "Authorization: Bearer \r\n" + crlf},
	{"two tokens", toMe + atHome + "Authorization: Bearer x\r\n" + withToken + crlf},
	{"lower case scheme", toMe + atHome + "Authorization: bearer {token}\r\n" + crlf},
	{"HEAD", "HEAD /v1/conversations HTTP/1.1\r\n" + atHome + crlf},
	{"preflight", "OPTIONS /v1/conversations HTTP/1.1\r\n" + atHome + otherPage + "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n" + crlf},
	{"preflight to the private network", "OPTIONS /v1/conversations HTTP/1.1\r\n" + atHome + otherPage + "Access-Control-Request-Private-Network: true\r\nAccess-Control-Request-Method: POST\r\n" + crlf},
	{"OPTIONS *", "OPTIONS * HTTP/1.1\r\n" + atHome + crlf},
	{"TRACE with the token", "TRACE /v1/me HTTP/1.1\r\n" + atHome + withToken + crlf},
	{"CONNECT with the token", "CONNECT evil.example:443 HTTP/1.1\r\n" + atHome + withToken + crlf},
	{"method override", "POST /v1/me HTTP/1.1\r\n" + atHome + "X-HTTP-Method-Override: GET\r\n" + asJSON + noBody},
	{"override of a GET", "GET /v1/conversations?_method=POST HTTP/1.1\r\n" + atHome + "X-HTTP-Method-Override: POST\r\n" + crlf},
	{"unknown method", "BREW /v1/me HTTP/1.1\r\n" + atHome + withToken + crlf},
	{"both lengths", toCreate + atHome + withToken + asJSON + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"},
	{"two lengths", toCreate + atHome + withToken + asJSON + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"},
	{"unknown coding", toCreate + atHome + withToken + asJSON + "Transfer-Encoding: xchunked\r\n\r\n{}"},
	{"space before the colon", toMe + atHome + "Authorization : Bearer {token}\r\n" + crlf},
	{"folded header", toMe + atHome + "Authorization:\r\n Bearer {token}\r\nX: y\r\n" + "Origin: null\r\n" + crlf},
	{"newline in a header", toMe + atHome + "X: a\nAuthorization: Bearer nothing\r\n" + crlf},
	{"NUL in a header", toMe + atHome + withToken + "X: a\x00b\r\n" + crlf},
	{tooLarge, toMe + atHome + withToken + "X: " + strings.Repeat("a", 64<<10) + "\r\n" + crlf},
	{"HTTP/0.9", "GET /v1/me\r\n"},
	{"HTTP/3.0", "GET /v1/me HTTP/3.0\r\n" + atHome + withToken + crlf},
	{"two slashes", "GET //evil.example/%2e%2e HTTP/1.1\r\n" + atHome + crlf},
	{"climbing path", "GET /v1/../../etc/passwd HTTP/1.1\r\n" + atHome + withToken + crlf},
	{"nothing there", "GET /nothing HTTP/1.1\r\n" + atHome + withToken + crlf},
	{"no page yet", "GET / HTTP/1.1\r\n" + atHome + crlf},
}

// ourselves are the headers that every answer of ours has.
var ourselves = []string{
	"Cache-Control", "Content-Security-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Permissions-Policy",
	"Referrer-Policy", "Reporting-Endpoints", "X-Content-Type-Options", "X-Dns-Prefetch-Control",
}

func TestHostilePagesGetNothing(t *testing.T) {
	f, n := localFront(t)
	address := strings.TrimPrefix(f.URL, "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{host}", address, "{port}", port, "{token}", f.Token, "{part}", f.Token[:len(f.Token)-1])
	accepted, dressed, outright := 0, 0, 0
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			answer, text, err := send(t, "tcp", address, fill.Replace(a.raw))
			if a.name == tooLarge && hungUp(err) {
				return
			}
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			if answer.StatusCode < 300 {
				accepted++
				t.Errorf("accepted: %s\n%s", answer.Status, text)
			}
			if strings.Contains(text, f.Token) || answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("the answer gives something away: %v\n%s", answer.Header, text)
			}
			if to := answer.Header.Get("Location"); strings.HasPrefix(to, "//") || strings.Contains(to, ":") {
				t.Errorf("sent on to %s", to)
			}
			if answer.Header.Get("Request-Id") == "" {
				outright++
			}
			for _, name := range ourselves {
				if answer.Header.Get(name) == "" {
					t.Errorf("%s: no %s", answer.Status, name)
				}
			}
			dressed++
		})
	}
	if conversations, err := n.Log.Conversations(t.Context(), LocalTenant, journal.Page{}); err != nil || len(conversations) > 0 {
		t.Errorf("%d conversations were made, %v", len(conversations), err)
	}
	measure.Figure(t, "hostile: %d attempts, %d accepted; %d answers with all headers, %d of them net/http's own", len(attempts), accepted,
		dressed, outright)
}

// TestThePersonGetsIn shows that what is refused above is refused for its own reason.
func TestThePersonGetsIn(t *testing.T) {
	f, n := localFront(t)
	address := strings.TrimPrefix(f.URL, "http://")
	fill := strings.NewReplacer("{host}", address, "{token}", f.Token)
	for name, raw := range map[string]string{
		"a program":       toCreate + atHome + withToken + asJSON + noBody,
		"the page itself": toCreate + atHome + "Origin: " + f.URL + "\r\nSec-Fetch-Site: same-origin\r\n" + withToken + strings.ReplaceAll(asJSON, "001", "002") + noBody,
	} {
		if answer, text, err := send(t, "tcp", address, fill.Replace(raw)); err != nil || answer.StatusCode != http.StatusCreated {
			t.Errorf("%s: %v, %v\n%s", name, answer, err, text)
		}
	}
	if answer, text, err := send(t, "unix", f.Socket, "GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("the same user, through the socket: %v, %v\n%s", answer, err, text)
	}
	list, err := n.Log.Conversations(t.Context(), LocalTenant, journal.Page{})
	if err != nil || len(list) != 2 {
		t.Errorf("%d conversations, %v", len(list), err)
	}
}

// send writes bytes and reads an answer.
func send(t *testing.T, network, address, raw string) (*http.Response, string, error) {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: time.Minute}).DialContext(t.Context(), network, address)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close() //nolint:errcheck // nothing is left to lose
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, "", err
	}
	if _, err := conn.Write([]byte(raw)); err != nil {
		return nil, "", err
	}
	method, _, _ := strings.Cut(raw, " ")
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close() //nolint:errcheck // as above
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer, string(text), nil
}

// hungUp reports whether the other side ended a connection; one that says nothing did not.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}

// otherUser is one that is not ours.
const otherUser = 65534

// asOther does something as another user of the machine. Only root can.
func asOther(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		_, _, number := unix.RawSyscall(unix.SYS_SETRESUID, otherUser, otherUser, otherUser)
		if number != 0 {
			done <- number
			return
		}
		do()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(fmt.Errorf("become another user: %w", err))
	}
}

func TestAnotherUserGetsNothing(t *testing.T) {
	f, n := localFront(t)
	data := n.options.Loaded.Settings.DataDir
	const ask = "GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n"
	t.Run("tcp", func(t *testing.T) {
		asOther(t, func() {
			answer, text, err := send(t, "tcp", strings.TrimPrefix(f.URL, "http://"), ask)
			if err != nil || answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("%v, %v\n%s", answer, err, text)
			}
		})
	})
	t.Run("token", func(t *testing.T) {
		asOther(t, func() {
			if text, err := os.ReadFile(filepath.Join(data, "api.token")); err == nil {
				t.Errorf("another user reads the token: %d bytes", len(text))
			}
		})
	})
	t.Run("socket", func(t *testing.T) {
		asOther(t, func() {
			if answer, text, err := send(t, "unix", f.Socket, ask); !errors.Is(err, os.ErrPermission) {
				t.Errorf("%v, %v\n%s", answer, err, text)
			}
		})
	})
	t.Run("modes", func(t *testing.T) {
		for path, want := range map[string]os.FileMode{data: 0o700, f.Socket: 0o600, filepath.Join(data, "api.token"): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v %v", path, info.Mode(), err)
			}
		}
	})
	t.Run("socket that everybody reaches", func(t *testing.T) {
		for path, mode := range map[string]os.FileMode{filepath.Dir(data): 0o755, data: 0o755, f.Socket: 0o666} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		asOther(t, func() {
			conn, err := net.Dial("unix", f.Socket)
			if err != nil {
				t.Errorf("it must be the kernel's word that keeps others out: %v", err)
				return
			}
			_ = conn.Close()
		})
		asOther(t, func() {
			if answer, text, err := send(t, "unix", f.Socket, ask); !hungUp(err) {
				t.Errorf("%v, %v\n%s", answer, err, text)
			}
		})
	})
}
