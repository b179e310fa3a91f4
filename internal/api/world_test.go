//go:build services

package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/audit"
	auditstore "github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/internal/people/oidc"
	store "github.com/retinue-dev/retinue/internal/people/postgres"
	"github.com/retinue-dev/retinue/internal/seal"
	webhookstore "github.com/retinue-dev/retinue/internal/webhook/store"
	"github.com/retinue-dev/retinue/wire"
)

// world is a server that several people share, on a database of its own.
type world struct {
	t *testing.T
	// dsn is the database's, for its owner.
	dsn    string
	log    *postgres.Log
	people *store.Store
	hooks  *webhookstore.Store
	trails *auditstore.Store
	bus    live.Bus
	// options are those of the server, which another node is made with.
	options api.Options
	api     *api.Server
	server  *httptest.Server
	count   atomic.Int64
	budgets sync.Map // by tenant
}

// newWorld starts a server, with the bridges of the program. Options can be changed before it is
// made, and those of the bridges once more.
func newWorld(t *testing.T, change func(*api.Options), bridged ...func(*api.Options)) *world {
	t.Helper()
	db := postgrestest.New(t)
	if err := postgres.Migrate(t.Context(), db.DSN); err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context(), db.DSN); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dsn: db.DSN, bus: live.NewLocal(0)}
	var err error
	if w.log, err = postgres.Open(t.Context(), postgres.Options{DSN: db.DSN, Role: postgres.Role, Connections: 6}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.log.Close)
	if w.people, err = store.Open(t.Context(), store.Options{DSN: db.DSN, Role: postgres.Role, Connections: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.people.Close)
	for _, migrate := range []func(context.Context, string) error{auditstore.Migrate, webhookstore.Migrate} {
		if err := migrate(t.Context(), db.DSN); err != nil {
			t.Fatal(err)
		}
	}
	if w.hooks, err = webhookstore.OpenPostgres(t.Context(), db.DSN, postgres.Role, hookKeys(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.hooks.Close() })
	if w.trails, err = auditstore.OpenPostgres(t.Context(), db.DSN, postgres.Role); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.trails.Close() })
	trail := audit.NewTrail(w.trails, time.Now)
	recorder := audit.NewRecorder(trail, time.Now)
	t.Cleanup(recorder.Close)
	log := audit.NewLog(w.log, trail, "test")
	login := identity.Login{Plain: true, Provider: oidc.New(oidc.Options{Issuer: "http://127.0.0.1:1"})}
	o := api.Options{
		Options: admission.Options{
			Audit: recorder, Authenticator: identity.Hosted{Credentials: w.people, Cookie: login.Cookie(), Now: time.Now},
			Guesses: admission.LoginLimits{Burst: 1 << 30}, Logger: slog.New(slog.DiscardHandler),
		},
		Log: log, Bus: w.bus, Commands: scribe{log}, Roles: noRoles{}, Installation: places{people: w.people}, Budget: w.budget,
		People: w.people, Login: login, Webhooks: anywhere{w.hooks}, Poll: 20 * time.Millisecond, Trail: recorder,
	}
	if change != nil {
		change(&o)
	}
	w.options = o
	w.api, w.server = w.node(o, bridged...)
	return w
}

// node starts a server on the world's database.
func (w *world) node(o api.Options, bridged ...func(*api.Options)) (*api.Server, *httptest.Server) {
	server := api.New(o)
	for _, change := range bridged {
		change(&o)
	}
	app.Bridges(server, o, cast{})
	front := httptest.NewServer(server)
	w.t.Cleanup(front.Close)
	w.t.Cleanup(server.Close)
	return server, front
}

// anywhere is a book of webhooks that may be sent to any address.
type anywhere struct{ *webhookstore.Store }

func (anywhere) Allowed(string) error { return nil }

