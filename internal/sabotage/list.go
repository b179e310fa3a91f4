package sabotage

import "slices"

// Break is one mistake that somebody might make, and the suite that must not let it pass.
type Break struct {
	Name string
	// Area is the part of the gate that the break tries.
	Area  string
	Edits []Edit
	// Program means that the programs are built again with the break in them.
	Program bool
	// Suite is the target of the Makefile that must fail.
	Suite string
	// Says is what it must say then, a regular expression.
	Says string
}

// Edit is a change: in File, by its path from the root, Old stands exactly once and is replaced
// with New.
type Edit struct {
	File, Old, New string
}

// Areas are the parts of the gate. Each has a break at least.
var Areas = []string{
	"core", "trace", "sim", "journal", "host", "replay", "workflow code", "cost", "approvals", "tenancy", "audit", "webhooks",
	"sandbox", "tools of others", "local server", "API contract", "bridges", "end to end", "web", "browser", "docs walk",
	"injection",
	"layout", "lint", "imports", "clocks", "races", "generated code",
	"supply chain",
}

// List is every break that the gate must notice.
var List = slices.Concat(agents, walls, surfaces, source)

// agents are breaks of what carries agents on.
var agents = []Break{
	{
		Name: "one iteration too many", Area: "core",
		Edits: []Edit{{
			"internal/agent/turn.go",
			"case s.Progress.Iterations >= s.Brief.Limits.Iterations:", "case s.Progress.Iterations > s.Brief.Limits.Iterations:",
		}},
		Suite: "core", Says: `--- FAIL: TestScripts/bailout_by_iterations`,
	},
	{
		Name: "a requirement that no script shows", Area: "trace",
		Edits: []Edit{{"internal/agent/testdata/submit_ends_run.txt", "# covers: R-053 R-054 ", "# covers: R-054 "}},
		Suite: "core", Says: `missing R-053: `,
	},
	{
		Name: "what was lent is not given back", Area: "sim",
		Edits: []Edit{{"internal/agent/lease.go", "l.Held -= held", "_ = held"}},
		Suite: "sim", Says: `--- FAIL: TestHistories`,
	},
	{
		Name: "two record the same step", Area: "journal",
		Edits: []Edit{{"internal/journal/plan.go", "fenced := b.fenced(known)", "fenced := b.fenced(nil)"}},
		Suite: "test/services", Says: `a row of the loser was written`,
	},
	{
		Name: "what must not run twice is tried again", Area: "host",
		Edits: []Edit{
			{"internal/host/run.go", "	if written[0].Existed {\n", "	if len(written) == 0 {\n"},
		},
		Suite: "crash/points", Says: `\S+ ran 2 times`,
	},
	{
		Name: "the workflow starts no leg for a look that came during one", Area: "replay",
		Edits: []Edit{{"internal/durable/workflow.go", "r.look = true\n", "r.look = r.leg == nil\n"}},
		Suite: "replay", Says: `\.json\.gz: .*(nondeterministic|TMPRL1100)`,
	},
	{
		Name: "a workflow reads the clock", Area: "workflow code",
		Edits: []Edit{{
			"internal/durable/workflow.go", "time.UnixMilli(want).Sub(workflow.Now(ctx))", "time.UnixMilli(want).Sub(time.Now())",
		}},
		Suite: "workflowcheck", Says: `workflow code depends on more than its history`,
	},
	{
		Name: "what a provider billed before it failed is not counted", Area: "cost",
		Edits:   []Edit{{"internal/model/priced.go", "case !failure.Unmetered:", "case failure != nil:"}},
		Program: true,
		Suite:   "cost", Says: `an attack succeeded: task \d+`,
	},
	{
		Name: "what changed since the yes runs all the same", Area: "approvals",
		Edits: []Edit{{"internal/agent/authorise.go", "case run.Bound != \"\" && run.Bound != f.Bound:", "case run.Bound != \"\" && f.Bound == \"\":"}},
		Suite: "approvals", Says: `ran without leave: `,
	},
	{
		Name: "a failed call looks well to the model", Area: "end to end",
		Edits: []Edit{{"internal/leg/records.go", "Failed: r.Status != journal.CallCompleted,", "Failed: false,"}},
		Suite: "e2e", Says: `want/journal \(-\) and what was found \(\+\) differ`,
	},
}

