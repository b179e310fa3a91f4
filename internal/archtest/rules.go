package archtest

import "slices"

// Rule says what some packages must not import, and why.
//
// Patterns name packages. "./internal/agent" is one of ours, from the root of the repository;
// "./internal/agent/..." is it and all below, "./internal/agent/*" only what is below. "std" is the
// standard library, "other" is every other module, "below" (in Allow) is what lies under the
// importing package. Anything else is an import path, with the same two endings.
type Rule struct {
	Name   string
	From   []string // the packages the rule speaks of
	Except []string // those among them that it leaves alone
	Deny   []string // what they must not import
	Allow  []string // what they may import nevertheless
	Tests  bool     // whether test files must obey as well
	Why    string
}

var (
	// coreSupport are packages that exist to test the core.
	coreSupport = []string{"./internal/agent/sim/...", "./internal/agent/mutants/..."}

	// support are all packages that exist to test others; nothing that ships may lean on them.
	support = slices.Concat(coreSupport, []string{
		"./internal/api/apitest/...", "./internal/durable/history/...", "./internal/journal/journaltest/...",
		"./internal/journal/postgres/postgrestest/...", "./internal/live/livetest/...",
		"./internal/measure/...", "./internal/porttest/...", "./internal/sabotage/...", "./internal/supply/...",
		"./internal/tiers/...", "./internal/walls/...",
	})

	// adapters are the folders that each know one technology.
	adapters = []string{
		"./internal/audit/*", "./internal/journal/*", "./internal/live/*", "./internal/model/*", "./internal/people/*",
		"./internal/tool/*", "./internal/webhook/*",
	}

	// pure are the packages that decide: no IO, clock, randomness or concurrency.
	pure = []string{"./internal/chat/...", "./internal/agent/..."}

	// pureStd is all the pure packages may use of the standard library.
	pureStd = []string{
		"bytes", "cmp", "crypto/sha256", "encoding/hex", "encoding/json", "errors", "fmt", "iter",
		"maps", "math", "math/bits", "path", "regexp", "slices", "sort", "strconv", "strings",
		"unicode/...",
	}

	// sqlDrivers are the ways to reach a database.
	sqlDrivers = []string{
		"database/sql/...", "github.com/jackc/pgx/...", "github.com/lib/pq/...",
		"github.com/mattn/go-sqlite3/...", "github.com/ncruces/go-sqlite3/...",
		"github.com/pressly/goose/...", "modernc.org/sqlite/...",
	}
)

// Rules is the table: who may import what.
var Rules = slices.Concat(coreRules, outerRules, edgeRules)

var coreRules = []Rule{
	{
		Name:  "chat is the leaf",
		From:  []string{"./internal/chat/..."},
		Deny:  []string{"./...", "other"},
		Allow: []string{"below"},
		Why:   "every package shares this vocabulary, so it can lean on none of them",
	},
	{
		Name:   "the core sees only chat",
		From:   []string{"./internal/agent/..."},
		Except: coreSupport,
		Deny:   []string{"./...", "other"},
		Allow:  []string{"./internal/chat/...", "./internal/agent/..."},
		Why:    "decisions must not change when a database, an engine or a provider does",
	},
	{
		Name:   "the core does no IO",
		From:   pure,
		Except: coreSupport,
		Deny:   []string{"std"},
		Allow:  pureStd,
		Why:    "Step must answer the same on every replay: time, ids and results come in with events",
	},
	{
		Name:  "test support stays near the core",
		From:  coreSupport,
		Deny:  []string{"./...", "other"},
		Allow: []string{"./internal/chat/...", "./internal/agent/..."},
		Why:   "a simulator that needs the outer layers would be testing those instead",
	},
	{
		Name:   "test support does not ship",
		From:   []string{"./..."},
		Except: support,
		Deny:   support,
		Why:    "fault injection and broken variants of the core have no place in a program people run",
	},
}

