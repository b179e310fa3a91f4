package sabotage

// surfaces are breaks of what programs and people see.
var surfaces = []Break{
	{
		Name: "a field of the API has another name", Area: "API contract",
		Edits: []Edit{{"wire/task.go", `json:"changed_count,omitempty"`, `json:"changes,omitempty"`}},
		Suite: "web/check", Says: `stale: run 'make generate/web'`,
	},
	{
		Name: "an answer that is not text is promised", Area: "bridges",
		Edits: []Edit{{"internal/bridge/openai/chat.go", `f != "" && f != "text" {`, `f == "json_object" {`}},
		Suite: "test/bridges", Says: `--- FAIL: TestRequestsThatAreRefusedSayWhy`,
	},
	{
		Name: "who waits for a person looks like one who works", Area: "web",
		Edits: []Edit{{
			"web/src/ui/status.tsx", "icon: Hand, tone: 'you', word: 'Needs approval'", "icon: Hand, tone: 'running', word: 'Running'",
		}},
		Suite: "web/test", Says: `Unable to find an element with the text: Needs approval`,
	},
	{
		Name: "a link without a name", Area: "browser", Program: true,
		Edits: []Edit{{"web/src/shell/sidebar.tsx", "            aria-label=\"New conversation\"\n", ""}},
		Suite: "e2e/web", Says: `link-name`,
	},
	{
		Name: "the page shows another answer than the server's", Area: "docs walk",
		Edits: []Edit{{"docs/api.md", `["researcher",6]`, `["researcher",3]`}},
		Suite: "docs/api", Says: `docs/api\.md:\d+: \$ api .*usage\?by=role`,
	},
}

// source are breaks of how the source is written.
var source = []Break{
	{
		Name: "a file that nobody laid out", Area: "layout",
		Edits: []Edit{{"internal/chat/status.go", "\tStatusQueued    Status = \"queued\"\n", "  StatusQueued Status = \"queued\"\n"}},
		Suite: "fmt-check", Says: `not laid out: run 'make fmt'`,
	},
	{
		Name: "an error that nobody reads", Area: "lint",
		Edits: []Edit{{"internal/listener/listener.go", "_ = conn.Close() // the client hears nothing", "conn.Close()"}},
		Suite: "lint", Says: `internal/listener/listener\.go:\d+:\d+: Error return value of .conn\.Close. is not checked \(errcheck\)`,
	},
	{
		Name: "the core opens files", Area: "imports",
		Edits: []Edit{{
			"internal/agent/clock.go",
			"package agent\n", "package agent\n\nimport \"os\"\n\n// hurried reports whether somebody is in a hurry.\nfunc hurried() bool { return os.Getenv(\"HURRY\") != \"\" }\n",
		}},
		Suite: "archtest", Says: `rule: the core does no IO`,
	},
	{
		Name: "a test that a slow machine fails", Area: "clocks",
		Edits: []Edit{{
			"internal/webhook/webhook_test.go", "\tif err := CheckSecret(NewSecret()); err != nil {\n\t\tt.Error(err)\n\t}\n",
			"\tbegan := time.Now()\n\tif err := CheckSecret(NewSecret()); err != nil {\n\t\tt.Error(err)\n\t}\n" +
				"\tif took := time.Since(began); took > 100*time.Millisecond {\n\t\tt.Errorf(\"it took %s\", took)\n\t}\n",
		}},
		Suite: "archtest", Says: `--- FAIL: TestNoClockInTheGate`,
	},
	{
		Name: "readers are looked up without the lock", Area: "races",
		Edits: []Edit{{
			"internal/live/hub.go",
			"	h.mu.RLock()\n	slow := offer(h.readers[topic], n)\n	h.mu.RUnlock()\n", "	slow := offer(h.readers[topic], n)\n",
		}},
		Suite: "race", Says: `WARNING: DATA RACE`,
	},
	{
		Name: "a generated query is edited by hand", Area: "generated code",
		Edits: []Edit{{
			"internal/journal/postgres/query/append.sql.go",
			"select e.body::text as body\nfrom keys k\n", "select e.body::text as body -- the newest\nfrom keys k\n",
		}},
		Suite: "generate-check", Says: `-- the newest`,
	},
	{
		Name: "a Go with a hole in os.Root is enough", Area: "supply chain",
		Edits: []Edit{{"go.mod", "\ngo 1.26.8\n", "\ngo 1.26.4\n"}},
		Suite: "archtest", Says: `rule: every Go that builds us has the repaired os\.Root`,
	},
	{
		Name: "a licence that nobody allowed", Area: "supply chain",
		Edits: []Edit{{"internal/supply/licence.go", `"MIT-0", "MPL-2.0", `, `"MIT-0", `}},
		Suite: "notice/check", Says: `github\.com/go-sql-driver/mysql: licence MPL-2\.0 is not one of`,
	},
	{
		Name: "a part that NOTICE does not name", Area: "supply chain",
		Edits: []Edit{{"NOTICE", "npm react-dom: MIT\n", ""}},
		Suite: "notice/check", Says: `NOTICE is not what the parts' licences say: run 'make notice'`,
	},
}
