package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
)

// Certificate lists what the deletion of a tenant removed. It is made of the trail alone: a person
// who has the trail can make it again and compare it with the recorded one.
type Certificate struct {
	Tenant string
	// Actor asked for the deletion, at Began, in entry From.
	Actor Actor
	Began time.Time
	From  int64
	// Erased are the conversations that were removed, by their ids.
	Erased map[string]journal.Weight
	// Ended is when all of it was gone, in entry Seq; both are zero while it is under way.
	Ended time.Time
	Seq   int64
	// Fits means that the certificate on the trail says the same as the entries before it.
	Fits bool
}

// Sum is how much was removed in all.
func (c *Certificate) Sum() (w journal.Weight) {
	for _, e := range c.Erased {
		w.Rows, w.Texts, w.Bytes = w.Rows+e.Rows, w.Texts+e.Texts, w.Bytes+e.Bytes
	}
	return w
}

// Digest is over one line for each conversation, in the order of their ids: id, rows, texts, bytes.
func (c *Certificate) Digest() string {
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(c.Erased)) {
		w := c.Erased[id]
		_, _ = fmt.Fprintf(h, "%s %d %d %d\n", id, w.Rows, w.Texts, w.Bytes) // it never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// record is the certificate as an entry. There is one for each deletion.
func (c *Certificate) record() Record {
	w := c.Sum()
	return Record{
		Action: ActionTenantDeleted, Actor: Actor{Source: c.Actor.Source}, Digest: c.Digest(), Key: fmt.Sprintf("tenant.deleted/%d", c.From),
		Detail: fmt.Sprintf("conversations=%d %s since=%d began=%s by=%s", len(c.Erased), weighed(w), c.From,
			c.Began.UTC().Format(time.RFC3339), c.Actor.User),
	}
}

// weighed is a weight in words, and readWeight reads it again.
func weighed(w journal.Weight) string {
	return fmt.Sprintf("rows=%d texts=%d bytes=%d", w.Rows, w.Texts, w.Bytes)
}

func readWeight(detail string) (w journal.Weight, ok bool) {
	n, err := fmt.Sscanf(detail, "rows=%d texts=%d bytes=%d", &w.Rows, &w.Texts, &w.Bytes)
	return w, err == nil && n == 3
}

// Certificates reads a trail and returns the certificates of all deletions of the tenant; the last
// one may be under way. A person's own tenant exists again after their next login, and can be
// deleted again.
func Certificates(ctx context.Context, log Reader, tenant string) (out []*Certificate, err error) {
	// asked counts the requests that were not taken back.
	asked, open := 0, (*Certificate)(nil)
	for after := int64(0); ; {
		entries, err := log.Read(ctx, tenant, after, verifyPage)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			after = e.Seq
			switch {
			case e.Action == ActionTenantDelete && e.Outcome == Accepted:
				if asked++; asked == 1 {
					open = &Certificate{Tenant: tenant, Actor: e.Actor, Began: e.At, From: e.Seq, Erased: map[string]journal.Weight{}}
				}
			case e.Action == ActionTenantDelete:
				if asked--; asked <= 0 {
					asked, open = 0, nil
				}
			case e.Action == ActionErase && e.Outcome == Accepted && open != nil:
				if w, ok := readWeight(e.Detail); ok {
					open.Erased[e.Conversation] = w
				}
			case e.Action == ActionTenantDeleted && open != nil:
				want := open.record()
				open.Ended, open.Seq, open.Fits = e.At, e.Seq, e.Digest == want.Digest && e.Detail == want.Detail
				out = append(out, open)
				asked, open = 0, nil
			}
		}
		if len(entries) < verifyPage {
			break
		}
	}
	if open != nil {
		out = append(out, open)
	}
	return out, nil
}

// Certify puts the certificate of the deletion under way at the end of a tenant's trail, once, even
// if it is called again.
func (t *Trail) Certify(ctx context.Context, tenant string) error {
	list, err := Certificates(ctx, t, tenant)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[len(list)-1].Seq > 0 {
		return nil // the tenant exists
	}
	return t.Write(ctx, tenant, list[len(list)-1].record())
}