var outerRules = []Rule{
	{
		Name:  "a port sees only chat",
		From:  []string{"./internal/journal", "./internal/live", "./internal/model", "./internal/people", "./internal/tool"},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat"},
		Why:   "a port says what is needed; who fills it, and who calls it, is not its concern",
	},
	{
		Name:  "a journal adapter sees only its port",
		From:  []string{"./internal/journal/*"},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat", "./internal/journal", "./internal/measure", "below"},
		Why:   "adapters that do not know each other can be replaced one at a time",
	},
	{
		Name:  "an adapter of people sees only its port",
		From:  []string{"./internal/people/*"},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat", "./internal/people", "below"},
		Why:   "adapters that do not know each other can be replaced one at a time",
	},
	{
		Name:  "a live adapter sees only its port",
		From:  []string{"./internal/live/*"},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat", "./internal/live", "below"},
		Why:   "adapters that do not know each other can be replaced one at a time",
	},
	{
		Name:  "a model adapter sees only its port",
		From:  []string{"./internal/model/*"},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat", "./internal/model", "below"},
		Why:   "adapters that do not know each other can be replaced one at a time",
	},
	{
		Name:   "a tool adapter sees only its port",
		From:   []string{"./internal/tool/*"},
		Except: []string{"./internal/tool/shell", "./internal/tool/mcp/..."},
		Deny:   []string{"./..."},
		Allow:  []string{"./internal/chat", "./internal/tool", "./internal/sandbox", "below"},
		Why: "adapters that do not know each other can be replaced one at a time; what is protected is listed " +
			"once, where programs are kept from it",
	},
	{
		Name: "the shell also reads lines",
		From: []string{"./internal/tool/shell"},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/chat", "./internal/tool", "./internal/tool/command", "./internal/sandbox",
		},
		Why: "what a line runs is read in one place, for rules, for receipts and for what an approval is bound to",
	},
	{
		Name:  "worktree knows git and the port to tools",
		From:  []string{"./internal/worktree/..."},
		Deny:  []string{"./...", "other"},
		Allow: []string{"./internal/chat", "./internal/tool", "below"},
		Why:   "what is run on untrusted files is kept in one place, and can be read in one sitting",
	},
	{
		Name: "servers of tools are confined",
		From: []string{"./internal/tool/mcp/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/chat", "./internal/egress", "./internal/sandbox", "./internal/tool", "below",
		},
		Why: "a program that others wrote runs in the sandbox and reaches what its gate allows, and nobody can leave that out",
	},
	{
		Name: "a host knows agents by name",
		From: []string{"./internal/host/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/agent", "./internal/agent/receipt", "./internal/chat", "./internal/journal", "./internal/model", "./internal/tool",
			"./internal/host/...",
		},
		Why: "what is shared by all agents of a worker is told which one is meant, and holds nothing of a leg",
	},
	{
		Name: "a leg hosts the core over the ports",
		From: []string{"./internal/leg/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/agent", "./internal/agent/receipt", "./internal/chat", "./internal/host", "./internal/journal",
			"./internal/live", "./internal/model", "./internal/tool", "./internal/leg/...",
		},
		Why: "what carries agents on is told what it needs; it knows no engine, no adapter, no setting and no HTTP",
	},
	{
		Name: "durable has the engine run legs",
		From: []string{"./internal/durable/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/agent", "./internal/chat", "./internal/host", "./internal/journal", "./internal/leg", "./internal/durable/...",
		},
		Why: "what knows the engine knows neither models nor tools: what an agent does is the leg's",
	},
	{
		Name:   "api speaks HTTP over journal and live",
		From:   []string{"./internal/api/..."},
		Except: []string{"./internal/api/apitest"},
		Deny:   []string{"./..."},
		Allow: []string{
			"./internal/audit", "./internal/chat", "./internal/journal", "./internal/live", "./internal/people", "./internal/webhook",
			"./internal/api/...",
		},
		Why: "commands leave through an interface api declares; the engine behind it is app's choice",
	},
	{
		Name:  "database sees only chat",
		From:  []string{"./internal/database/..."},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat"},
		Why:   "it opens what others fill; whose tables they are is not its concern",
	},
	{
		Name:  "audit sees the journal",
		From:  []string{"./internal/audit"},
		Deny:  []string{"./...", "other"},
		Allow: []string{"./internal/chat", "./internal/journal"},
		Why:   "what is held against the journal must know its rows, and be readable alone",
	},
	{
		Name:  "webhook sees the journal",
		From:  []string{"./internal/webhook"},
		Deny:  []string{"./...", "other"},
		Allow: []string{"./internal/chat", "./internal/journal"},
		Why:   "what is sent is made of entries, by a function that app hands in; where it may go is decided by the client it is given",
	},
	{
		Name:  "deletion goes the way of commands",
		From:  []string{"./internal/deletion"},
		Deny:  []string{"./...", "other"},
		Allow: []string{"./internal/audit", "./internal/chat", "./internal/journal", "./internal/people"},
		Why:   "what a person deletes and what goes by itself take one way, which app hands in",
	},
	{
		Name:  "stores beside the journal see their port",
		From:  []string{"./internal/audit/*", "./internal/webhook/*"},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/audit", "./internal/chat", "./internal/database", "./internal/seal", "./internal/webhook"},
		Why:   "adapters that do not know each other can be replaced one at a time",
	},
	{
		Name: "tests of the api share a server in memory",
		From: []string{"./internal/api/apitest/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/chat", "./internal/journal", "./internal/journal/journaltest", "./internal/live", "./internal/api",
		},
		Why: "a server that tests start has no engine and no database of its own",
	},
	{
		Name: "a bridge speaks another wire to the api",
		From: []string{"./internal/bridge/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/api", "./internal/bridge", "./internal/chat", "./internal/journal", "./internal/live", "./internal/progress",
		},
		Why: "a client that comes over it goes through the same door and brings the same commands; no bridge knows another",
	},
	{
		Name: "progress reads journal and live",
		From: []string{"./internal/progress/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/agent", "./internal/agent/receipt", "./internal/chat", "./internal/journal",
			"./internal/live",
		},
		Why: "what people are shown is a fold of what is recorded; of the core it takes names, and it decides nothing",
	},
	{
		Name: "remote reads a server as its journal",
		From: []string{"./internal/remote/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./client", "./internal/chat", "./internal/journal", "./internal/live", "./internal/progress",
		},
		Why: "what is shown of a server goes through the one API and the one fold; it links no part of a server",
	},
	{
		Name:  "sandbox and egress see only chat",
		From:  []string{"./internal/sandbox/...", "./internal/egress/..."},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat"},
		Why:   "what confines programs must be readable alone; who may run what is decided before",
	},
	{
		Name: "telemetry sees nothing",
		From: []string{"./internal/telemetry/..."},
		Deny: []string{"./..."},
		Why:  "it is handed plain values, so that what is told to collectors can be read in one place",
	},
	{
		Name: "measure sees nothing",
		From: []string{"./internal/measure/..."},
		Deny: []string{"./...", "other"},
		Why:  "tests of every package write their figures down with it, those of the core too",
	},
	{
		Name: "secret sees nothing",
		From: []string{"./internal/secret/..."},
		Deny: []string{"./...", "other"},
		Why:  "what takes secrets out of texts must be usable by code that has one, and readable alone",
	},
	{
		Name: "seal sees nothing",
		From: []string{"./internal/seal/..."},
		Deny: []string{"./...", "other"},
		Why:  "how secrets are kept must be readable alone, and made of the standard library only",
	},
	{
		Name:  "config is plain data",
		From:  []string{"./internal/config/..."},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/agent", "./internal/chat", "below"},
		Why: "reading settings must not drag in the parts they configure; of the core it takes the one " +
			"definition of limits and authority",
	},
}

