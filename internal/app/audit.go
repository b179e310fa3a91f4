package app

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	auditstore "github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
)

// AuditEntry is one entry of an audit trail.
type AuditEntry = audit.Entry

// AuditCertificate says what the deletion of a tenant removed.
type AuditCertificate = audit.Certificate

// openTrail opens the audit trail that lies beside the journal: in the same database, or in a file
// of its own, so that nobody waits for the journal's one writer.
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
	trail *audit.Trail
	log   journal.Log
	// dir is where the key of the heads lies.
	dir     string
	closers []func() error
}

// OpenAuditor opens the trails and the journal that the settings name. Where there are none it
// makes none: a mistyped data folder would have a trail that is whole.
func OpenAuditor(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) (a *Auditor, err error) {
	if err := trailThere(s); err != nil {
		return nil, err
	}
	a = &Auditor{dir: s.DataDir}
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
	return a, nil
}

// trailThere complains if there is no audit trail in the data folder. One in a database is missed
// when it is opened.
func trailThere(s config.Settings) error {
	if !s.Journal.DSN.IsZero() {
		return nil
	}
	for _, name := range []string{"audit.db", "journal.db"} {
		if _, err := os.Stat(filepath.Join(s.DataDir, name)); err != nil {
			return &chat.Error{
				Code:    chat.CodeNotFound,
				Message: "there is no audit trail in " + s.DataDir + " (" + name + " is missing): check data_dir, or journal.dsn",
			}
		}
	}
	return nil
}

// Tenants are those whose trails are to be looked into: the named one, or all that have a trail or
// a kept head.
func (a *Auditor) Tenants(ctx context.Context, named string, heads []string) ([]string, error) {
	known, err := a.trail.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := a.kept(heads)
	if err != nil {
		return nil, err
	}
	for _, head := range kept {
		if !slices.Contains(known, head.Tenant) {
			known = append(known, head.Tenant)
		}
	}
	slices.Sort(known)
	switch {
	case len(known) == 0:
		return nil, &chat.Error{Code: chat.CodeNotFound, Message: "the audit trail is empty: nothing was done here yet, or this is not the database"}
	case named == "":
		return known, nil
	case !slices.Contains(known, named):
		return nil, &chat.Error{
			Code:    chat.CodeNotFound,
			Message: "the tenant " + named + " has no audit trail; those who have one: " + strings.Join(known, ", "),
		}
	}
	return []string{named}, nil
}

// kept reads heads that were kept, of any tenant.
func (a *Auditor) kept(lines []string) ([]audit.Head, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	key, err := readKey(a.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &chat.Error{
			Code:    chat.CodeNotFound,
			Message: "audit.key is not in " + a.dir + ": bring it from the machine on which the heads were made",
		}
	}
	if err != nil {
		return nil, err
	}
	public, _ := key.Public().(ed25519.PublicKey) // it is nothing else
	out := make([]audit.Head, len(lines))
	for i, line := range lines {
		if out[i], _, err = audit.ParseHead(line, public); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Close lets go of everything.
func (a *Auditor) Close() error {
	var errs error
	for _, c := range slices.Backward(a.closers) {
		errs = errors.Join(errs, c())
	}
	return errs
}

// keyName is the file of the key that heads are signed with.
const keyName = "audit.key"

// readKey reads the key that heads are signed with.
func readKey(dir string) (ed25519.PrivateKey, error) {
	path := filepath.Join(dir, keyName)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key of the audit trail: %w", err)
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s is no key for the heads of audit trails: put back the one that was there", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// headKey is what heads are signed with. It is made once and kept where only the owner can read it.
func headKey(dir string) (ed25519.PrivateKey, error) {
	if key, err := readKey(dir); !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // it never fails
	if err := makeKey(filepath.Join(dir, keyName), base64.StdEncoding.EncodeToString(seed)); err != nil {
		return nil, fmt.Errorf("keep the key of the audit trail: %w", err)
	}
	return readKey(dir)
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
	key, err := headKey(a.dir)
	if err != nil {
		return "", err
	}
	return head.Sign(time.Now(), key), nil
}

// Certificates verifies a tenant's trail and returns what its deletions removed.
func (a *Auditor) Certificates(ctx context.Context, tenant string) ([]*audit.Certificate, error) {
	if _, err := audit.Verify(ctx, a.trail, tenant, nil, nil); err != nil {
		return nil, err
	}
	return audit.Certificates(ctx, a.trail, tenant)
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

// Verify computes a tenant's trail again, compares it with its own of the kept heads, and checks
// the journal against it: each decision on an approval, and each call that must not happen twice,
// has its entry.
func (a *Auditor) Verify(ctx context.Context, tenant string, heads []string) (AuditReport, error) {
	report := AuditReport{Tenant: tenant}
	kept, err := a.kept(heads)
	if err != nil {
		return report, err
	}
	kept = slices.DeleteFunc(kept, func(h audit.Head) bool { return h.Tenant != tenant })
	report.Heads = len(kept)
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
		checked, gaps, err := cover.Gaps(ctx, a.log, journal.Ref{Tenant: tenant, Conversation: id})
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

// conversations adds those that are in the journal's lists, archived ones too: the trail might not
// speak of them.
func (a *Auditor) conversations(ctx context.Context, tenant string, cover *audit.Cover) error {
	for _, archived := range []bool{false, true} {
		page := journal.Page{Limit: journal.PageMaxLimit, Archived: archived}
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
				break
			}
		}
	}
	return nil
}
