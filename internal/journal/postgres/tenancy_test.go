//go:build services

package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// global are the tables that belong to no tenant.
var global = []string{"goose_db_version"}

// connect opens a plain connection; as a role if one is named.
func connect(t *testing.T, dsn, role string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if role != "" {
		if _, err := conn.Exec(t.Context(), "set role "+role); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// TestCatalogue asks the database itself whether every table is closed to other tenants.
//
// Covers: P21.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	conn := connect(t, database(t), "")
	cases := []struct {
		name string
		// sql returns what breaks the rule.
		sql string
	}{
		{"row level security is enabled and forced", `
			select relname from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
			and not (relrowsecurity and (relforcerowsecurity or relname = 'messages'))`},
		{"a policy checks the tenant on reading and writing", `
			select relname from pg_class c where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
			and not exists (
				select from pg_policy p where p.polrelid = c.oid and p.polcmd = '*' and p.polpermissive
				and pg_get_expr(p.polqual, c.oid) like '(tenant_id = ( SELECT app_tenant() AS app_tenant))'
				and pg_get_expr(p.polwithcheck, c.oid) like '(tenant_id = ( SELECT app_tenant() AS app_tenant))')`},
		{"no other policy lets anything through but the sweeper's", `
			select polname || ' on ' || polrelid::regclass from pg_policy
			where polpermissive and polname <> 'tenant' and not (polname = 'sweep' and polrelid in ('mailbox'::regclass, 'tasks'::regclass) and polcmd = 'r')`},
		{"what belongs to a conversation is hidden with it", `
			select relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'conversation_id'
			where relkind = 'r' and relnamespace = 'public'::regnamespace and relname not in ('mailbox', 'private_conversations')
			and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'private' and not p.polpermissive and p.polcmd = 'r')`},
		{"tenant_id leads primary keys and unique indexes", `
			select indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indrelid
			where c.relnamespace = 'public'::regnamespace and (indisprimary or indisunique)
			and (select attname from pg_attribute a where a.attrelid = indrelid and a.attnum = indkey[0]) <> 'tenant_id'`},
		{"foreign keys carry the tenant", `
			select conname from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace
			and ((select attname from pg_attribute a where a.attrelid = conrelid and a.attnum = conkey[1]) <> 'tenant_id'
				or (select attname from pg_attribute a where a.attrelid = confrelid and a.attnum = confkey[1]) <> 'tenant_id')`},
		{"views ask with the rights of who asks", `
			select relname from pg_class where relkind in ('v', 'm') and relnamespace = 'public'::regnamespace
			and not coalesce(reloptions @> array['security_invoker=true'], false)`},
		{"no function runs with the rights of its owner but the search for keys", `
			select proname from pg_proc where pronamespace = 'public'::regnamespace and prosecdef
			and not (proname = 'search_messages' and proconfig @> array['search_path=public, pg_temp']
				and not has_function_privilege('public', oid, 'execute'))`},
		{"the program's role owns nothing and is nothing special", `
			select c.relname from pg_class c join pg_roles r on r.oid = c.relowner where r.rolname = 'retinue_app'
			union all select rolname from pg_roles where rolname = 'retinue_app'
			and (rolsuper or rolbypassrls or rolcreatedb or rolcreaterole or rolcanlogin)`},
		{"entries are never changed", `
			select grantee from information_schema.role_table_grants
			where table_name = 'entries' and privilege_type in ('UPDATE', 'TRUNCATE') and grantee = 'retinue_app'`},
	}
	for _, c := range cases {
		var broken []string
		for _, name := range query(t, conn, c.sql) {
			if !strings.HasPrefix(name, global[0]) {
				broken = append(broken, name)
			}
		}
		if len(broken) > 0 {
			t.Errorf("%s: not so for %s", c.name, strings.Join(broken, ", "))
		}
	}
	if n := len(query(t, conn, `select relname from pg_class where relkind = 'r' and relrowsecurity`)); n != 17 {
		t.Errorf("%d tables are closed; the test was written for 17", n)
	}
}

// TestCatalogueNotices opens a hole of each kind and looks for it, so that TestCatalogue is known
// to see them.
func TestCatalogueNotices(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	conn := connect(t, dsn, "")
	if _, err := conn.Exec(t.Context(), `create table loose (id text primary key)`); err != nil {
		t.Fatal(err)
	}
	got := query(t, conn, `select relname from pg_class where relkind = 'r'
		and relnamespace = 'public'::regnamespace and not relforcerowsecurity order by 1`)
	if diff := cmp.Diff([]string{"goose_db_version", "loose", "messages"}, got); diff != "" {
		t.Errorf("open tables (+) against the wanted (-):\n%s", diff)
	}
}

// TestTenantEndsWithItsTransaction tries every way to make a tenant outlive its transaction.
//
// Covers: P21.
func TestTenantEndsWithItsTransaction(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	log := open(t, dsn)
	for _, tenant := range []string{"acme", "zeta"} {
		at := journal.Ref{Tenant: tenant, Conversation: "c"}
		if _, err := log.Append(t.Context(), at, time.UnixMilli(1), journal.Opened{By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	conn := connect(t, dsn, postgres.Role)
	count := func(table string) string {
		return query(t, conn, "select count(*) from "+table)[0]
	}
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const now = `extract(epoch from now())::text`
	local := func(tenant, lasting string) string {
		return fmt.Sprintf("select set_config('app.tenant', '%s', %s), set_config('app.began', %s, %s)",
			tenant, lasting, now, lasting)
	}
	for _, sql := range []string{
		"set app.tenant = 'acme'",
		"set app.tenant = '*'",
		"set app.tenant = 'acme'; set app.began = ''",
		"select set_config('app.tenant', 'acme', false)",
		local("acme", "false"),
		local("*", "false"),
		"begin; " + local("acme", "true") + "; commit",
		"begin; " + local("acme", "false") + "; commit",
	} {
		exec(sql)
		for _, table := range []string{"conversations", "entries", "records", "mailbox"} {
			if n := count(table); n != "0" {
				t.Errorf("after %q %s shows %s rows, want none", sql, table, n)
			}
		}
	}
	exec("begin; " + local("acme", "true"))
	if got := query(t, conn, "select tenant_id from conversations"); len(got) != 1 || got[0] != "acme" {
		t.Errorf("inside the transaction it sees %v, want acme", got)
	}
	exec("savepoint a")
	for _, sql := range []string{
		"insert into texts values ('zeta', 'c', 'h', 't')",
		"update conversations set tenant_id = 'zeta'",
		"update entries set key = 'x'",
		"alter table entries disable row level security",
		"truncate entries",
		"set role postgres",
	} {
		_, err := conn.Exec(t.Context(), sql)
		if err == nil && sql != "set role postgres" {
			t.Errorf("%q went through", sql)
		}
		exec("rollback to savepoint a")
	}
	exec("commit")
}

// TestSweeperSeesOnlyTheMailbox takes the tenant that means all. It sees posted mail and working
// tasks.
func TestSweeperSeesOnlyTheMailbox(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	log := open(t, dsn)
	at := journal.Ref{Tenant: "acme", Conversation: "c"}
	root, sub := journal.In{Agent: "main", Task: "main"}, journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	rows := []journal.Row{
		journal.Opened{By: "ann"},
		journal.MailPosted{ID: "1", Topic: "message"},
		journal.TaskAssigned{In: root, Role: "main"},
		journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusRunning},
		journal.TaskAssigned{In: sub, Role: "coder", Parent: "main", Depth: 1},
		journal.TaskEnded{In: sub, Status: chat.StatusCompleted},
	}
	if _, err := log.Append(t.Context(), at, time.UnixMilli(1), rows...); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, dsn, postgres.Role)
	if _, err := conn.Exec(t.Context(),
		"begin; select set_config('app.tenant', '*', true), set_config('app.began', extract(epoch from now())::text, true)"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, table := range query(t, conn, `select relname from pg_class where relrowsecurity order by 1`) {
		got = append(got, table+" "+query(t, conn, "select count(*) from "+table)[0])
	}
	want := []string{
		"agents 0", "approvals 0", "conversations 0", "entries 0", "grants 0", "keys 0", "leases 0", "mailbox 1", "messages 0",
		"model_calls 0", "private_conversations 0", "questions 0", "spending 0", "tasks 1", "texts 0", "tombstones 0", "tool_calls 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows seen (+) against the wanted (-):\n%s", diff)
	}
	if tag, err := conn.Exec(t.Context(), "delete from mailbox"); err != nil || tag.RowsAffected() != 0 {
		t.Errorf("the sweeper deleted %d posts, %v", tag.RowsAffected(), err)
	}
	if tag, err := conn.Exec(t.Context(), "update tasks set status = 'failed'"); err != nil || tag.RowsAffected() != 0 {
		t.Errorf("the sweeper changed %d tasks, %v", tag.RowsAffected(), err)
	}
}

// TestOpenRefusesPowerfulRoles connects as somebody whom the policies do not bind, and with
// settings under which a commit may be lost.
func TestOpenRefusesPowerfulRoles(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	cases := []struct{ name, dsn, role string }{
		{"superuser", dsn, ""},
		{"no durability", dsn + "&options=-csynchronous_commit%3Doff", postgres.Role},
	}
	for _, c := range cases {
		log, err := postgres.Open(t.Context(), postgres.Options{DSN: c.dsn, Role: c.role})
		if chat.CodeOf(err) != chat.CodeDenied {
			t.Errorf("%s: error is %v, want a refusal", c.name, err)
		}
		if log != nil {
			log.Close()
		}
	}
	owner := fmt.Sprintf("retinue_owner_%d", time.Now().UnixNano())
	conn := connect(t, dsn, "")
	for _, sql := range []string{"create role " + owner, "alter table mailbox owner to " + owner} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, sql := range []string{"reassign owned by " + owner + " to current_user", "drop role " + owner} {
			if _, err := conn.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Role: owner}); chat.CodeOf(err) != chat.CodeDenied {
		t.Errorf("an owner of tables: error is %v, want a refusal", err)
	}
}

// TestMigrateAtOnce has several programs bring the same empty database up to date.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	conn := connect(t, dsn, "")
	if _, err := conn.Exec(t.Context(), "drop schema public cascade; create schema public"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := postgres.Migrate(t.Context(), dsn); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	files, err := os.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	if n := query(t, conn, "select count(*) from goose_db_version where version_id > 0")[0]; n != strconv.Itoa(len(files)) {
		t.Errorf("%s migrations are recorded, want %d", n, len(files))
	}
}
