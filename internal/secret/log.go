package secret

import (
	"context"
	"encoding"
	"fmt"
	"log/slog"
)

// Handler redacts everything that is logged on its way to another handler.
func (v *Vault) Handler(to slog.Handler) slog.Handler { return handler{to: to, vault: v} }

type handler struct {
	to    slog.Handler
	vault *Vault
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool { return h.to.Enabled(ctx, level) }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.vault.Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attribute(a))
		return true
	})
	return h.to.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(list []slog.Attr) slog.Handler {
	return handler{to: h.to.WithAttrs(h.attributes(list)), vault: h.vault}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{to: h.to.WithGroup(h.vault.Redact(name)), vault: h.vault}
}

func (h handler) attributes(list []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(list))
	for i, a := range list {
		out[i] = h.attribute(a)
	}
	return out
}

func (h handler) attribute(a slog.Attr) slog.Attr {
	a.Key, a.Value = h.vault.Redact(a.Key), a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.vault.Redact(a.Value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(h.attributes(a.Value.Group())...)
	case slog.KindAny:
		text := printed(a.Value.Any())
		if redacted := h.vault.Redact(text); redacted != text {
			a.Value = slog.StringValue(redacted)
		}
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
	}
	return a
}

// printed is a value as a handler would print it.
func printed(value any) string {
	switch x := value.(type) {
	case error:
		return x.Error()
	case []byte:
		return string(x)
	case encoding.TextMarshaler:
		if text, err := x.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprintf("%+v", value)
}
