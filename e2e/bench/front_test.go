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

// playFront serves the API, and in the same process a bare handler that asks the journal for the same.
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
		Loaded: loaded, Log: log, Engine: s.Engine, Logger: quiet(), Local: true, Workspaces: map[string]string{s.Folder: s.Folder},
		Lookup: func(name string) (string, bool) { return map[string]string{"NATS": s.NATS, "KEY": "key"}[name], true },
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

// bareSnapshot is the least that a snapshot takes: what the API asks the journal for, and JSON.
func bareSnapshot(log journal.Log) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{conversation}", func(w http.ResponseWriter, r *http.Request) {
		at := place(r.PathValue("conversation"))
		state, err := log.Snapshot(r.Context(), at)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		messages, err := log.Chat(r.Context(), at, journal.Page{Limit: 100})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		var keys []string
		for _, q := range state.Questions {
			keys = append(keys, journal.Asked{Question: q.ID}.Key())
		}
		for _, a := range state.Approvals {
			keys = append(keys, journal.Wanted{In: journal.In{Agent: a.Agent}, Call: a.Call}.Key())
		}
		asks, err := log.Find(r.Context(), at, keys...)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"state": state, "messages": messages, "asks": asks})
	})
	return mux
}
