package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/progress"
)

// backend is where conversations are held: in this process, with a journal and an engine at hand,
// or on a server.
type backend interface {
	conversations
	asks
}

// conversations is what is done with a conversation. Ids are the caller's, and what the backend
// made of them comes back.
type conversations interface {
	Begin(ctx context.Context, id string, t app.NewConversation) (string, error)
	Find(ctx context.Context, conversation string) (app.ConversationInfo, error)
	Say(ctx context.Context, conversation, id, by, text string) (string, error)
	// Follow closes its channel when nothing more will come.
	Follow(ctx context.Context, conversation string, after int64) <-chan progress.Update
	Cancel(ctx context.Context, conversation, id, by string) error
}

// asks is what waits for a person, and what they say to it.
type asks interface {
	Inbox(ctx context.Context) ([]app.InboxItem, error)
	Answer(ctx context.Context, conversation, question, by, text string) error
	Decline(ctx context.Context, conversation, question, by string) error
	Decide(ctx context.Context, conversation, by string, p progress.Pending, v app.Verdict) error
}

// serverFlags name a server to go to instead of the one of this machine.
type serverFlags struct{ address, keyFile string }

func (f *serverFlags) addServer(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&f.address, "server", "",
		"go to this server, such as https://retinue.example.org; the key is in "+config.KeyVariable)
	cmd.PersistentFlags().StringVar(&f.keyFile, "key-file", "", "a file with the key for --server, instead of "+config.KeyVariable)
}

// chosen is the server that the flags name, nil if they name none.
func (f *serverFlags) chosen() (*app.Remote, error) {
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
	r, err := app.OpenRemote(f.address, key)
	if err != nil {
		return nil, misused("--server: %w", err)
	}
	return r, nil
}

// elsewhere is the server that a command goes to: the one that is named, or the one that runs on
// the data folder and serves the workspace. It is nil if the command has to see to everything
// itself.
func (f *siteFlags) elsewhere(ctx context.Context, s *site, w want) (*app.Remote, error) {
	r, err := f.chosen()
	if r != nil || err != nil {
		return r, err
	}
	settings, workspace := s.loaded.Settings, s.workspace
	if f.demo {
		settings = config.Settings{DataDir: app.DemoFolder(settings)}
		if workspace == "" && !w.named {
			workspace = filepath.Join(settings.DataDir, app.DemoWorkspace)
		}
	}
	if r = app.LocalRemote(ctx, settings, workspace); r != nil {
		s.workspace = workspace
	} else if f.demo && w.named {
		return nil, errors.New("no demo is up: start 'retinue up --demo'")
	}
	return r, nil
}
