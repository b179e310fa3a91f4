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

// ownModule names folders that must be modules of their own, and why.
var ownModule = map[string]string{
	"standalone": "its go.mod is the only one that requires the engine's server",
}
