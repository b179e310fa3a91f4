//go:build linux

package app

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/mtls"
	"github.com/retinue-dev/retinue/wire"
)

// TestANodeThatCannotOpenLetsGo opens nodes whose settings lead nowhere: each names the setting,
// and has closed its journal.
func TestANodeThatCannotOpenLetsGo(t *testing.T) {
	e := newEngineStub(t)
	for name, c := range map[string]struct {
		engine string
		set    []string
		want   string
	}{
		"no engine":         {"", nil, "retinue up"},
		"a secret passed":   {e.address, []string{"sandbox.pass", "SHOP_TOKEN"}, "sandbox.pass: SHOP_TOKEN is a secret"},
		"no database":       {e.address, []string{"journal.dsn", "{env:NOBODY}"}, "journal.dsn: the variable NOBODY"},
		"no bus":            {e.address, []string{"live.nats_url", "{env:NOBODY}"}, "live.nats_url: the variable NOBODY"},
		"no API key":        {"", []string{"engine.temporal_address", e.address, "engine.api_key", "{env:NOBODY}"}, "engine.api_key: the variable NOBODY"},
		"no certificate":    {"", []string{"engine.temporal_address", e.address, "engine.tls.ca", "/nowhere/ca.pem"}, "engine.tls: "},
		"a database is off": {e.address, []string{"journal.dsn", "postgres://me@127.0.0.1:1/db?sslmode=disable"}, "open journal"},
	} {
		loaded := nodeSettings(t, c.set...)
		n, err := OpenNode(t.Context(), nodeOptions(loaded, c.engine, map[string]string{"SHOP_TOKEN": "kanarienvogel"}))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "kanarienvogel") {
			t.Errorf("%s: %v", name, err)
		}
		if n.raw == nil {
			continue
		}
		if _, err := n.raw.Pending(t.Context(), time.Now(), 1); err == nil {
			t.Errorf("%s: the journal is open", name)
		}
	}
}

