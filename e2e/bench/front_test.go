//go:build services

package bench

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// Front is where a server is, and a bare one beside it.
type Front struct {
	URL, Token, Bare string
}

// playFront serves the API, and in the same process a bare handler that asks the journal for the
// same.
func playFront(s Setup) (func(Order) (any, error), error) {
	ctx := context.Background()
	log, err := postgres.Open(ctx, postgres.Options{DSN: s.Journal, Role: postgres.Role})
	if err != nil {
		return nil, err
	}
	loaded, err := settings(s, &stopwatch{})
	if err != nil {
		return nil, err
	}
	node, err := app.OpenNode(ctx, app.NodeOptions{
		Loaded: loaded, Log: log, Engine: s.Engine, EngineTLS: app.EngineClient(s.Credentials), Logger: quiet(), Local: true,
		Workspaces: map[app.Workspace]string{app.LocalWorkspace(s.Folder): s.Folder},
		Lookup:     func(name string) (string, bool) { return map[string]string{"NATS": s.NATS, "KEY": "key"}[name], true },
	})
	if err != nil {
		return nil, err
	}
	front, err := node.Serve(ctx, app.FrontOptions{Workspace: s.Folder, Version: "bench"})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	bare := &http.Server{Handler: bareSnapshot(node.Log), ReadHeaderTimeout: time.Minute}
	go func() { _ = bare.Serve(listener) }() // it lives as long as the process
	return func(Order) (any, error) {
		return Front{URL: front.URL, Token: front.Token, Bare: "http://" + listener.Addr().String()}, nil
	}, nil
}

// bareSnapshot is the least work for a snapshot: the API's reads of the journal, and JSON.
func bareSnapshot(log journal.Log) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{conversation}", func(w http.ResponseWriter, r *http.Request) {
		found, err := bareRead(r.Context(), log, place(r.PathValue("conversation")))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(found)
	})
	return mux
}

// bareRead asks for the state, the messages with their status, the waiting items, the tasks' first
// and last rows, and the marks.
func bareRead(ctx context.Context, log journal.Log, at journal.Ref) (map[string]any, error) {
	state, err := log.Snapshot(ctx, at)
	if err != nil {
		return nil, err
	}
	messages, err := log.Chat(ctx, at, journal.Page{Limit: 100})
	if err != nil {
		return nil, err
	}
	var posts, rows []string
	for _, m := range messages {
		if m.Number > 0 {
			posts = append(posts, journal.MailDelivered{ID: "message:" + m.ID}.Key())
		}
	}
	for _, q := range state.Questions {
		rows = append(rows, journal.QuestionAsked{Question: q.ID}.Key())
	}
	for _, a := range state.Approvals {
		rows = append(rows, journal.ApprovalRequested{In: journal.In{Agent: a.Agent}, Call: a.Call}.Key())
	}
	for _, t := range state.Tasks {
		rows = append(rows, journal.TaskAssigned{In: journal.In{Task: t.ID}}.Key(), journal.TaskEnded{In: journal.In{Task: t.ID}}.Key())
	}
	delivered, err := log.Find(ctx, at, posts...)
	if err != nil {
		return nil, err
	}
	read, err := log.Transcript(ctx, at, "main", journal.Page{Limit: 20})
	if err != nil {
		return nil, err
	}
	asks, err := log.Find(ctx, at, rows...)
	if err != nil {
		return nil, err
	}
	marks, err := log.Marks(ctx, at, journal.Page{Limit: 200})
	return map[string]any{
		"state": state, "messages": messages, "asks": asks, "marks": marks, "delivered": len(delivered), "read": len(read),
	}, err
}
