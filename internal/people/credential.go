package people

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
)

// Kind is the beginning of a credential, which names its kind.
type Kind string

// The kinds of credentials. Programs that look for leaked secrets know them by it.
const (
	KindKey     Kind = "rtk_"
	KindSession Kind = "rts_"
)

// Credential identifies a caller. Its text is given out once; its hash is kept.
type Credential struct {
	Tenant string
	Text   string
}

// lower is base32 in lower case, without padding.
var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// credential is what a credential looks like after its kind: the tenant and 256 random bits.
var credential = regexp.MustCompile(`^([a-z0-9]{1,64})_([a-z2-7]{52})$`)

// NewCredential makes one of 256 random bits.
func NewCredential(kind Kind, tenant string) Credential {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return Credential{Tenant: tenant, Text: string(kind) + tenant + "_" + lower.EncodeToString(bits[:])}
}

// ParseCredential reads a credential of a kind. That it reads well does not mean that it is known.
func ParseCredential(kind Kind, text string) (Credential, bool) {
	rest, ok := strings.CutPrefix(text, string(kind))
	m := credential.FindStringSubmatch(rest)
	if !ok || m == nil {
		return Credential{}, false
	}
	return Credential{Tenant: m[1], Text: text}, true
}

// Hash is the stored form of a credential.
func (c Credential) Hash() []byte { return hash(c.Text) }

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// NewID makes a unique id. It begins with its kind.
func NewID(what string) string {
	var bits [15]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return what + lower.EncodeToString(bits[:])
}

// String keeps a credential out of logs.
func (c Credential) String() string { return "[credential of " + c.Tenant + "]" }
