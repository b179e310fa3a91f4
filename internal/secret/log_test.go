package secret_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/secret"
)

type valuer string

func (v valuer) LogValue() slog.Value { return slog.StringValue(string(v)) }

// TestHandler logs a value in every way there is.
func TestHandler(t *testing.T) {
	const value = "open-sesame"
	v := &secret.Vault{}
	v.Add("WORD", value)
	for _, to := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var out bytes.Buffer
		log := slog.New(v.Handler(to(&out)))
		log.With("with", value, value, 1).WithGroup("in-"+value).Warn("said "+value,
			"text", value, "error", fmt.Errorf("dial: %w", errors.New(value)), "bytes", []byte(value), "valuer", valuer(value),
			slog.Group("group", "text", value, "inner", slog.GroupValue(slog.String("deep", value))),
			"struct", struct{ Field string }{value}, "map", map[string]string{"a": value}, "list", []string{value}, "number", 7)
		if strings.Contains(out.String(), value) || strings.Contains(out.String(), "b3Blbi1zZXNhbWU") {
			t.Errorf("it was logged: %s", out.String())
		}
		if n := strings.Count(out.String(), "[secret:WORD]"); n < 12 {
			t.Errorf("only %d of what was logged is left: %s", n, out.String())
		}
		if !strings.Contains(out.String(), "number") {
			t.Errorf("what is no secret is gone: %s", out.String())
		}
		log.Debug(value)
	}
}
