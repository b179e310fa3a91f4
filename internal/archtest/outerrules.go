package archtest

// outerRules are those of ports, adapters and what hosts the core.
var outerRules = []Rule{
	{
		Name:  "a port sees only chat",
		From:  []string{"./internal/journal", "./internal/live", "./internal/model", "./internal/people", "./internal/tool"},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat"},
		Why:   "a port says what is needed; who fills it, and who calls it, is not its concern",
	},
	{
		Name: "a journal adapter sees only its port",
		From: []string{"./internal/journal/*"},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/chat", "./internal/database", "./internal/journal", "./internal/journal/tables", "./internal/measure", "below",
		},
		Why: "adapters that do not know each other can be replaced one at a time",
	},
	{
		Name:  "an adapter of people sees only its port",
		From:  []string{"./internal/people/*"},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat", "./internal/database", "./internal/people", "below"},
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
			"./internal/audit", "./internal/chat", "./internal/events", "./internal/journal", "./internal/live", "./internal/people",
			"./internal/webhook", "./wire", "./internal/api/...",
		},
		Why: "commands leave through an interface api declares; the engine behind it is app's choice",
	},
	{
		Name:  "events says the journal in words of the wire",
		From:  []string{"./internal/events/..."},
		Deny:  []string{"./...", "other"},
		Allow: []string{"./internal/chat", "./internal/journal", "./wire"},
		Why:   "what an entry means to those who watch is written once, and depends on nothing but the entry",
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
			"./internal/chat", "./internal/journal", "./internal/journal/journaltest", "./internal/live", "./internal/api", "./wire",
		},
		Why: "a server that tests start has no engine and no database of its own",
	},
	{
		Name: "a bridge speaks another wire to the api",
		From: []string{"./internal/bridge/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/api", "./internal/bridge", "./internal/chat", "./internal/events", "./internal/journal", "./internal/live",
			"./internal/progress", "./wire",
		},
		Why: "a client that comes over it goes through the same door and brings the same commands; no bridge knows another",
	},
	{
		Name: "progress reads journal and live",
		From: []string{"./internal/progress/..."},
		Deny: []string{"./..."},
		Allow: []string{
			"./internal/agent", "./internal/agent/receipt", "./internal/chat", "./internal/events", "./internal/journal",
			"./internal/live", "./wire",
		},
		Why: "what people are shown is a fold of what is recorded; of the core it takes names, and it decides nothing",
	},
	{
		Name:  "sandbox and egress see only chat",
		From:  []string{"./internal/sandbox/...", "./internal/egress/..."},
		Deny:  []string{"./..."},
		Allow: []string{"./internal/chat", "below"},
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
		Allow: []string{"./internal/agent", "./internal/chat", "./internal/config/..."},
		Why: "reading settings must not drag in the parts they configure; of the core it takes the one " +
			"definition of limits and authority",
	},
}