var edgeRules = []Rule{
	{
		Name:   "only app imports adapters",
		From:   []string{"./..."},
		Except: []string{"./internal/app", "./internal/tool/shell", "./internal/api/apitest"},
		Deny:   adapters,
		Allow:  []string{"below"},
		Why:    "one place chooses the technologies; everything else is handed a port",
	},
	{
		Name: "settings are known by config, app and the commands",
		From: []string{"./..."},
		Except: []string{
			"./internal/config/...", "./internal/app", "./internal/cli/...", "./cmd/...",
			"./standalone/...",
		},
		Deny: []string{"./internal/config/..."},
		Why:  "a part gets a small struct of its own, so a file format can change without it",
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
		Deny: []string{"./cmd/...", "./standalone/...", "./internal/cli/...", "./internal/tui/..."},
		Why:  "commands build an app; an app does not know which command built it",
	},
	{
		Name: "a command goes through cli and app",
		From: []string{"./cmd/...", "./internal/cli/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/cli/...", "./internal/app", "./internal/agent/receipt", "./internal/chat", "./internal/config",
			"./internal/progress", "./internal/secret", "./internal/tui", "./client",
		},
		Why: "flags become settings and settings become an app; nothing is wired by hand on the way",
	},
	{
		Name:  "tui is a client",
		From:  []string{"./internal/tui/..."},
		Deny:  []string{"./..."},
		Allow: []string{"./client", "below"},
		Why:   "there is one API, and the terminal gets no back door past it",
	},
	{
		Name:  "client knows only the wire",
		From:  []string{"./client/..."},
		Deny:  []string{"./..."},
		Allow: []string{"below"},
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

// ownModule names folders that must be modules of their own, and why.
var ownModule = map[string]string{
	"standalone": "its go.mod is the only one that requires the engine's server",
}
