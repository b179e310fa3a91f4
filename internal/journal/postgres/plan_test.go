//go:build services

package postgres_test

import (
	"os"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// TestPlansOfEmptyTables has lists of tasks planned on tables that are empty yet, as the first
// connections of a new installation do, which keep the plan. Every lookup in another table must use
// a whole key.
func TestPlansOfEmptyTables(t *testing.T) {
	t.Parallel()
	generated, err := os.ReadFile("query/task.sql.go")
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, database(t), postgres.Role)
	for _, name := range []string{"newestTasks", "openTasks"} {
		_, rest, _ := strings.Cut(string(generated), "const "+name+" = `")
		sql, _, found := strings.Cut(rest, "`\n")
		if !found {
			t.Fatalf("there is no query %s", name)
		}
		query(t, conn, "set plan_cache_mode = force_generic_plan")
		query(t, conn, "prepare "+name+" as "+sql)
		plan := strings.Join(query(t, conn, "explain execute "+name+" ('acme', '2200-01-01', '', '', '', '', '', '', 0, 50)"), "\n")
		for _, cond := range []string{
			"(conversation_id = t.conversation_id) AND (seq = t.seq)",
			"(conversation_id = t.conversation_id) AND (key = (('end/'::text || t.task_id)))",
			"(tenant_id = t.tenant_id) AND (conversation_id = t.conversation_id) AND (agent_id = t.agent_id)",
		} {
			if !strings.Contains(plan, cond) {
				t.Errorf("%s looks for nothing by %s:\n%s", name, cond, plan)
			}
		}
		if strings.Contains(plan, "Join Filter") {
			t.Errorf("%s reads a table for each line:\n%s", name, plan)
		}
	}
}
