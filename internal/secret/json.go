package secret

import (
	"encoding/json"
	"strings"
)

// RedactJSON redacts the strings of a JSON text, and leaves it JSON. A text that is not JSON is
// redacted as any other. A value that is JSON itself, such as the credentials of a service, can be
// spread over the text; then nothing is left of the text but its redacted form as a string.
func (v *Vault) RedactJSON(text string) string {
	redacted := v.Redact(text)
	if redacted == text {
		return text
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return redacted
	}
	before := encode(value)
	out := encode(v.walk(value))
	if out == before || v.Redact(out) != out {
		out = encode(map[string]any{"redacted": redacted})
	}
	return out
}

// encode writes a decoded value, or a text.
func encode(value any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // a decoded value can be encoded
	return strings.TrimSuffix(out.String(), "\n")
}

// walk redacts every string in a decoded value. One that holds JSON stays JSON.
func (v *Vault) walk(value any) any {
	switch x := value.(type) {
	case string:
		return v.RedactJSON(x)
	case []any:
		for i := range x {
			x[i] = v.walk(x[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(x))
		for name, field := range x {
			clean[v.Redact(name)] = v.walk(field)
		}
		return clean
	case json.Number:
		if redacted := v.Redact(x.String()); redacted != x.String() {
			return redacted
		}
	}
	return value
}