// hookKeys seal the secrets of webhooks.
func hookKeys(t *testing.T) *seal.Keys {
	t.Helper()
	keys, err := seal.NewKeys(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// unanswered is a message that nobody answers.
const unanswered = "wait"

// scribe carries commands out by writing them down: there is no engine here. Every message is
// answered at once, so that nobody who came over a bridge waits.
type scribe struct{ log journal.Log }

func (s scribe) write(ctx context.Context, ref journal.Ref, rows ...journal.Row) error {
	_, err := s.log.Append(ctx, ref, time.Now(), rows...)
	return err
}

func (s scribe) Open(ctx context.Context, ref journal.Ref, t api.NewConversation) error {
	return s.write(ctx, ref, journal.Opened{By: t.By, Title: t.Title, Workspace: t.Workspace, Command: t.Command, PrivateTo: t.PrivateTo},
		journal.TaskAssigned{In: mainTask, Role: "main"})
}

func (s scribe) Say(ctx context.Context, ref journal.Ref, d api.Said) error {
	said := journal.MessageReceived{ID: d.ID, By: d.By, Parts: text(d.Text), InReplyTo: d.InReplyTo, Decline: d.Decline}
	if d.Text == unanswered {
		return s.write(ctx, ref, said)
	}
	turn := int(crc32.ChecksumIEEE([]byte(d.ID)) >> 1) // what is sent again is the same rows
	return s.write(ctx, ref, said,
		journal.MessageAdded{In: mainTask, Turn: turn, Message: chat.Message{ID: "u" + d.ID, Speaker: chat.User, Parts: text(d.Text)}},
		journal.MessageAdded{In: mainTask, Turn: turn, Message: chat.Message{ID: "a" + d.ID, Speaker: chat.Assistant, Parts: text("Yes.")}},
		journal.TurnEnded{In: mainTask, Serial: turn, Turn: turn, Status: chat.StatusCompleted})
}

func (s scribe) Decide(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) error {
	return s.write(ctx, ref, d)
}

func (s scribe) Cancel(ctx context.Context, ref journal.Ref, id, _, _ string) error {
	return s.write(ctx, ref, journal.MailPosted{ID: id, Topic: "cancel"})
}

func (s scribe) Share(ctx context.Context, ref journal.Ref, by string) error {
	return s.write(ctx, ref, journal.Shared{By: by})
}

func (s scribe) Archive(ctx context.Context, ref journal.Ref, by string) error {
	return s.write(ctx, ref, journal.Archived{By: by})
}

func (s scribe) Delete(ctx context.Context, ref journal.Ref, id, _ string) error {
	_, err := s.log.Append(ctx, ref, time.Now(), journal.MailPosted{ID: journal.Erasure, Topic: "erase", Command: id})
	if err != nil {
		return err
	}
	return s.log.Erase(ctx, ref)
}

// cast is the roles that talk to people, which are everybody's.
type cast struct{}

func (cast) Speakers(context.Context, string) ([]bridge.Speaker, error) {
	return []bridge.Speaker{{Name: "main", Title: "Main"}, {Name: "guide", Title: "Guide"}}, nil
}

type noRoles struct{}

func (noRoles) Roles(context.Context, string) ([]wire.Role, error) { return nil, nil }

func (noRoles) Role(_ context.Context, _, name string) (wire.Role, error) {
	if name != "ours" {
		return wire.Role{}, &chat.Error{Code: chat.CodeNotFound, Message: "there is no such role"}
	}
	return wire.Role{Name: name}, nil
}

// Settings implements api.Installation.
func (noRoles) Settings(context.Context, admission.Caller) (wire.Settings, error) {
	return wire.Settings{Mode: "hosted"}, nil
}

// Workspaces implements api.Installation.
func (noRoles) Workspaces(context.Context, admission.Caller) ([]wire.WorkspaceInfo, error) {
	return nil, nil
}

// places are the workspaces that workers have.
type places struct {
	noRoles
	people *store.Store
}

// Workspaces implements api.Installation.
func (p places) Workspaces(ctx context.Context, caller admission.Caller) (out []wire.WorkspaceInfo, err error) {
	list, err := p.people.Workspaces(ctx, caller.Tenant)
	for _, w := range list {
		out = append(out, wire.WorkspaceInfo{Name: w.Name, ServedAt: &w.ServedAt})
	}
	return out, err
}

// budget is what a tenant may spend in a month.
func (w *world) budget(tenant string) int64 {
	most, _ := w.budgets.Load(tenant)
	amount, _ := most.(int64)
	return amount
}

// Files implements api.Installation.
func (noRoles) Files(context.Context, string, string, int) (wire.FileList, error) {
	return wire.FileList{Reason: "it is elsewhere"}, nil
}

func text(words string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: words}} }

// ids are the things of one tenant, by the names that addresses have for them.
type ids map[string]string

// with is a copy in which some are others.
func (i ids) with(other ids) ids {
	out := ids{}
	for k, v := range i {
		out[k] = v
	}
	for k, v := range other {
		out[k] = v
	}
	return out
}

// fill writes a conversation of every kind of row, in which every text has a word. Place is where
// in the orchestrator's transcript its sub-agent was asked for, and part of many ids.
func (w *world) fill(tenant, conversation, word, place string) ids {
	w.t.Helper()
	return w.fillFor("", tenant, conversation, word, place)
}

