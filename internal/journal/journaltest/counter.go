package journaltest

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"

	sqlite "modernc.org/sqlite"
)

// Counter is SQLite's driver. It counts the statements that it runs, begin and commit among them.
type Counter struct {
	sqlite.Driver
	N atomic.Int64
}

// Open implements driver.Driver.
func (c *Counter) Open(name string) (driver.Conn, error) {
	conn, err := c.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	whole, ok := conn.(connection)
	if !ok {
		return nil, errors.Join(errors.New("the driver's connection lacks a method"), conn.Close())
	}
	return &counted{connection: whole, n: &c.N}, nil
}

// connection is what database/sql asks a connection of this driver for.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type counted struct {
	connection
	n *atomic.Int64
}

func (c *counted) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.n.Add(1)
	tx, err := c.connection.BeginTx(ctx, opts)
	return countedTx{Tx: tx, n: c.n}, err
}

func (c *counted) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	prepared, err := c.connection.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	whole, ok := prepared.(statement)
	if !ok {
		return nil, errors.Join(errors.New("the driver's statement lacks a method"), prepared.Close())
	}
	return countedStatement{statement: whole, n: c.n}, nil
}

func (c *counted) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.n.Add(1)
	return c.connection.ExecContext(ctx, text, args)
}

func (c *counted) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.n.Add(1)
	return c.connection.QueryContext(ctx, text, args)
}

type countedTx struct {
	driver.Tx
	n *atomic.Int64
}

func (t countedTx) Commit() error {
	t.n.Add(1)
	return t.Tx.Commit()
}

func (t countedTx) Rollback() error {
	t.n.Add(1)
	return t.Tx.Rollback()
}

// statement is what database/sql asks a prepared statement of this driver for.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type countedStatement struct {
	statement
	n *atomic.Int64
}

func (s countedStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.n.Add(1)
	return s.statement.ExecContext(ctx, args)
}

func (s countedStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.n.Add(1)
	return s.statement.QueryContext(ctx, args)
}
