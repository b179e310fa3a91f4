package app

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	auditstore "github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
)

// AuditEntry is one entry of an audit trail.
type AuditEntry = audit.Entry

// openTrail opens the audit trail that lies beside the journal: in the same database, or in a file of
// its own, so that nobody waits for the journal's one writer.
func openTrail(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) (*audit.Trail, func() error, error) {
	var store *auditstore.Store
	var err error
	if s.Journal.DSN.IsZero() {
		store, err = auditstore.OpenSQLite(ctx, filepath.Join(s.DataDir, "audit.db"))
	} else {
		var dsn string
		if dsn, err = s.Journal.DSN.Reveal(lookup); err == nil {
			store, err = auditstore.OpenPostgres(ctx, dsn, "")
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return audit.NewTrail(store, time.Now), store.Close, nil
}

// Auditor looks into audit trails. It needs no engine.
type Auditor struct {
	trail   *audit.Trail
	log     journal.Log
	key     ed25519.PrivateKey
	closers []func() error
}

// OpenAuditor opens the trails and the journal that the settings name.
func OpenAuditor(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) (a *Auditor, err error) {
	a = &Auditor{}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	log, done, err := openJournal(ctx, s, lookup)
	if err != nil {
		return a, err
	}
	a.log, a.closers = log, append(a.closers, done)
	if a.trail, done, err = openTrail(ctx, s, lookup); err != nil {
		return a, err
	}
	a.closers = append(a.closers, done)
	a.key, err = headKey(s.DataDir)
	return a, err
}

// Close lets go of everything.
func (a *Auditor) Close() error {
	var errs error
	for _, c := range slices.Backward(a.closers) {
		errs = errors.Join(errs, c())
	}
	return errs
}

// headKey is what heads are signed with. It is made once and kept where only the owner can read it.
func headKey(dir string) (ed25519.PrivateKey, error) {
	path := filepath.Join(dir, "audit.key")
	if data, err := os.ReadFile(path); err == nil {
		seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
		if err != nil || len(seed) != ed25519.SeedSize {
			return nil, fmt.Errorf("%s is no key for the heads of audit trails: put back the one that was there", path)
		}
		return ed25519.NewKeyFromSeed(seed), nil
	}
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // it never fails
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep the key of the audit trail: %w", err)
	}
	_, err = file.WriteString(base64.StdEncoding.EncodeToString(seed) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, fmt.Errorf("keep the key of the audit trail: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// Show returns entries of a tenant's trail that come after a number.
func (a *Auditor) Show(ctx context.Context, tenant string, after int64, limit int) ([]AuditEntry, error) {
	return a.trail.Read(ctx, tenant, after, limit)
}

// Head verifies a tenant's trail and returns its head, signed, to be kept elsewhere.
func (a *Auditor) Head(ctx context.Context, tenant string) (string, error) {
	head, err := audit.Verify(ctx, a.trail, tenant, nil, nil)
	if err != nil {
		return "", err
	}
	return head.Sign(time.Now(), a.key), nil
}

// AuditReport is what a verification found.
type AuditReport struct {
	Tenant  string
	Entries int64
	// Heads is how many kept heads the trail agrees with.
	Heads int
	// Conversations were looked through, and Checked is how many decisions and effects they hold.
	Conversations, Checked int
	// Gaps are what the journal has and the trail does not.
	Gaps []string
}

// Verify computes a tenant's trail again, compares it with kept heads, and holds the journal against it:
// each decision on an approval, and each call that must not happen twice, has its entry.
func (a *Auditor) Verify(ctx context.Context, tenant string, heads []string) (AuditReport, error) {
	report := AuditReport{Tenant: tenant, Heads: len(heads)}
	public, _ := a.key.Public().(ed25519.PublicKey) // it is nothing else
	var kept []audit.Head
	for _, line := range heads {
		head, _, err := audit.ParseHead(line, public)
		if err != nil {
			return report, err
		}
		kept = append(kept, head)
	}
	cover := audit.NewCover()
	head, err := audit.Verify(ctx, a.trail, tenant, kept, cover.Add)
	report.Entries = head.Seq
	if err != nil {
		return report, err
	}
	if err := a.conversations(ctx, tenant, cover); err != nil {
		return report, err
	}
	for id := range cover.Conversations {
		checked, gaps, err := cover.Gaps(ctx, a.log, journal.Place{Tenant: tenant, Conversation: id})
		if err != nil {
			return report, err
		}
		report.Conversations++
		report.Checked += checked
		report.Gaps = append(report.Gaps, gaps...)
	}
	slices.Sort(report.Gaps)
	return report, nil
}

// conversations adds those that are in the journal's list: the trail might not speak of them.
func (a *Auditor) conversations(ctx context.Context, tenant string, cover *audit.Cover) error {
	page := journal.Page{Limit: journal.PageMaxLimit}
	for {
		list, err := a.log.Conversations(ctx, tenant, page)
		if err != nil {
			return err
		}
		for _, c := range list {
			cover.Conversations[c.ID] = true
			page.Cursor = c.Cursor()
		}
		if len(list) < page.Limit {
			return nil
		}
	}
}