// fillFor is fill for a conversation that only one person may see, unless it names nobody.
func (w *world) fillFor(owner, tenant, conversation, word, place string) ids {
	w.t.Helper()
	sub := "main/" + place
	at, task, question := journal.In{Agent: sub, Task: sub}, sub, sub+"?"+place
	turn := int(place[0] - '0')
	whole, patch, picture := word+" whole output", "--- a/"+word+"\n+++ b/"+word+"\n", "data:image/png;base64,"+word
	if err := w.log.Keep(w.t.Context(), journal.Ref{Tenant: tenant, Conversation: conversation}, whole, patch, picture); err != nil {
		w.t.Fatal(err)
	}
	show, _ := json.Marshal(map[string]string{"line": word})
	approval := sha256.Sum256([]byte(word + place))
	main := journal.In{Agent: "main", Task: "main"}
	rows := []journal.Row{
		journal.Opened{By: word, Title: word + " title", Workspace: word, PrivateTo: owner},
		journal.MessageReceived{ID: "m1", By: word, Parts: text(word + " asked")},
		journal.TaskAssigned{In: main, Role: word, Instruction: word},
		journal.MessageAdded{In: main, Message: chat.Message{ID: "u1", Speaker: chat.User, Parts: text(word + " asked")}},
		journal.TaskAssigned{In: at, Parent: "main", Call: "1.0", Depth: 1, Role: word, Instruction: word, Criteria: word},
		journal.StatusChanged{In: at, Serial: 1, Status: chat.StatusRunning},
		journal.ModelCalled{In: at, Call: place, Type: journal.RequestDelegation, Turn: turn, Model: word},
		journal.ModelReplied{In: at, Call: place, Status: chat.StatusCompleted, Model: word},
		journal.MessageAdded{In: at, Turn: turn, Message: chat.Message{ID: "r1", Speaker: "assistant", Parts: []chat.Part{
			{Kind: chat.PartText, Text: word}, {Kind: chat.PartToolUse, Call: place, Tool: word, Args: `{"a":"` + word + `"}`},
		}}},
		journal.ToolReturned{In: at, Call: place, Status: journal.CallCompleted, Text: word, Whole: journal.HashOf(whole), Images: []string{journal.HashOf(picture)}},
		journal.QuestionAsked{In: at, Question: question, Text: word, Options: []string{word}},
		journal.QuestionRelayed{In: at, Question: question},
		journal.ApprovalRequested{In: at, Call: place, Tool: word, Hash: hex.EncodeToString(approval[:]), Pattern: word, Show: show},
		journal.NoteAdded{In: at, Serial: 1, Note: word, Text: word},
		journal.PatchKept{In: at, Text: journal.HashOf(patch), Bytes: len(patch), Files: []journal.PatchFile{{Path: "trees/" + word, Change: "added", Added: 1}}},
		journal.TaskEnded{In: main, Status: chat.StatusCompleted, Summary: word, Message: word},
		journal.StatusChanged{In: main, Serial: 1, Status: chat.StatusWaiting}, // for the approval
	}
	if _, err := w.log.Append(w.t.Context(), journal.Ref{Tenant: tenant, Conversation: conversation}, time.Now(), rows...); err != nil {
		w.t.Fatal(err)
	}
	model := "retinue/guide" // roles are everybody's: there is no other tenant's
	if strings.HasPrefix(word, canary) {
		model = "retinue/none"
	}
	return ids{
		"conversation": conversation, "agent": strings.ReplaceAll(sub, "/", "~"), "task": strings.ReplaceAll(task, "/", "~"),
		"call": place, "approval": strings.ReplaceAll(sub, "/", "~") + ":" + place, "question": question,
		"decision": hex.EncodeToString(approval[:]), "hash": journal.HashOf(whole), "patch": journal.HashOf(patch), "picture": journal.HashOf(picture), "words": word, "plain-task": task, "role": word,
		"turn": conversation + ".m1", "response": "resp_" + conversation + ".m1", "model": model,
	}
}

// person logs somebody in, as a member of a tenant if one is named.
func (w *world) person(name, tenant string, role people.Role) people.Person {
	w.t.Helper()
	p := people.Person{Issuer: "https://id.example", Subject: name, Email: name + "@example.org", Name: name}
	if tenant != "" {
		m := people.Member{ID: people.NewID("m"), Email: p.Email, Role: role, AddedBy: "test", AddedAt: time.Now()}
		if err := w.people.AddMember(w.t.Context(), tenant, m); err != nil {
			w.t.Fatal(err)
		}
	}
	taken := func(_ people.Invitation, take func() error) error { return take() }
	if _, err := w.people.Arrive(w.t.Context(), p, time.Now(), taken); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// session lets somebody in for an hour and returns the cookie.
func (w *world) session(p people.Person, tenant string) string {
	w.t.Helper()
	return w.sessionFor(p, tenant, time.Hour)
}

func (w *world) sessionFor(p people.Person, tenant string, life time.Duration) string {
	w.t.Helper()
	c := people.NewCredential(people.KindSession, tenant)
	err := w.people.StartSession(w.t.Context(), people.Session{
		Credential: c, Person: p.ID(), At: time.Now(), Until: time.Now().Add(life),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Text
}

// key makes a key and returns its id and secret.
func (w *world) key(p people.Person, tenant string, life time.Duration, scopes ...people.Scope) (id, secret string) {
	w.t.Helper()
	c := people.NewCredential(people.KindKey, tenant)
	k := people.Key{
		ID: people.NewID("k"), Person: p.ID(), Name: p.Name + " key", Scopes: scopes, CreatedAt: time.Now().Add(-time.Hour),
		ExpiresAt: time.Now().Add(life),
	}
	if err := w.people.MakeKey(w.t.Context(), c, k); err != nil {
		w.t.Fatal(err)
	}
	return k.ID, c.Text
}

// unique is text that was not there before.
func (w *world) unique() string { return fmt.Sprintf("x%06d", w.count.Add(1)) }
