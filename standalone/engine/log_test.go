package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/server/common/log/tag"
)

// TestWhatTheServerSaysIsWeighed checks the entries of the log at its usual level, and those that
// only a lower level shows.
func TestWhatTheServerSaysIsWeighed(t *testing.T) {
	for _, c := range []struct {
		name          string
		level         slog.Level
		steady        bool
		say           func(serverLog)
		seen          string
		nothingIsSeen bool
	}{
		{name: "an error", level: slog.LevelWarn, say: func(l serverLog) { l.Error("disk full") }, seen: "level=ERROR msg=\"disk full\""},
		{name: "a warning while it runs", level: slog.LevelWarn, steady: true, say: func(l serverLog) { l.Warn("slow") }, seen: "level=WARN msg=slow"},
		{name: "a warning while it starts", level: slog.LevelWarn, say: func(l serverLog) { l.Warn("absent") }, nothingIsSeen: true},
		{name: "that warning for who asked", level: slog.LevelInfo, say: func(l serverLog) { l.Warn("absent") }, seen: "level=WARN msg=absent"},
		{name: "a caller that left", level: slog.LevelInfo, steady: true, say: func(l serverLog) { l.Error(callerLeft) }, nothingIsSeen: true},
		{name: "that caller for who asked", level: slog.LevelDebug, say: func(l serverLog) { l.Error(callerLeft) }, seen: "level=DEBUG"},
		{name: "a tag", level: slog.LevelWarn, say: func(l serverLog) { l.With(tag.NewStringTag("shard", "7")).Error("lost") }, seen: "shard=7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			l := newServerLog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: c.level})))
			l.steady.Store(c.steady)
			c.say(l)
			if got := out.String(); !strings.Contains(got, c.seen) || c.nothingIsSeen && got != "" {
				t.Errorf("got %q, want %q", got, c.seen)
			}
		})
	}
}
