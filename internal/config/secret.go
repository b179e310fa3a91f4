package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// hidden is printed instead of a secret.
const hidden = "[secret]"

// secretCap is the most that a file with a secret may hold.
const secretCap = 64 << 10

// Secret is a value that must not be seen. Settings hold where it is, {env:NAME} or {file:path};
// Reveal fetches it at the moment it is used. However it is printed, it prints as [secret].
type Secret struct {
	// ref is the reference; plain is a value that is written out because nothing in it is secret.
	ref, plain string
}

// secretRef is a reference to a variable or a file.
var secretRef = regexp.MustCompile(`^\{(env|file):([^{}\s]+)\}$`)

// parseSecret takes a reference, or a value in which nothing looks secret. A relative path begins
// in dir, and ~ is home.
func parseSecret(text, dir, home string) (Secret, error) {
	m := secretRef.FindStringSubmatch(text)
	switch {
	case m == nil && looksSecret(text):
		return Secret{}, errors.New("a secret must not be written here: put it into a variable or a file, " +
			"and write {env:NAME} or {file:path}")
	case m == nil:
		return Secret{plain: text}, nil
	case m[1] == "env":
		return Secret{ref: text}, nil
	}
	at := m[2]
	if rest, ok := strings.CutPrefix(at, "~/"); ok {
		at = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	return Secret{ref: "{file:" + at + "}"}, nil
}

// ParseSecret parses an argument: a reference, or a value in which nothing looks secret. Other
// users of a machine can read arguments.
func ParseSecret(text string) (Secret, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Secret{}, fmt.Errorf("find the current folder: %w", err)
	}
	home, err := os.UserHomeDir()
	if err != nil && strings.Contains(text, "~") {
		return Secret{}, fmt.Errorf("find your home folder: %w", err)
	}
	return parseSecret(text, dir, home)
}

// keyLike is a long word of the kind that keys are made of, or the beginning that keys often have.
var keyLike = regexp.MustCompile(`[A-Za-z0-9_\-+/=]{20,}|\b(sk|pk|gsk|xai|rtn|ghp)[-_]\w{4,}|\bAIza\w{4,}`)

// looksSecret reports whether a text holds a password or something like a key.
func looksSecret(text string) bool {
	if u, err := url.Parse(text); err == nil && u.Scheme != "" && u.Host != "" {
		_, password := u.User.Password()
		token := u.User != nil && (u.Scheme == "nats" || u.Scheme == "tls")
		return password || token || looksSecret(u.RawQuery)
	}
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		if ok && strings.Contains(strings.ToLower(key), "password") && value != "" {
			return true
		}
	}
	return keyLike.MatchString(text) && !strings.HasPrefix(text, "/")
}

// Reference is where the secret is, in words that may be shown; the empty secret has none.
func (s Secret) Reference() string {
	if s.ref == "" {
		return s.plain
	}
	return s.ref
}

// IsZero reports whether nothing was set.
func (s Secret) IsZero() bool { return s == Secret{} }

// Refers reports whether the value is elsewhere; one that is written out holds nothing secret.
func (s Secret) Refers() bool { return s.ref != "" }

// Reveal fetches the value. The errors say what to do, and never contain the value.
func (s Secret) Reveal(lookup func(string) (string, bool)) (string, error) {
	m := secretRef.FindStringSubmatch(s.ref)
	if m == nil {
		return s.plain, nil
	}
	if m[1] == "env" {
		value, ok := lookup(m[2])
		if !ok || strings.TrimSpace(value) == "" {
			return "", fmt.Errorf("the variable %s is not set", m[2])
		}
		return strings.TrimSpace(value), nil
	}
	f, err := os.Open(m[2])
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no file %s", m[2])
	}
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, secretCap))
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	value := strings.TrimSpace(string(data))
	if value == "" {
		return "", fmt.Errorf("the file %s is empty", m[2])
	}
	return value, nil
}

// String implements fmt.Stringer.
func (Secret) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return hidden }

// Format implements fmt.Formatter, so that no verb reaches the fields.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, hidden) }

// MarshalText implements encoding.TextMarshaler, for JSON, YAML and XML alike.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }
