package cli

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// server is the API that a command works with: that of a server elsewhere, of the one that runs on
// the data folder, or of this process.
type server struct {
	*client.Client
	// address is where it is, as people read it; empty for that of this process.
	address string
}

// serverFlags name a server to go to instead of the one of this machine.
type serverFlags struct{ address, keyFile string }

func (f *serverFlags) addServer(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&f.address, "server", "",
		"go to this server, such as https://retinue.example.org; the key is in "+config.KeyVariable)
	cmd.PersistentFlags().StringVar(&f.keyFile, "key-file", "", "a file with the key for --server, instead of "+config.KeyVariable)
}

// chosen is the server that the flags name, nil if they name none.
func (f *serverFlags) chosen() (*server, error) {
	if f.address == "" {
		if f.keyFile != "" {
			return nil, misused("--key-file is for a server: name it with --server")
		}
		return nil, nil //nolint:nilnil // no server is a choice, not a fault
	}
	key := os.Getenv(config.KeyVariable)
	if f.keyFile != "" {
		text, err := os.ReadFile(f.keyFile)
		if err != nil {
			return nil, misused("--key-file: %w", err)
		}
		key = string(text)
	}
	if key = strings.TrimSpace(key); key == "" {
		return nil, misused("--server needs a key: put it into %s, or into a file that --key-file names", config.KeyVariable)
	}
	u, err := url.Parse(f.address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, misused("--server: %q is no address such as https://retinue.example.org", f.address)
	}
	if u.Scheme == "http" && !loops(u.Hostname()) {
		return nil, misused("--server: %s would send the key where others can read it: use https", f.address)
	}
	return &server{Client: &client.Client{BaseURL: f.address, Key: key}, address: f.address}, nil
}

// loops reports whether a host is this machine.
func loops(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// elsewhere is the server that a command goes to: the one that is named, or the one that runs on
// the data folder and serves the workspace. It is nil if the command has to run one itself.
func (f *siteFlags) elsewhere(ctx context.Context, s *site, w want) (*server, error) {
	if named, err := f.chosen(); named != nil || err != nil {
		return named, err
	}
	settings, workspace := s.loaded.Settings, s.workspace
	if f.demo {
		settings = config.Settings{DataDir: local.DemoFolder(settings)}
		if workspace == "" && !w.named {
			workspace = filepath.Join(settings.DataDir, local.DemoWorkspace)
		}
	}
	found := local.FindServer(ctx, settings, workspace)
	if found == nil {
		if f.demo && w.named {
			return nil, errors.New("no demo is up: start 'retinue up --demo'")
		}
		return nil, nil //nolint:nilnil // no server is nothing wrong
	}
	s.workspace = workspace
	return &server{Client: found, address: local.SocketPath(settings)}, nil
}

// say posts a message and returns its id. The same key posts it once.
func (s *server) say(ctx context.Context, conversation, key, text string) (string, error) {
	m, err := s.Keyed(key).Post(ctx, conversation, wire.NewMessage{Text: text})
	return m.ID, s.explain(err)
}

// answer answers a question.
func (s *server) answer(ctx context.Context, conversation, question, text string) error {
	_, err := s.Post(ctx, conversation, wire.NewMessage{Text: text, InReplyTo: question})
	return s.explain(err)
}

// declined is the text of a message that declines a question.
const declined = "I will not answer this."

// decline says that nobody will answer a question.
func (s *server) decline(ctx context.Context, conversation, question string) error {
	_, err := s.Post(ctx, conversation, wire.NewMessage{Text: declined, InReplyTo: question, Decline: true})
	return s.explain(err)
}

// decide decides about a call that wants approval, as it was shown.
func (s *server) decide(ctx context.Context, conversation string, p progress.Pending, d wire.Decision) error {
	d.Hash = p.Hash
	_, err := s.Decide(ctx, conversation, p.Approval, d)
	return s.explain(err)
}

// codes are those of problems that have another name here.
var codes = map[string]chat.Code{"unauthorised": chat.CodeDenied, "forbidden": chat.CodeDenied}

// cause is an error of the client as one with a code. That the server could not be reached is one
// too.
func cause(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	p, ok := errors.AsType[*client.Problem](err)
	if !ok {
		if request, ok := errors.AsType[*url.Error](err); ok {
			err = request.Err // which request it was helps nobody
		}
		return &chat.Error{Code: chat.CodeUnavailable, Message: err.Error()}
	}
	out := &chat.Error{Code: chat.Code(p.Code), Message: p.Detail}
	if code, other := codes[p.Code]; other {
		out.Code = code
	}
	for _, e := range p.Errors {
		out.Message += "; " + e.Location + " " + e.Message
	}
	if p.Next != "" {
		out.Message += " (" + p.Next + ")"
	}
	return out
}

// explain says why a server did not do what it was asked, and what to do.
func (s *server) explain(err error) error {
	err = cause(err)
	e, ok := errors.AsType[*chat.Error](err)
	if !ok || s.address == "" {
		return err
	}
	switch e.Code {
	case chat.CodeUnavailable:
		e.Message = "the server at " + s.address + " does not answer: " + e.Message +
			"; check the address and whether it runs, then try again"
	case chat.CodeDenied:
		e.Message = "the server at " + s.address + " refuses the key: " + e.Message
	case chat.CodeInvalid, chat.CodeNotFound, chat.CodeConflict, chat.CodeLimit, chat.CodeInternal:
	}
	return e
}
