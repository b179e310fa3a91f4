package archtest

// edgeRules are those of technologies, of programs and of tests.
var edgeRules = []Rule{
	{
		Name: "only app and its rooms import adapters",
		From: []string{"./..."},
		Except: []string{
			"./internal/app", "./internal/cast", "./internal/local", "./internal/toolbox", "./internal/tool/shell",
			"./internal/api/apitest",
		},
		Deny:  adapters,
		Allow: []string{"./internal/journal/tables", "below"},
		Why:   "each technology is chosen in one place; everything else is handed a port",
	},
	{
		Name:   "only the journal's databases read its tables",
		From:   []string{"./..."},
		Except: []string{"./internal/journal/postgres", "./internal/journal/sqlite"},
		Deny:   []string{"./internal/journal/tables"},
		Why:    "what a line of a table means is of no concern behind the port",
	},
	{
		Name: "settings are known by config, app and the commands",
		From: []string{"./..."},
		Except: []string{
			"./internal/config/...", "./internal/doctor", "./internal/app", "./internal/cast", "./internal/listener",
			"./internal/local", "./internal/toolbox", "./internal/cli/...", "./cmd/...", "./standalone/...",
		},
		Deny: []string{"./internal/config/..."},
		Why:  "a part gets a small struct of its own, so a file format can change without it",
	},
	{
		Name:  "doctor opens no part itself",
		From:  []string{"./internal/doctor"},
		Deny:  []string{"./...", "other"},
		Allow: []string{"./internal/chat", "./internal/config/...", "./internal/secret"},
		Why:   "a check that opens a part in its own way shows nothing of what a server or a worker would do",
	},
	{
		Name:   "only durable imports the engine's SDK",
		From:   []string{"./..."},
		Except: []string{"./internal/durable/...", "./standalone/...", "./e2e/bench"},
		Deny:   []string{"go.temporal.io/..."},
		Tests:  true,
		Why: "the engine is an interpreter of effects; nothing else may depend on how it works but what " +
			"measures it",
	},
	{
		Name: "only journal adapters know SQL",
		From: []string{"./..."},
		Except: []string{
			"./internal/journal/*", "./internal/database", "./internal/audit/store", "./internal/people/postgres", "./internal/webhook/store", "./standalone/engine",
			"./e2e/bench",
		},
		Deny:  sqlDrivers,
		Tests: true,
		Why: "the journal is the only home of content, and its rows have one writer per kind; beside it are the audit trail and the " +
			"outbox of webhooks, and who is who; the engine keeps tables of its own",
	},
	{
		Name:   "only telemetry speaks to collectors",
		From:   []string{"./..."},
		Except: []string{"./internal/telemetry", "./standalone/..."},
		Deny:   []string{"go.opentelemetry.io/...", "github.com/prometheus/..."},
		Why:    "conventions that still change are known in one place, and exporters are turned on in one place",
	},
	{
		Name:  "the engine knows nothing of agents",
		From:  []string{"./standalone/engine"},
		Deny:  []string{"./..."},
		Allow: []string{"below"},
		Why:   "it is the server that others run as a cluster; a program that is given its address cannot tell",
	},
	{
		Name: "app is the top of internal",
		From: []string{"./internal/app"},
		Deny: []string{"./cmd/...", "./standalone/...", "./internal/cli/...", "./internal/local/...", "./internal/tui/..."},
		Why:  "commands build an app; an app does not know which command built it, nor who runs its engine",
	},
	{
		Name: "local is a node with its engine",
		From: []string{"./internal/local/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./client", "./internal/app", "./internal/config", "./internal/listener", "./internal/model/scripted", "./internal/secret",
		},
		Why: "an installation on one machine is wired as any other; nothing of a node is built here",
	},
	{
		Name: "cast knows roles and models",
		From: []string{"./internal/cast/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/agent", "./internal/api/admission", "./internal/bridge", "./internal/chat", "./internal/config/...", "./internal/host",
			"./internal/journal", "./internal/model", "./internal/model/anthropic", "./internal/model/openai", "./internal/secret",
			"./internal/tool", "./wire",
		},
		Why: "an agent's role and its model come from files; nothing that runs is needed to read them",
	},
	{
		Name: "toolbox knows what agents work with",
		From: []string{"./internal/toolbox/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/chat", "./internal/config/...", "./internal/egress", "./internal/host", "./internal/journal", "./internal/sandbox",
			"./internal/secret", "./internal/tool/...", "./internal/worktree",
		},
		Why: "what agents can do to a machine can be read without what they decide and where it is recorded",
	},
	{
		Name:  "listener knows who comes in",
		From:  []string{"./internal/listener/..."},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/api/identity", "./internal/config", "./internal/telemetry"},
		Why:   "how a server can be reached depends on nothing that it serves",
	},
	{
		Name: "a command goes through cli and app",
		From: []string{"./cmd/...", "./internal/cli/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/cli/...", "./internal/app", "./internal/agent/receipt", "./internal/chat", "./internal/config/...",
			"./internal/doctor", "./internal/local", "./internal/progress", "./internal/secret", "./internal/toolbox", "./internal/tui",
			"./client", "./wire",
		},
		Why: "flags become settings and settings become an app; nothing is wired by hand on the way",
	},
	{
		Name: "what commands share knows no command and no app",
		From: []string{"./internal/cli/exit", "./internal/cli/output", "./internal/cli/remote", "./internal/cli/mcptask"},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/cli/exit", "./internal/cli/output", "./internal/cli/remote", "./internal/chat", "./internal/progress", "./client",
			"./wire",
		},
		Why: "commands work with conversations over the API alone, wherever it is served",
	},
	{
		Name:  "tui is a client",
		From:  []string{"./internal/tui/..."},
		Deny:  []string{"./..."},
		Allow: []string{"./client", "below"},
		Why:   "there is one API, and the terminal gets no back door past it",
	},
	{
		Name:  "wire sees nothing",
		From:  []string{"./wire/..."},
		Deny:  []string{"./...", "other"},
		Allow: []string{"below"},
		Why:   "it is public data; a program that reads the API links the standard library and nothing else",
	},
	{
		Name:  "client knows only the wire",
		From:  []string{"./client/..."},
		Deny:  []string{"./...", "other"},
		Allow: []string{"./wire", "below"},
		Why:   "it is the public package; a program that imports it must not link the server",
	},
	{
		Name:  "web knows only the wire",
		From:  []string{"./web/..."},
		Deny:  []string{"./..."},
		Allow: []string{"below"},
		Why:   "its Go part embeds the built pages and nothing else",
	},
	{
		Name:   "nothing imports standalone",
		From:   []string{"./..."},
		Except: []string{"./standalone/..."},
		Deny:   []string{"./standalone/...", "go.temporal.io/server/..."},
		Tests:  true,
		Why:    "the embedded server is 450 modules: nobody pays for it who did not ask for it",
	},
	{
		Name:  "archtest imports nothing of ours",
		From:  []string{"./internal/archtest/..."},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/archtest/..."},
		Why:   "a judge that depends on the tree cannot judge it",
	},
	{
		Name:   "test libraries stay in tests",
		From:   []string{"./..."},
		Except: support,
		Deny: []string{
			"github.com/google/go-cmp/...", "github.com/nats-io/nats-server/...",
			"github.com/rogpeppe/go-internal/...", "github.com/santhosh-tekuri/jsonschema/...", "github.com/zitadel/oidc/...", "go.uber.org/goleak/...", "pgregory.net/rapid/...",
		},
		Why: "they are there to check programs, not to be part of one",
	},
}