// TestWhoTheEngineIs reads how an engine is reached.
func TestWhoTheEngineIs(t *testing.T) {
	dir := t.TempDir()
	if err := mtls.Ensure(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { return "kanarienvogel", name == "KEY" }
	for name, c := range map[string]struct {
		at          config.Engine
		secure      bool
		server, key string
	}{
		"in the clear":    {at: config.Engine{Temporal: "engine:7233"}},
		"with a key":      {config.Engine{Temporal: "engine:7233", APIKey: nodeSettings(t, "engine.api_key", "{env:KEY}").Settings.Engine.APIKey}, true, "engine", "kanarienvogel"},
		"with the folder": {config.Engine{Temporal: "127.0.0.1:1", TLS: EngineClient(dir)}, true, "127.0.0.1", ""},
		"by another name": {config.Engine{Temporal: "127.0.0.1:1", TLS: config.EngineTLS{ServerName: "engine.example"}}, true, "engine.example", ""},
	} {
		secure, key, err := engineCredentials(c.at, lookup)
		if err != nil || (secure != nil) != c.secure || key != c.key {
			t.Errorf("%s: secure %t, %v", name, secure != nil, err)
		}
		if secure != nil && secure.ServerName != c.server {
			t.Errorf("%s: the engine must be %q", name, secure.ServerName)
		}
	}
	if _, _, err := engineCredentials(config.Engine{Temporal: "engine", TLS: EngineClient(dir)}, lookup); err == nil || !strings.Contains(err.Error(), "engine.temporal_address") {
		t.Errorf("an address without a port: %v", err)
	}
}

// TestAWorkerServesItsWorkspaces starts workers, and looks for what each asks the engine for.
func TestAWorkerServesItsWorkspaces(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*NodeOptions)
		want   map[string]bool
	}{
		"everything": {func(*NodeOptions) {}, map[string]bool{"legs": true, "runs": true}},
		"legs alone": {func(o *NodeOptions) { o.LegsOnly = true }, map[string]bool{"legs": true, "runs": false}},
	} {
		e := newEngineStub(t)
		o := nodeOptions(nodeSettings(t), e.address, map[string]string{"ANTHROPIC_API_KEY": "kanarienvogel"})
		o.Workspaces = map[Workspace]string{LocalWorkspace("shop"): t.TempDir(), {Tenant: "acme", Name: "till"}: t.TempDir()}
		c.change(&o)
		n := openNode(t, o)
		if err := n.Work(); err != nil {
			t.Fatal(err)
		}
		await(t, name+": all workspaces are served", func() bool {
			return e.heard("PollActivityTaskQueue", "retinue/local/shop") > 0 && e.heard("PollActivityTaskQueue", "retinue/acme/till") > 0
		})
		if c.want["runs"] {
			await(t, name+": runs are served", func() bool { return e.heard("PollWorkflowTaskQueue", "\x0a\x07retinue") > 0 })
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		got := map[string]bool{
			"legs": e.heard("PollActivityTaskQueue", "retinue/local/shop") > 0, "runs": e.heard("PollWorkflowTaskQueue", "\x0a\x07retinue") > 0,
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAWorkerThatCannotBegin starts workers without a key, and for a collector of no kind.
func TestAWorkerThatCannotBegin(t *testing.T) {
	e := newEngineStub(t)
	for want, environment := range map[string]map[string]string{
		"the key of provider anthropic": nil,
		`"pigeons" is not known`:        {"ANTHROPIC_API_KEY": "kanarienvogel", "OTEL_TRACES_EXPORTER": "pigeons"},
	} {
		n := openNode(t, nodeOptions(nodeSettings(t), e.address, environment))
		if err := n.Work(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if e.heard("PollActivityTaskQueue", "") > 0 {
		t.Error("a worker that cannot begin asks for work")
	}
}

// TestTheEngineIsToldLater has an engine refuse a message, and one that has lost a run. A node
// sweeps and reconciles until both are as they should be.
func TestTheEngineIsToldLater(t *testing.T) {
	t.Parallel()
	e := newEngineStub(t)
	o := nodeOptions(nodeSettings(t), e.address, nil)
	o.ReconcileEvery = 100 * time.Millisecond
	n := openNode(t, o)
	e.refuse(askTell, codes.InvalidArgument)
	e.refuse(askStart, codes.InvalidArgument)
	said := journal.Ref{Tenant: LocalTenant, Conversation: "said"}
	carry := n.Commands("")
	if err := carry.Open(t.Context(), said, api.NewConversation{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if err := carry.Say(t.Context(), said, api.Said{ID: "m1", By: "ann", Text: "hello"}); err != nil {
		t.Errorf("a message that the engine refuses is refused: %v", err)
	}
	if got := rowsOf[journal.MessageReceived](t, n.Log, said); len(got) != 1 || got[0].Parts[0].Text != "hello" {
		t.Errorf("it is not in the journal: %+v", got)
	}
	in, lost := journal.In{Agent: "main", Task: "main"}, journal.Ref{Tenant: LocalTenant, Conversation: "lost"}
	if _, err := n.Log.Append(t.Context(), lost, time.Now().Add(-time.Hour), journal.Opened{By: "ann"}, journal.TaskAssigned{In: in, Role: "main"},
		journal.StatusChanged{In: in, Status: "running"}); err != nil {
		t.Fatal(err)
	}
	background(t, n.Sweep)
	const toldOf, runOf = LocalTenant + "/said/main", LocalTenant + "/lost/main"
	before := e.heard(askTell, toldOf)
	await(t, "the engine is asked again", func() bool { return e.heard(askTell, toldOf) > before && e.heard(askStart, runOf) > 0 })
	e.refuse(askTell, codes.OK)
	e.refuse(askStart, codes.OK)
	refused := e.heard(askTell, toldOf)
	await(t, "the engine is told", func() bool { return e.heard(askTell, toldOf) > refused })
}

// TestANewBuildTakesOver promotes a build while two runs stay on another: they are roused once, and
// counted until they are over.
func TestANewBuildTakesOver(t *testing.T) {
	t.Parallel()
	e := newEngineStub(t)
	n := openNode(t, nodeOptions(nodeSettings(t), e.address, nil))
	e.list("local/a/main", "local/b/main")
	var reported []int
	err := n.Promote(t.Context(), "shop", "two", func(behind int) {
		reported = append(reported, behind)
		if behind == 2 {
			e.list("local/b/main")
		}
		if behind == 1 {
			e.list()
		}
	})
	if diff := cmp.Diff([]int{2, 1, 0}, reported); err != nil || diff != "" {
		t.Errorf("%v; behind were (-want +got):\n%s", err, diff)
	}
	for _, run := range []string{"local/a/main", "local/b/main"} {
		if got := e.heard(askSignal, run); got != 1 {
			t.Errorf("%s was roused %d times", run, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	e.list("local/a/main", "local/b/main")
	err = n.Promote(ctx, "shop", "two", func(behind int) {
		e.list("local/a/main") // which was roused
		if behind == 1 {
			cancel()
		}
	})
	if err == nil || ctx.Err() == nil {
		t.Errorf("a promotion that nobody waits for: %v", err)
	}
	e.refuse(askList, codes.PermissionDenied)
	if err := n.Promote(t.Context(), "shop", "two", func(int) {}); err == nil {
		t.Error("an engine that names no runs has none behind")
	}
}

// TestWorkspacesOfOneMachine lists the workspaces of the one tenant, and takes any name.
func TestWorkspacesOfOneMachine(t *testing.T) {
	n := &Node{options: NodeOptions{Workspaces: map[Workspace]string{
		LocalWorkspace("till"): "/a", LocalWorkspace("shop"): "/b", {Tenant: "acme", Name: "theirs"}: "/c",
	}}}
	list, err := installationView{node: n}.Workspaces(t.Context(), admission.Caller{Tenant: LocalTenant})
	if diff := cmp.Diff([]wire.WorkspaceInfo{{Name: "shop"}, {Name: "till"}}, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := n.resolve(t.Context(), LocalWorkspace("anything")); err != nil {
		t.Errorf("a name of one's own: %v", err)
	}
	if err := n.enlist(t.Context()); err != nil {
		t.Errorf("workspaces of tenants without a database: %v", err)
	}
	n.options.Loaded = nodeSettings(t, "journal.dsn", "{env:NOBODY}")
	n.options.Lookup = func(string) (string, bool) { return "", false }
	if err := n.enlist(t.Context()); err == nil || !strings.Contains(err.Error(), "journal.dsn") {
		t.Errorf("workspaces of tenants without the name of the database: %v", err)
	}
	maps.DeleteFunc(n.options.Workspaces, func(at Workspace, _ string) bool { return at.Tenant != LocalTenant })
	if err := n.enlist(t.Context()); err != nil {
		t.Errorf("with nothing to say: %v", err)
	}
}

// TestConversationsBeginAsAsked opens conversations with limits and models of their own.
func TestConversationsBeginAsAsked(t *testing.T) {
	n := openNode(t, nodeOptions(nodeSettings(t), newEngineStub(t).address, nil))
	carry, ref := n.Commands("shop"), journal.Ref{Tenant: LocalTenant, Conversation: "c"}
	if err := carry.Open(t.Context(), ref, api.NewConversation{By: "ann", Model: "anthropic/other", Cost: 70, Time: time.Minute, Headless: true}); err != nil {
		t.Fatal(err)
	}
	brief := string(rowsOf[journal.TaskAssigned](t, n.Log, ref)[0].Brief)
	for _, want := range []string{`"headless":true`, `"name":"anthropic/other"`, `"cost":70`, `"time":60000`} {
		if !strings.Contains(brief, want) {
			t.Errorf("without %s: %s", want, brief)
		}
	}
	for name, wrong := range map[string]api.NewConversation{"a role": {Role: "nobody"}, "a model": {Model: "nowhere/x"}} {
		ref := journal.Ref{Tenant: LocalTenant, Conversation: "x"}
		if err := carry.Open(t.Context(), ref, wrong); chat.CodeOf(err) == chat.CodeInternal {
			t.Errorf("%s that nobody knows: %v", name, err)
		}
		if _, err := n.Log.Snapshot(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
			t.Errorf("%s that nobody knows: there is a conversation, %v", name, err)
		}
	}
	if roles, err := n.Catalogue().Roles(t.Context(), ""); err != nil || len(roles) == 0 {
		t.Errorf("the roles are %+v, %v", roles, err)
	}
}
