package progress

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/wire"
)

// Words are the text of a message, as journal.Words joins it.
func Words(parts []wire.Part) string {
	var out []string
	for _, p := range parts {
		if p.Kind == string(chat.PartText) && p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}

// holds reports whether a message holds all parts of another.
func holds(parts, wanted []wire.Part) bool {
	return !slices.ContainsFunc(wanted, func(w wire.Part) bool {
		return !slices.ContainsFunc(parts, func(p wire.Part) bool { return p.Kind == w.Kind && p.Text == w.Text })
	})
}

// Literal is JSON as a person reads it. Encoders write signs of markup as escapes; a backslash that
// is escaped itself is left alone.
func Literal(raw json.RawMessage) string { return literal.Replace(string(raw)) }

var literal = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func asJSON(args string) json.RawMessage {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	quoted, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return quoted
}
