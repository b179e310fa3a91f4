package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// version is part of every hash: another layout of the bytes gets another.
const version = "retinue.audit.v1"

// Origin is the hash before the first entry of a tenant's chain.
func Origin(tenant string) [32]byte { return sha256.Sum256([]byte(version + "\x00" + tenant)) }

// Sum is the hash of an entry that follows one with the hash prev: SHA-256 over prev and over every
// field with its length in front, so that no two entries have the same bytes.
func Sum(tenant string, prev [32]byte, e Entry) [32]byte {
	var b bytes.Buffer
	b.Write(prev[:])
	for _, field := range []string{
		version, tenant, strconv.FormatInt(e.Seq, 10), strconv.FormatInt(e.At.UnixMilli(), 10), string(e.Action),
		string(e.Outcome), e.Actor.User, e.Actor.Credential, e.Actor.Source, e.Conversation, e.Object, e.Digest, e.Detail, e.Key,
	} {
		b.Write(binary.AppendUvarint(nil, uint64(len(field))))
		b.WriteString(field)
	}
	return sha256.Sum256(b.Bytes())
}

// Head is how far a chain goes. A person who keeps one elsewhere can tell later that the chain was
// not cut off or written anew.
type Head struct {
	Tenant string
	Seq    int64
	Hash   [32]byte
}

// headWord begins the text of a head.
const headWord = "retinue-audit-head-1"

func (h Head) text(at time.Time) string {
	return strings.Join([]string{
		headWord, base64.RawURLEncoding.EncodeToString([]byte(h.Tenant)), strconv.FormatInt(h.Seq, 10), hex.EncodeToString(h.Hash[:]),
		at.UTC().Format(time.RFC3339),
	}, " ")
}

// Sign writes a head on one line, with the time and a signature.
func (h Head) Sign(at time.Time, key ed25519.PrivateKey) string {
	text := h.text(at)
	return text + " " + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))
}

// ParseHead reads a line that Sign wrote with the same key.
func ParseHead(line string, key ed25519.PublicKey) (Head, time.Time, error) {
	refuse := func(why string) (Head, time.Time, error) {
		return Head{}, time.Time{}, &chat.Error{Code: chat.CodeInvalid, Message: "this is no head of an audit trail: " + why}
	}
	parts := strings.Fields(line)
	if len(parts) != 6 || parts[0] != headWord {
		return refuse("it has another form")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[5])
	if err != nil || !ed25519.Verify(key, []byte(strings.Join(parts[:5], " ")), signature) {
		return refuse("its signature is not of this installation's key: audit.key of the machine on which it was made is needed in the data folder")
	}
	tenant, err1 := base64.RawURLEncoding.DecodeString(parts[1])
	seq, err2 := strconv.ParseInt(parts[2], 10, 64)
	hash, err3 := hex.DecodeString(parts[3])
	at, err4 := time.Parse(time.RFC3339, parts[4])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || len(hash) != sha256.Size {
		return refuse("a part of it cannot be read")
	}
	return Head{Tenant: string(tenant), Seq: seq, Hash: [32]byte(hash)}, at, nil
}

// Reader reads a chain.
type Reader interface {
	// Read returns the entries of a tenant that come after a number, in order, at most limit.
	Read(ctx context.Context, tenant string, after int64, limit int) ([]Entry, error)
}

// Broken is a chain that was changed. Seq is the first entry that shows it.
type Broken struct {
	Seq int64
	Why string
}

// Error implements error.
func (b *Broken) Error() string {
	return fmt.Sprintf("the audit trail is broken at entry %d: %s", b.Seq, b.Why)
}

// verifyPage is how many entries are read at a time.
const verifyPage = 1000

// Verify reads a whole chain and computes it again. Kept heads must be part of it. Each entry is
// handed to visit, which may be nil.
func Verify(ctx context.Context, log Reader, tenant string, kept []Head, visit func(Entry)) (Head, error) {
	head := Head{Tenant: tenant, Hash: Origin(tenant)}
	want := map[int64][32]byte{}
	for _, k := range kept {
		if k.Tenant != tenant {
			return head, &chat.Error{Code: chat.CodeInvalid, Message: "the kept head is of the tenant " + k.Tenant + ", not of " + tenant}
		}
		if before, ok := want[k.Seq]; ok && before != k.Hash {
			return head, &Broken{Seq: k.Seq, Why: "two kept heads differ"}
		}
		want[k.Seq] = k.Hash
	}
	delete(want, 0)
	for {
		entries, err := log.Read(ctx, tenant, head.Seq, verifyPage)
		if err != nil {
			return head, err
		}
		for _, e := range entries {
			if e.Seq != head.Seq+1 {
				return head, &Broken{Seq: head.Seq + 1, Why: fmt.Sprintf("it is missing; the next one there is %d", e.Seq)}
			}
			sum := Sum(tenant, head.Hash, e)
			if sum != e.Hash {
				return head, &Broken{Seq: e.Seq, Why: "its hash does not fit what it says and what it follows"}
			}
			if k, ok := want[e.Seq]; ok && k != sum {
				return head, &Broken{Seq: e.Seq, Why: "it is another entry than when the head was kept: the chain was written anew"}
			}
			delete(want, e.Seq)
			head.Seq, head.Hash = e.Seq, sum
			if visit != nil {
				visit(e)
			}
		}
		if len(entries) < verifyPage {
			break
		}
	}
	for seq := range want {
		return head, &Broken{Seq: head.Seq + 1, Why: fmt.Sprintf("it ends here; a kept head says that it went to %d", seq)}
	}
	return head, nil
}
