// Package seal encrypts secrets that a process must be able to read again, such as signing keys, so
// that the database alone does not reveal them. It imports the standard library only, and keeps
// nothing itself.
//
// Each tenant has a key of its own. It is stored beside the secrets that it seals, wrapped by the
// key of the installation, which is stored elsewhere. So a tenant's secrets are gone when its key
// is, and after a change of the installation's key only a few keys are wrapped anew. Both are
// AES-256-GCM. A sealed secret is bound to its tenant, its name and its version: moved elsewhere,
// it cannot be opened.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// keyBytes is the length of every key.
const keyBytes = 32

// ErrOther says that something was sealed or wrapped by another key, for another place, or was
// changed.
var ErrOther = errors.New("seal: it does not open with this key at this place")

// Keys are those of an installation. They wrap the keys of tenants.
type Keys struct {
	current key
	// former still open the keys that they wrapped.
	former []key
}

// key is one that wraps.
type key struct {
	// id says which key it is, and nothing about it.
	id   string
	aead cipher.AEAD
}

// NewKey makes a key of an installation, as text.
func NewKey() string { return base64.StdEncoding.EncodeToString(random()) }

func random() []byte {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // it never fails
	return b
}

// NewKeys reads the key of an installation, and those that it had before.
func NewKeys(current string, former ...string) (*Keys, error) {
	k := &Keys{}
	var err error
	if k.current, err = readKey(current); err != nil {
		return nil, err
	}
	for _, text := range former {
		f, err := readKey(text)
		if err != nil {
			return nil, err
		}
		k.former = append(k.former, f)
	}
	return k, nil
}

func readKey(text string) (key, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != keyBytes {
		return key{}, fmt.Errorf("a key is %d random bytes in base64: openssl rand -base64 %d", keyBytes, keyBytes)
	}
	aead, err := newAEAD(raw)
	if err != nil {
		return key{}, err
	}
	sum := sha256.Sum256(append([]byte("retinue key id\x00"), raw...))
	return key{id: hex.EncodeToString(sum[:4]), aead: aead}, nil
}

func newAEAD(raw []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Tenant is the key of a tenant.
type Tenant struct {
	name string
	raw  []byte
	aead cipher.AEAD
}

func newTenant(name string, raw []byte) (*Tenant, error) {
	aead, err := newAEAD(raw)
	return &Tenant{name: name, raw: raw, aead: aead}, err
}

// NewTenant makes a key for a tenant.
func (k *Keys) NewTenant(name string) (*Tenant, error) { return newTenant(name, random()) }

// Wrap is a tenant's key as it may be kept.
func (k *Keys) Wrap(t *Tenant) string {
	return k.current.id + "." + text(k.current.aead.Seal(nil, nil, t.raw, wrapping(t.name, k.current.id)))
}

// Unwrap opens a key that was wrapped. Stale means that a former key did it: it is to be wrapped
// anew.
func (k *Keys) Unwrap(tenant, wrapped string) (t *Tenant, stale bool, err error) {
	id, sealed, _ := strings.Cut(wrapped, ".")
	data, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, false, ErrOther
	}
	for i, by := range append([]key{k.current}, k.former...) {
		if by.id != id {
			continue
		}
		raw, err := by.aead.Open(nil, nil, data, wrapping(tenant, id))
		if err != nil {
			return nil, false, ErrOther
		}
		t, err := newTenant(tenant, raw)
		return t, i > 0, err
	}
	return nil, false, ErrOther
}

// Seal closes a secret that is kept under a name, in a version.
func (t *Tenant) Seal(name string, version int, secret string) string {
	return text(t.aead.Seal(nil, nil, []byte(secret), sealing(t.name, name, version)))
}

// Open opens a secret that was sealed under the same name and version.
func (t *Tenant) Open(name string, version int, sealed string) (string, error) {
	data, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return "", ErrOther
	}
	secret, err := t.aead.Open(nil, nil, data, sealing(t.name, name, version))
	if err != nil {
		return "", ErrOther
	}
	return string(secret), nil
}

func text(data []byte) string { return base64.RawStdEncoding.EncodeToString(data) }

// wrapping and sealing are the contexts that a key and a secret are bound to. Quoting separates
// their fields.
func wrapping(tenant, id string) []byte { return fmt.Appendf(nil, "key|%q|%q", tenant, id) }

func sealing(tenant, name string, version int) []byte {
	return fmt.Appendf(nil, "secret|%q|%q|%d", tenant, name, version)
}
