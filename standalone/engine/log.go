package engine

import (
	"context"
	"log/slog"
	"os"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// serverLog passes the server's log to slog. While its components start and stop, one after the
// other, each warns that the others are missing: those warnings are held back unless the log shows
// more than warnings. The server's error about a caller that left is for debugging.
type serverLog struct {
	to     *slog.Logger
	steady *atomic.Bool
}

func newServerLog(to *slog.Logger) serverLog {
	return serverLog{to: to, steady: new(atomic.Bool)}
}

var (
	_ log.Logger     = serverLog{}
	_ log.WithLogger = serverLog{}
)

func (l serverLog) Debug(msg string, tags ...tag.Tag) { l.write(slog.LevelDebug, msg, tags) }
func (l serverLog) Info(msg string, tags ...tag.Tag)  { l.write(slog.LevelInfo, msg, tags) }
func (l serverLog) Warn(msg string, tags ...tag.Tag)  { l.write(slog.LevelWarn, msg, tags) }
func (l serverLog) Error(msg string, tags ...tag.Tag) { l.write(slog.LevelError, msg, tags) }

// DPanic logs: the server panics here only when it is under development.
func (l serverLog) DPanic(msg string, tags ...tag.Tag) { l.write(slog.LevelError, msg, tags) }

// Panic logs and panics, as the server expects.
func (l serverLog) Panic(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
	panic("engine: " + msg)
}

// Fatal logs and ends the process. If it returned, the server would continue with broken
// components.
func (l serverLog) Fatal(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
	os.Exit(1)
}

func (l serverLog) With(tags ...tag.Tag) log.Logger {
	return serverLog{slog.New(l.to.Handler().WithAttrs(attributes(tags))), l.steady}
}

// callerLeft is the server's message when a caller leaves between the check that it is connected
// and the trailer with the metrics. This happens at each stop and loses nothing.
const callerLeft = "unable to add metrics baggage to gRPC trailer"

func (l serverLog) write(level slog.Level, msg string, tags []tag.Tag) {
	ctx := context.Background()
	if msg == callerLeft {
		level = slog.LevelDebug
	}
	if !l.to.Enabled(ctx, level) {
		return
	}
	if level == slog.LevelWarn && !l.steady.Load() && !l.to.Enabled(ctx, slog.LevelInfo) {
		return
	}
	l.to.LogAttrs(ctx, level, msg, attributes(tags)...)
}

func attributes(tags []tag.Tag) []slog.Attr {
	attrs := make([]slog.Attr, 0, len(tags))
	for _, t := range tags {
		attrs = append(attrs, slog.Any(t.Key(), t.Value()))
	}
	return attrs
}
