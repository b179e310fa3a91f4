package archtest

import (
	"strings"
	"testing"
)

func TestImports(t *testing.T) { fail(t, Imports(repository(t), Rules)) }

func TestModules(t *testing.T) { fail(t, Modules(repository(t))) }

// broken breaks each rule once: the rule, a file, and the import in it that must be refused.
var broken = []struct{ rule, file, imports string }{
	{"chat is the leaf", "internal/chat/a.go", "./internal/agent"},
	{"chat is the leaf", "internal/chat/a.go", "github.com/google/uuid"},
	{"the core sees only chat", "internal/agent/a.go", "./internal/journal"},
	{"the core sees only chat", "internal/agent/limits/a.go", "github.com/google/uuid"},
	{"the core does no IO", "internal/agent/a.go", "time"},
	{"the core does no IO", "internal/agent/a.go", "math/rand/v2"},
	{"the core does no IO", "internal/agent/a.go", "context"},
	{"the core does no IO", "internal/chat/a.go", "net/http"},
	{"test support stays near the core", "internal/agent/sim/a.go", "./internal/durable"},
	{"test support does not ship", "internal/agent/a.go", "./internal/agent/sim"},
	{"test support does not ship", "internal/durable/a.go", "./internal/agent/mutants"},
	{"test support does not ship", "internal/app/a.go", "./internal/journal/journaltest"},
	{"test support does not ship", "internal/app/a.go", "./internal/live/livetest"},
	{"test support does not ship", "internal/cli/a.go", "./internal/supply"},
	{"a port sees only chat", "internal/journal/a.go", "./internal/live"},
	{"a journal adapter sees only its port", "internal/journal/sqlite/a.go", "./internal/journal/postgres"},
	{"an adapter of people sees only its port", "internal/people/oidc/a.go", "./internal/people/postgres"},
	{"a live adapter sees only its port", "internal/live/nats/a.go", "./internal/journal"},
	{"a model adapter sees only its port", "internal/model/openai/a.go", "./internal/app"},
	{"a tool adapter sees only its port", "internal/tool/builtin/a.go", "./internal/durable"},
	{"the shell also reads lines", "internal/tool/shell/a.go", "./internal/tool/builtin"},
	{"servers of tools are confined", "internal/tool/mcp/a.go", "./internal/durable"},
	{"worktree knows git and the port to tools", "internal/worktree/a.go", "./internal/journal"},
	{"a host knows agents by name", "internal/host/a.go", "./internal/leg"},
	{"a leg hosts the core over the ports", "internal/leg/a.go", "./internal/durable"},
	{"durable has the engine run legs", "internal/durable/a.go", "./internal/model"},
	{"api speaks HTTP over journal and live", "internal/api/a.go", "./internal/durable"},
	{"admission knows no route", "internal/api/admission/a.go", "./internal/api/route"},
	{"the table of routes knows none", "internal/api/route/a.go", "./internal/api/watch"},
	{"identity knows who calls", "internal/api/identity/a.go", "./internal/journal"},
	{"watch only reads", "internal/api/watch/a.go", "./internal/api"},
	{"admin leaves conversations alone", "internal/api/admin/a.go", "./internal/api/watch"},
	{"export knows no other route", "internal/api/export/a.go", "./internal/live"},
	{"database sees only chat", "internal/database/a.go", "./internal/journal"},
	{"audit sees the journal", "internal/audit/a.go", "./internal/database"},
	{"audit sees the journal", "internal/audit/a.go", "github.com/google/uuid"},
	{"webhook sees the journal", "internal/webhook/a.go", "./internal/api"},
	{"deletion goes the way of commands", "internal/deletion/a.go", "./internal/durable"},
	{"stores beside the journal see their port", "internal/audit/store/a.go", "./internal/journal/sqlite"},
	{"tests of the api share a server in memory", "internal/api/apitest/a.go", "./internal/journal/sqlite"},
	{"a bridge speaks another wire to the api", "internal/bridge/a2a/a.go", "./internal/bridge/openai"},
	{"a bridge speaks another wire to the api", "internal/bridge/a.go", "./internal/durable"},
	{"progress reads journal and live", "internal/progress/a.go", "./internal/durable"},
	{"sandbox and egress see only chat", "internal/sandbox/a.go", "./internal/egress"},
	{"sandbox and egress see only chat", "internal/egress/a.go", "./internal/tool"},
	{"telemetry sees nothing", "internal/telemetry/a.go", "./internal/chat"},
	{"only telemetry speaks to collectors", "internal/durable/a.go", "go.opentelemetry.io/otel/trace"},
	{"only telemetry speaks to collectors", "internal/app/a.go", "github.com/prometheus/client_golang/prometheus"},
	{"secret sees nothing", "internal/secret/a.go", "./internal/chat"},
	{"seal sees nothing", "internal/seal/a.go", "./internal/chat"},
	{"config is plain data", "internal/config/a.go", "./internal/model"},
	{"only app and its rooms import adapters", "standalone/a.go", "./internal/journal/sqlite"},
	{"only app and its rooms import adapters", "internal/durable/a.go", "./internal/model/scripted"},
	{"only the journal's databases read its tables", "internal/app/a.go", "./internal/journal/tables"},
	{"settings are known by config, app and the commands", "internal/api/a.go", "./internal/config"},
	{"doctor opens no part itself", "internal/doctor/a.go", "./internal/sandbox"},
	{"only durable imports the engine's SDK", "internal/api/a.go", "go.temporal.io/sdk/client"},
	{"only durable imports the engine's SDK", "internal/app/a_test.go", "go.temporal.io/sdk/testsuite"},
	{"measure sees nothing", "internal/measure/a.go", "./internal/chat"},
	{"test support does not ship", "internal/journal/sqlite/a.go", "./internal/measure"},
	{"only journal adapters know SQL", "internal/journal/a.go", "database/sql"},
	{"only journal adapters know SQL", "internal/api/a_test.go", "github.com/jackc/pgx/v5"},
	{"only journal adapters know SQL", "standalone/a.go", "github.com/jackc/pgx/v5"},
	{"the engine knows nothing of agents", "standalone/engine/a.go", "./internal/app"},
	{"app is the top of internal", "internal/app/a.go", "./internal/cli"},
	{"app is the top of internal", "internal/app/a.go", "./internal/local"},
	{"local is a node with its engine", "internal/local/a.go", "./internal/durable"},
	{"cast knows roles and models", "internal/cast/a.go", "./internal/toolbox"},
	{"toolbox knows what agents work with", "internal/toolbox/a.go", "./internal/api"},
	{"listener knows who comes in", "internal/listener/a.go", "./internal/api"},
	{"a command goes through cli and app", "cmd/retinue/a.go", "./internal/durable"},
	{"what commands share knows no command and no app", "internal/cli/remote/a.go", "./internal/app"},
	{"what commands share knows no command and no app", "internal/cli/mcptask/a.go", "./internal/cli/settings"},
	{"tui is a client", "internal/tui/a.go", "./internal/journal"},
	{"client knows only the wire", "client/a.go", "./internal/chat"},
	{"wire sees nothing", "wire/a.go", "./internal/chat"},
	{"wire sees nothing", "wire/a.go", "github.com/danielgtaylor/huma/v2"},
	{"events says the journal in words of the wire", "internal/events/a.go", "./internal/api"},
	{"web knows only the wire", "web/a.go", "./internal/api"},
	{"nothing imports standalone", "internal/cli/a.go", "./standalone"},
	{"nothing imports standalone", "internal/durable/a_test.go", "go.temporal.io/server/temporal"},
	{"archtest imports nothing of ours", "internal/archtest/a.go", "./internal/chat"},
	{"test libraries stay in tests", "internal/chat/a.go", "pgregory.net/rapid"},
	{"test libraries stay in tests", "internal/api/a.go", "github.com/zitadel/oidc/v3/pkg/op"},
	{"test libraries stay in tests", "internal/live/nats/a.go", "github.com/nats-io/nats-server/v2/server"},
}

