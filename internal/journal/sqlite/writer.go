package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

// writer is the one connection that writes.
//
// It does without sql.Tx, which prepares begin and commit for every transaction and starts a
// goroutine for it and for each query in it.
type writer struct {
	db                      *sql.DB
	conn                    *sql.Conn
	statements              *query.Queries
	begin, commit, rollback *sql.Stmt
	// turn holds something while somebody writes.
	turn chan struct{}
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{db: db, conn: conn, turn: make(chan struct{}, 1)}
	w.statements, err = query.Prepare(ctx, steady{conn})
	for text, statement := range map[string]**sql.Stmt{
		"begin immediate": &w.begin, "commit": &w.commit, "rollback": &w.rollback,
	} {
		if err == nil {
			*statement, err = conn.PrepareContext(ctx, text)
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

// write runs statements in a transaction that has the file to itself. It waits for its turn as long
// as the context allows. From there on the context is not watched: that would cost a goroutine for
// each statement, and a wait for other processes ends by itself.
func (w *writer) write(ctx context.Context, do func(context.Context, *query.Queries) error) error {
	if err := w.wait(ctx); err != nil {
		return err
	}
	defer w.leave()
	ctx = context.WithoutCancel(ctx)
	committed := false
	defer func() {
		if !committed {
			// It fails where SQLite has rolled back already, and then there is nothing to do.
			_, _ = w.rollback.ExecContext(ctx)
		}
	}()
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return err
	}
	if err := do(ctx, w.statements); err != nil {
		return err
	}
	_, err := w.commit.ExecContext(ctx)
	committed = err == nil
	return err
}

func (w *writer) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *writer) leave() { <-w.turn }

// close lets a transaction end that is under way. The statements of a connection that is held are
// not closed with it, and SQLite would stay in the file with them.
func (w *writer) close() error {
	w.turn <- struct{}{}
	defer w.leave()
	return errors.Join(
		w.statements.Close(), w.begin.Close(), w.commit.Close(), w.rollback.Close(), w.conn.Close(), w.db.Close(),
	)
}
