package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
	"github.com/retinue-dev/retinue/wire"
)

// TestServedCommands runs the scripts about servers. Each has one at $SERVER, which takes the key
// $KEY, and a data folder at $WORK/data with a journal and an audit trail.
func TestServedCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/served",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "capture": capture, "terminate": terminate, "says": says, "begun": begun},
		Setup: func(e *testscript.Env) error {
			server := apitest.StartPlaying(ending{t, e}, nil)
			e.Setenv("SERVER", server.URL)
			e.Setenv("KEY", apitest.Token)
			e.Setenv("HOME", e.WorkDir)
			return recorded(t.Context(), filepath.Join(e.WorkDir, "data"))
		},
	})
}

// ending is a test whose clean-up is that of one script.
type ending struct {
	*testing.T
	env *testscript.Env
}

// Cleanup implements apitest.TB.
func (e ending) Cleanup(f func()) { e.env.Defer(f) }

// recorded makes a data folder in which something was decided.
func recorded(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	log, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "journal.db")})
	if err != nil {
		return err
	}
	trail, err := store.OpenSQLite(ctx, filepath.Join(dir, "audit.db"))
	if err != nil {
		return errors.Join(err, log.Close())
	}
	record := audit.Record{
		Action: audit.ActionKeyCreate, Outcome: audit.Accepted, Actor: audit.Actor{User: "ann", Source: "api"}, Object: "k1", Detail: "name=ci",
	}
	clock := func() time.Time { return time.UnixMilli(1_700_000_000_000) }
	return errors.Join(audit.NewTrail(trail, clock).Write(ctx, "local", record), trail.Close(), log.Close())
}

// capture keeps what a group of a pattern fits in the last output: capture ID '^([0-9a-f]+)  main'.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture variable pattern")
	}
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("nothing fits %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// says begins a conversation with a message: says ask.
func says(ts *testscript.TestScript, _ bool, args []string) {
	c := serverOf(ts)
	begun, err := c.Create(context.Background(), wire.NewConversation{Message: args[0]})
	ts.Check(err)
	if begun.ID == "" {
		ts.Fatalf("it has no id")
	}
}

// begun waits until a conversation is under way.
func begun(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		list, err := serverOf(ts).Conversations(context.Background(), client.ListOptions{})
		ts.Check(err)
		for _, c := range list.Items {
			if c.Title == args[0] {
				return
			}
		}
	}
	ts.Fatalf("%s never begins", args[0])
}

func serverOf(ts *testscript.TestScript) *client.Client {
	return &client.Client{BaseURL: ts.Getenv("SERVER"), Key: ts.Getenv("KEY")}
}