func TestEachImportRuleRefusesWhatBreaksIt(t *testing.T) {
	shown := map[string]bool{}
	for _, b := range broken {
		shown[b.rule] = true
		t.Run(b.file+" imports "+b.imports, func(t *testing.T) {
			tree := sketch(t, map[string]string{b.file: importing(b.imports)})
			for _, v := range Imports(tree, Rules) {
				if v.Rule == b.rule {
					for _, part := range []string{b.file + ":3:", b.imports, b.rule, v.Why} {
						if !strings.Contains(v.String(), part) {
							t.Errorf("message lacks %q:\n%s", part, v)
						}
					}
					return
				}
			}
			t.Errorf("not refused by %q", b.rule)
		})
	}
	for _, r := range Rules {
		if !shown[r.Name] || r.Why == "" {
			t.Errorf("rule %q lacks a reason or an example that breaks it", r.Name)
		}
	}
}

func TestWhatTheRulesAllowIsLeftAlone(t *testing.T) {
	for file, imports := range map[string]string{
		"internal/chat/a.go":                    "strings",
		"internal/agent/a.go":                   "./internal/chat",
		"internal/agent/a_test.go":              "time",
		"internal/agent/c_test.go":              "./internal/measure",
		"internal/journal/journaltest/m.go":     "./internal/measure",
		"internal/agent/b_test.go":              "./internal/agent/sim",
		"internal/agent/sim/a.go":               "math/rand/v2",
		"internal/agent/mutants/a.go":           "./internal/agent/sim",
		"internal/journal/postgres/a.go":        "github.com/jackc/pgx/v5",
		"internal/journal/postgres/b.go":        "./internal/journal/postgres/queries",
		"internal/journal/postgres/c_test.go":   "./internal/journal/journaltest",
		"internal/durable/a.go":                 "go.temporal.io/sdk/workflow",
		"internal/api/a_test.go":                "./internal/agent",
		"internal/app/a.go":                     "./internal/people/oidc",
		"internal/cast/a.go":                    "./internal/model/anthropic",
		"internal/toolbox/a.go":                 "./internal/tool/web",
		"internal/local/a.go":                   "./internal/app",
		"internal/listener/a.go":                "./internal/config",
		"internal/cli/a.go":                     "./internal/app",
		"cmd/retinue/main.go":                   "./internal/cli",
		"standalone/main.go":                    "go.temporal.io/server/temporal",
		"standalone/up.go":                      "./internal/cli",
		"standalone/engine/a.go":                "github.com/jackc/pgx/v5",
		"internal/archtest/report/main.go":      "./internal/archtest",
		"internal/agent/testdata/ignored/a.go":  "time",
		"web/node_modules/some/package/code.go": "./internal/app",
	} {
		tree := sketch(t, map[string]string{file: importing(imports)})
		fail(t, Imports(tree, Rules))
	}
}

func TestStandaloneMustBeItsOwnModule(t *testing.T) {
	const main = "package main\n"
	found := Modules(sketch(t, map[string]string{"standalone/main.go": main}))
	if len(found) != 1 || !strings.Contains(found[0].String(), ownModule["standalone"]) {
		t.Errorf("got %v, want one refusal with its reason", found)
	}
	own := "module example.com/m/standalone\n"
	fail(t, Modules(sketch(t, map[string]string{"standalone/main.go": main, "standalone/go.mod": own})))
}