// walls are breaks of what keeps people and programs to their own.
var walls = []Break{
	{
		Name: "secrets and canaries leave", Area: "injection",
		Edits: []Edit{{"internal/toolbox/sieve.go", "what, _ := filter.Find(text)", "what, _ := filter.Find(text[:0])"}},
		Suite: "injection", Says: `a canary arrived`,
	},
	{
		Name: "a sub-agent does not know what its parent has read", Area: "injection",
		Edits: []Edit{{"internal/agent/spawn.go", "brief.Taint = s.Taint.With(it.Taint)", "brief.Taint = it.Taint"}},
		Suite: "injection", Says: `un-approved (write|request)`,
	},
	{
		Name: "every report counts as data", Area: "injection",
		Edits: []Edit{{"internal/agent/taint.go", "	if o.Typed {\n", "	if o.Typed || !o.Failed() {\n"}},
		Suite: "injection", Says: `un-approved (write|request)|the main agent wrote unasked: true`,
	},
	{
		Name: "an agent forgets what it has read when its transcript is compacted, and nobody reminds it", Area: "injection",
		Edits: []Edit{
			{"internal/agent/turn.go", "	s.Context = e.Context\n	s.Progress.Compacted = true\n", "	s.Context, s.Taint = e.Context, nil\n	s.Progress.Compacted = true\n"},
			{"internal/leg/think.go", "event.Taint = l.remembered(ctx, event.Calls)", "_ = l.remembered(ctx, nil)"},
			{"internal/host/taint.go", "	return len(t) > 0, err\n", "	return len(t) > 0 && p.Run.Approved, err\n"},
		},
		Suite: "injection", Says: `the main agent wrote unasked: true`,
	},
	{
		Name: "a reader hands back what it likes", Area: "injection",
		Edits: []Edit{{"internal/leg/shape.go", "if err := shape.Check(args, task); err != nil {", "if err := shape.Check(args, task); err != nil && args == \"\" {"}},
		Suite: "injection", Says: `un-approved (write|request)|the main agent wrote unasked: false`,
	},
	{
		Name: "every role may do what owners may", Area: "tenancy",
		Edits: []Edit{{"internal/api/admission/caller.go", "if c.Role.Rank() < a.Least.Rank() {", "if c.Role.Rank() == 0 {"}},
		Suite: "tenancy", Says: `status 2\d\d, want a refusal`,
	},
	{
		Name: "a table shows rows of other tenants", Area: "tenancy",
		Edits: []Edit{{
			"internal/people/postgres/migrations/00001_people.sql",
			"'create policy tenant on people.%I using (tenant_id = (select app_tenant()))'", "'create policy tenant on people.%I using (true)'",
		}},
		Suite: "tenancy", Says: `a policy checks the tenant wherever there is one: not so for `,
	},
	{
		Name: "a field is left out of the chain", Area: "audit",
		Edits: []Edit{{"internal/audit/chain.go", "e.Object, e.Digest, e.Detail, e.Key,", "e.Object, e.Digest, e.Detail,"}},
		Suite: "audit", Says: `change dedup was not noticed`,
	},
	{
		Name: "webhooks follow redirects", Area: "webhooks",
		Edits: []Edit{{"internal/webhook/sender.go", "{ return http.ErrUseLastResponse }", "{ return nil }"}},
		Suite: "test/webhook", Says: `a redirect was followed`,
	},
	{
		Name: "programs share the machine's network", Area: "sandbox",
		Edits: []Edit{{"internal/sandbox/bubblewrap_linux.go", `"--unshare-pid", "--unshare-net", `, `"--unshare-pid", `}},
		Suite: "escape", Says: `the sandbox does not hold: the network is reachable`,
	},
	{
		Name: "an agent writes down which servers a person starts", Area: "sandbox",
		Edits: []Edit{{"internal/sandbox/protect.go", "	{path: \".mcp.json\"},\n", ""}},
		Suite: "escape", Says: `servers that are not there: got out`,
	},
	{
		Name: "a tool that changed is still offered", Area: "tools of others",
		Edits: []Edit{{
			"internal/tool/mcp/remote.go",
			`if o.Name == pin.Name && o.Problem == "" && o.Hash == pin.Hash {`, `if o.Name == pin.Name && o.Problem == "" {`,
		}},
		Suite: "test/mcp", Says: `a tool that changed is still offered`,
	},
	{
		Name: "pages of other origins come in", Area: "local server",
		Edits: []Edit{{"internal/api/admission/guard.go", "if origin.Check(r) != nil || g.foreign(r) {", "if origin.Check(r) != nil {"}},
		Suite: "hostile", Says: `accepted: 200 OK`,
	},
}
