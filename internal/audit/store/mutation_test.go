package store

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	mutations = flag.Int("mutations", 300, "how many random mutations each store gets")
	seedFlag  = flag.Uint64("seed", 0, "seed of the mutations; zero draws one")
)

// inTransaction reads a chain as it is inside a transaction that will be rolled back.
type inTransaction struct{ tx *sql.Tx }

func (r inTransaction) Read(ctx context.Context, tenant string, after int64, limit int) ([]audit.Entry, error) {
	return read(ctx, r.tx, tenant, after, limit)
}

// fill writes chains of three tenants at once, through a trail, and returns the heads.
func fill(t *testing.T, s *Store, rows int) map[string]audit.Head {
	t.Helper()
	trail := audit.NewTrail(s, time.Now)
	var group sync.WaitGroup
	tenants := []string{"acme", "acmf", "zeta"}
	for _, tenant := range tenants {
		for i := range rows {
			group.Go(func() {
				r := audit.Record{
					Action: audit.ActionDecide, Outcome: audit.Accepted, Actor: audit.Actor{User: "ann", Credential: "key_1", Source: "api"},
					Conversation: fmt.Sprintf("c%d", i%7), Object: fmt.Sprintf("main/1.%d#2.1", i), Digest: fmt.Sprintf("%064x", i),
					Detail: "allow=true scope=once", Key: fmt.Sprintf("%s-%d", tenant, i),
				}
				if err := trail.Write(t.Context(), tenant, r); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	heads := map[string]audit.Head{}
	for _, tenant := range tenants {
		head, err := audit.Verify(t.Context(), s, tenant, nil, nil)
		if err != nil || head.Seq != int64(rows) {
			t.Fatalf("a chain that nobody touched: %d entries, %v", head.Seq, err)
		}
		heads[tenant] = head
	}
	return heads
}

// columnsOf are all columns of an entry and how they are broken: text, number or bytes.
var columnsOf = []struct{ name, kind string }{
	{"tenant_id", "text"},
	{"seq", "number"},
	{"at_ms", "number"},
	{"action", "text"},
	{"outcome", "text"},
	{"actor", "text"},
	{"credential", "text"},
	{"source", "text"},
	{"conversation_id", "text"},
	{"object", "text"},
	{"digest", "text"},
	{"detail", "text"},
	{"dedup", "text"},
	{"hash", "bytes"},
}

// mutator breaks a chain in one way. It describes the break; tail means that only a kept head shows
// it.
type mutator struct {
	*rand.Rand
	t    *testing.T
	tx   *sql.Tx
	rows int64
}

func (m mutator) exec(statement string, args ...any) int64 {
	m.t.Helper()
	result, err := m.tx.ExecContext(m.t.Context(), statement, args...)
	if err != nil {
		m.t.Fatalf("%s: %v", statement, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

func (m mutator) pick() int64 { return 1 + m.Int64N(m.rows) }

// flip changes one byte of a text to another printable one.
func (m mutator) flip(text string) string {
	if text == "" {
		return "x"
	}
	b := []byte(text)
	i := m.IntN(len(b))
	for before := b[i]; b[i] == before; {
		b[i] = byte('a' + m.IntN(26))
	}
	return string(b)
}

func (m mutator) change() string {
	seq, column := m.pick(), columnsOf[m.IntN(len(columnsOf))]
	var err error
	at := "select " + column.name + " from audit_rows where tenant_id = 'acme' and seq = $1"
	set := "update audit_rows set " + column.name + " = $1 where tenant_id = 'acme' and seq = $2"
	switch column.kind {
	case "text":
		var value string
		err = m.tx.QueryRowContext(m.t.Context(), at, seq).Scan(&value)
		value = m.flip(value)
		if column.name == "tenant_id" {
			value += "x" // where no entry of this number is
		}
		m.exec(set, value, seq)
	case "number":
		var value int64
		err = m.tx.QueryRowContext(m.t.Context(), at, seq).Scan(&value)
		if column.name == "seq" {
			value += m.rows // where none is
		}
		m.exec(set, value+1+m.Int64N(1000), seq)
	case "bytes":
		var value []byte
		err = m.tx.QueryRowContext(m.t.Context(), at, seq).Scan(&value)
		value[m.IntN(len(value))] ^= 1 << m.IntN(8)
		m.exec(set, value, seq)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return "change " + column.name
}

func (m mutator) remove() string {
	m.exec("delete from audit_rows where tenant_id = 'acme' and seq = $1", m.pick())
	return "delete"
}

// insert adds an entry: after the last, or in the middle with all later ones moved up, with a hash
// that was made up, copied, or computed for its place.
func (m mutator) insert() string {
	seq := m.pick()
	m.exec("update audit_rows set seq = seq + 1000001 where tenant_id = 'acme' and seq >= $1", seq)
	m.exec("update audit_rows set seq = seq - 1000000 where tenant_id = 'acme' and seq > 1000000")
	from := seq - 1
	if seq == 1 {
		from = 2
	}
	m.exec("insert into audit_rows (tenant_id, "+columns+") select tenant_id, "+fmt.Sprint(seq)+", at_ms, action, outcome, actor,"+
		" credential, source, conversation_id, object, digest, detail, dedup || 'x', hash from audit_rows where tenant_id = 'acme' and seq = $1", from)
	if m.IntN(2) == 0 {
		m.rehash(seq, seq)
		return "insert with a hash that fits"
	}
	return "insert"
}

// swap exchanges two entries, all but their numbers.
func (m mutator) swap() string {
	a := 1 + m.Int64N(m.rows-1)
	b := a + 1 + m.Int64N(m.rows-a)
	m.exec("update audit_rows set seq = 1000000 + case seq when $1 then $2 else $1 end where tenant_id = 'acme' and seq in ($1, $2)", a, b)
	m.exec("update audit_rows set seq = seq - 1000000 where tenant_id = 'acme' and seq > 1000000")
	return "swap"
}

// reorder turns a stretch around, all but the numbers.
func (m mutator) reorder() string {
	a := 1 + m.Int64N(m.rows-2)
	b := a + 2 + m.Int64N(m.rows-a-1)
	m.exec("update audit_rows set seq = 1000000 + $1 + $2 - seq where tenant_id = 'acme' and seq between $1 and $2", a, b)
	m.exec("update audit_rows set seq = seq - 1000000 where tenant_id = 'acme' and seq > 1000000")
	return "reorder"
}

func (m mutator) truncate() string {
	m.exec("delete from audit_rows where tenant_id = 'acme' and seq >= $1", m.pick())
	return "truncate"
}

// replace swaps an entry for another tenant's.
func (m mutator) replace() string {
	seq := m.pick()
	m.exec("delete from audit_rows where tenant_id = 'acme' and seq = $1", seq)
	m.exec("update audit_rows set tenant_id = 'acme' where tenant_id = 'acmf' and seq = $1", seq)
	return "replace with another tenant's"
}

// rewrite changes an entry and computes the chain anew from there on, as the owner of the database
// can.
func (m mutator) rewrite() string {
	seq := m.pick()
	m.exec("update audit_rows set actor = 'eve' where tenant_id = 'acme' and seq = $1", seq)
	m.rehash(seq, m.rows)
	return "rewrite with hashes that fit"
}

func (m mutator) rehash(from, to int64) {
	entries, err := read(m.t.Context(), m.tx, "acme", 0, 1<<20)
	if err != nil {
		m.t.Fatal(err)
	}
	prev := audit.Origin("acme")
	for _, e := range entries {
		if e.Seq >= from && e.Seq <= to {
			sum := audit.Sum("acme", prev, e)
			m.exec("update audit_rows set hash = $1 where tenant_id = 'acme' and seq = $2", sum[:], e.Seq)
			e.Hash = sum
		}
		prev = e.Hash
	}
}

// mutate breaks chains in random ways, each in a transaction that is rolled back, and counts the
// findings of Verify. Disarm turns off the triggers that would refuse the changes.
func mutate(t *testing.T, db *sql.DB, heads map[string]audit.Head, disarm ...string) {
	seed := measure.Seed(t, *seedFlag)
	random := rand.New(rand.NewPCG(seed, 0))
	done, missed, alone := map[string]int{}, 0, 0
	for range *mutations {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		m := mutator{Rand: random, t: t, tx: tx, rows: heads["acme"].Seq}
		for _, statement := range disarm {
			m.exec(statement)
		}
		ways := []func() string{m.change, m.change, m.change, m.change, m.remove, m.insert, m.swap, m.reorder, m.truncate, m.replace, m.rewrite}
		what := ways[random.IntN(len(ways))]()
		done[what]++
		reader := inTransaction{tx}
		if _, err := audit.Verify(t.Context(), reader, "acme", nil, nil); isBroken(err) {
			alone++
		}
		_, err = audit.Verify(t.Context(), reader, "acme", []audit.Head{heads["acme"]}, nil)
		if !isBroken(err) {
			missed++
			t.Errorf("%s was not noticed: %v", what, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	measure.Figure(t, "audit: %s: %d mutations, %d found with a kept head, %d without", t.Name(), *mutations, *mutations-missed, alone)
	t.Log(done)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	for tenant, head := range heads {
		if _, err := audit.Verify(t.Context(), inTransaction{tx}, tenant, []audit.Head{head}, nil); err != nil {
			t.Errorf("the chain of %s after all was rolled back: %v", tenant, err)
		}
	}
}

// alone returns the time of an entry for its writer.
func alone(t *testing.T, trail *audit.Trail, tenant string) {
	t.Helper()
	var took []time.Duration
	for i := range 200 {
		began := time.Now()
		if err := trail.Write(t.Context(), tenant, audit.Record{Action: audit.ActionPost, Key: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("one entry at a time: p50 %s, p99 %s", took[len(took)/2], took[len(took)*99/100])
}

func isBroken(err error) bool {
	_, ok := errors.AsType[*audit.Broken](err)
	return ok
}

func TestMutationsOfAFile(t *testing.T) {
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the test is over
	alone(t, audit.NewTrail(s, time.Now), "alone")
	heads := fill(t, s, 60)
	for _, statement := range []string{
		"update audit_rows set actor = 'eve' where seq = 1", "delete from audit_rows where seq = 60",
	} {
		if _, err := s.db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s was let through", statement)
		}
	}
	mutate(t, s.db.DB, heads, "drop trigger audit_rows_stay", "drop trigger audit_rows_remain")
}

func TestAddIsOnce(t *testing.T) {
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the test is over
	keyed, plain := audit.Record{Action: "a", Outcome: audit.Accepted, Key: "k"}, audit.Record{Action: "b", Outcome: audit.Denied}
	for range 2 {
		if err := s.Add(t.Context(), "acme", time.Now(), []audit.Record{keyed, plain, keyed}); err != nil {
			t.Fatal(err)
		}
	}
	head, err := audit.Verify(t.Context(), s, "acme", nil, nil)
	if err != nil || head.Seq != 3 {
		t.Errorf("%d entries, want 3: %v", head.Seq, err)
	}
	if got, found, err := s.Find(t.Context(), "acme", "k"); !found || err != nil || got != keyed {
		t.Errorf("under the key: %+v, %t, %v", got, found, err)
	}
	if got, found, err := s.Find(t.Context(), "other", "k"); found || err != nil {
		t.Errorf("the key is another tenant's as well: %+v, %v", got, err)
	}
}
