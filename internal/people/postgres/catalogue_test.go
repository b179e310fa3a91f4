//go:build services

package postgres_test

import (
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	journal "github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/people/postgres"
)

// catalogue are queries to the database itself, each for objects that break a rule.
var catalogue = []struct{ name, sql string }{
	{"row level security is enabled and forced", `
		select relname from pg_class where relkind in ('r', 'p') and relnamespace = 'people'::regnamespace
		and not (relrowsecurity and relforcerowsecurity)`},
	{"a policy checks the tenant wherever there is one", `
		select relname from pg_class c where relkind in ('r', 'p') and relnamespace = 'people'::regnamespace
		and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
		and not exists (
			select from pg_policy p where p.polrelid = c.oid and p.polcmd = '*' and p.polpermissive
			and pg_get_expr(p.polqual, c.oid) like '(tenant_id = ( SELECT app_tenant() AS app_tenant))'
			and pg_get_expr(p.polwithcheck, c.oid) like '(tenant_id = ( SELECT app_tenant() AS app_tenant))')`},
	{"no other policy lets anything through but those that are listed here", `
		select polname || ' on ' || polrelid::regclass || ' for ' || polcmd::text from pg_policy p
		join pg_class c on c.oid = p.polrelid where c.relnamespace = 'people'::regnamespace and polname <> 'tenant'
		and (polname || ' on ' || polrelid::regclass || ' for ' || polcmd::text) not in (
			'self on people.members for r', 'invited on people.members for r', 'state on people.logins for *',
			'gone on people.logins for r', 'sweep on people.logins for d', 'everybody on people.changes for *',
			'sweep on people.deletions for r')`},
	{"tables without a tenant hold nothing of anybody's", `
		select relname from pg_class c where relkind in ('r', 'p') and relnamespace = 'people'::regnamespace
		and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
		and relname not in ('logins', 'changes')`},
	{"tenant_id leads primary keys and unique indexes", `
		select indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indrelid
		where c.relnamespace = 'people'::regnamespace and (indisprimary or indisunique) and c.relname not in ('logins', 'changes')
		and (select attname from pg_attribute a where a.attrelid = indrelid and a.attnum = indkey[0]) <> 'tenant_id'`},
	{"foreign keys carry the tenant", `
		select conname from pg_constraint where contype = 'f' and connamespace = 'people'::regnamespace
		and ((select attname from pg_attribute a where a.attrelid = conrelid and a.attnum = conkey[1]) <> 'tenant_id'
			or (select attname from pg_attribute a where a.attrelid = confrelid and a.attnum = confkey[1]) <> 'tenant_id')`},
	{"no function runs with the rights of its owner", `
		select proname from pg_proc where pronamespace = 'people'::regnamespace and prosecdef`},
	{"the program's role owns nothing", `
		select c.relname from pg_class c join pg_roles r on r.oid = c.relowner where r.rolname = 'retinue_app'`},
}

// TestCatalogue asks the database whether every table of people is closed to other tenants, then
// opens a hole of each kind that it must see.
//
// Covers: P21.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	conn := connect(t, database(t), "")
	broken := func() (out []string) {
		for _, c := range catalogue {
			for _, name := range query(t, conn, c.sql) {
				out = append(out, c.name+": not so for "+name)
			}
		}
		return out
	}
	if got := broken(); len(got) > 0 {
		t.Error(strings.Join(got, "\n"))
	}
	for _, hole := range []string{
		"alter table people.keys no force row level security",
		"alter table people.sessions disable row level security",
		"drop policy tenant on people.members",
		"create policy loose on people.members for select using (true)",
		"create table people.notes (id text primary key)",
		"create function people.all_of_it() returns bigint language sql security definer as 'select count(*) from people.keys'",
		"create unique index loose on people.members (email)",
	} {
		if _, err := conn.Exec(t.Context(), "begin; "+hole); err != nil {
			t.Fatal(err)
		}
		if len(broken()) == 0 {
			t.Errorf("nobody noticed: %s", hole)
		}
		if _, err := conn.Exec(t.Context(), "rollback"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTenantShowsNothingOfOthers looks at every table as the program's role, with every setting
// that a transaction can have.
func TestTenantShowsNothingOfOthers(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	ann, bob := person("ann"), person("bob")
	arrive(t, s, ann)
	arrive(t, s, bob)
	conn := connect(t, dsn, journal.Role)
	const now = `set_config('app.began', extract(epoch from now())::text, true)`
	for setting, want := range map[string]string{
		"select 1": "0 0",
		"select set_config('app.tenant', '*', true)":                                                      "0 0",
		"select set_config('app.shown', 'x', true)":                                                       "0 0",
		"select set_config('app.shown', '', true)":                                                        "0 0",
		"select set_config('app.shown', 'person:', true), " + now:                                         "0 0",
		"select set_config('app.shown', 'person:" + ann.ID() + "', false)":                                "0 0",
		"select set_config('app.shown', 'person:" + ann.ID() + "', true), " + now:                         "1 0",
		"select set_config('app.shown', 'email:" + ann.Email + "', true), " + now:                         "0 0",
		"select set_config('app.tenant', '" + bob.Home() + "', true), " + now:                             "1 1",
		"select set_config('app.tenant', '" + bob.Home() + "', false), set_config('app.began', '', true)": "0 0",
	} {
		if _, err := conn.Exec(t.Context(), "begin; "+setting); err != nil {
			t.Fatal(err)
		}
		got := query(t, conn, `select (select count(*) from people.members), ' ', (select count(*) from people.tenants)`)
		if strings.Join(got, "") != want {
			t.Errorf("after %q members and tenants show %q, want %q", setting, got, want)
		}
		if _, err := conn.Exec(t.Context(), "rollback"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTenantStoreRefusesPowerfulRoles connects as somebody whom the policies do not bind.
func TestTenantStoreRefusesPowerfulRoles(t *testing.T) {
	t.Parallel()
	s, err := postgres.Open(t.Context(), postgres.Options{DSN: database(t), Connections: 1})
	if chat.CodeOf(err) != chat.CodeDenied {
		t.Errorf("error is %v, want a refusal", err)
	}
	if s != nil {
		s.Close()
	}
}
