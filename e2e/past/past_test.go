package past

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
)

var (
	data     = flag.String("data", "", "data folder of the server")
	agents   = flag.Int("agents", 1000, "sub-agents of the conversation with many")
	messages = flag.Int("messages", 100_000, "messages of the long conversation")
	moment   = flag.String("now", "", "the time that it is now, for who must know what day a week ago was; empty is that of the machine")
)

// perCommit is how many rows are written at a time.
const perCommit = 4000

var orchestrator = journal.In{Agent: "main", Task: "main"}

// TestWrite fills a journal. Without a folder it fills one of its own, with little.
func TestWrite(t *testing.T) {
	if *data == "" {
		*data, *agents, *messages = t.TempDir(), 3, 6
	}
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(*data, "journal.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	now := time.Now()
	if *moment != "" {
		if now, err = time.Parse(time.RFC3339, *moment); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*conversation{
		week(now.Add(-7 * 24 * time.Hour)), many(now.Add(-time.Hour), *agents), long(now.Add(-48*time.Hour), *messages),
	} {
		if err := c.write(t.Context(), log); err != nil {
			t.Fatalf("%s: %v", c.id, err)
		}
		snapshot, err := log.Entries(t.Context(), c.place(), 0, 1)
		if err != nil || len(snapshot) != 1 {
			t.Fatalf("%s: %d rows, %v", c.id, len(snapshot), err)
		}
	}
}

// conversation is rows with their times.
type conversation struct {
	id    string
	rows  []journal.Row
	times []time.Time
	said  int64
	turns int
}

func begin(id, title string, at time.Time) *conversation {
	c := &conversation{id: id}
	c.add(at, journal.Opened{By: "you", Title: title}, journal.TaskAssigned{In: orchestrator, Role: "main"},
		journal.StatusChanged{In: orchestrator, Serial: 1, Status: chat.StatusCompleted})
	return c
}

func (c *conversation) place() journal.Ref {
	return journal.Ref{Tenant: app.LocalTenant, Conversation: c.id}
}

func (c *conversation) add(at time.Time, rows ...journal.Row) {
	for _, row := range rows {
		c.rows, c.times = append(c.rows, row), append(c.times, at)
	}
}

// ask is what a person says, that it is delivered, and that the orchestrator reads it.
func (c *conversation) ask(at time.Time, words string) {
	c.said++
	id := fmt.Sprintf("posted-%d", c.said)
	post := "message:" + id
	read := chat.Message{ID: fmt.Sprintf("m%d", c.said), Speaker: chat.User, Parts: []chat.Part{text(words)}}
	c.add(at, journal.MessageReceived{ID: id, By: "you", Parts: read.Parts}, journal.MailPosted{ID: post, Topic: "message"},
		journal.MailDelivered{ID: post}, journal.MessageAdded{In: orchestrator, Reads: []int64{c.said}, Message: read})
}

// reply is what the orchestrator says, at the end of its turn unless it calls.
func (c *conversation) reply(at time.Time, parts ...chat.Part) {
	c.turns++
	c.add(at, journal.MessageAdded{In: orchestrator, Turn: c.turns, Message: chat.Message{
		ID: fmt.Sprintf("t%d", c.turns), Speaker: chat.Assistant, Parts: parts,
	}})
	if last := parts[len(parts)-1]; last.Kind == chat.PartText {
		c.add(at, journal.TurnEnded{In: orchestrator, Serial: c.turns, Turn: c.turns, Status: chat.StatusCompleted})
	}
}

// hand assigns one call's tasks and ends each of them.
func (c *conversation) hand(at time.Time, took time.Duration, count int) {
	call := fmt.Sprintf("%d.0", c.turns)
	in := func(i int) journal.In {
		id := fmt.Sprintf("main/%s.%d", call, i)
		return journal.In{Agent: id, Task: id}
	}
	roles := []string{"researcher", "coder", "tester", "reviewer"}
	for i := range count {
		c.add(at, journal.TaskAssigned{
			In: in(i), Parent: "main", Call: call, Item: i, Trigger: c.said, Depth: 1, Role: roles[i%len(roles)],
			Instruction: fmt.Sprintf("Look at part %d.", i), MaxIterations: 20, MaxDuration: 300_000,
		}, journal.StatusChanged{In: in(i), Serial: 1, Status: chat.StatusRunning})
	}
	for i := range count {
		c.add(at.Add(took), journal.TaskEnded{
			In: in(i), Status: chat.StatusCompleted, Summary: fmt.Sprintf("Part %d is well.", i), Iterations: 2,
		})
	}
}

func (c *conversation) write(ctx context.Context, log journal.Log) error {
	for from := 0; from < len(c.rows); {
		to := from
		for to < len(c.rows) && to-from < perCommit && c.times[to].Equal(c.times[from]) {
			to++
		}
		if _, err := log.Append(ctx, c.place(), c.times[from], c.rows[from:to]...); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func text(s string) chat.Part { return chat.Part{Kind: chat.PartText, Text: s} }

func spawn(call string) chat.Part {
	return chat.Part{Kind: chat.PartToolUse, Call: call, Tool: "spawn_agents", Args: "{}"}
}

// week is a conversation with a night in the middle of it.
func week(at time.Time) *conversation {
	c := begin("past-week", "A canary of last week", at)
	c.ask(at, "How was the canary last week?")
	c.reply(at.Add(time.Second), text("I have it looked at."), spawn("1.0"))
	c.hand(at.Add(2*time.Second), 8*time.Hour, 3)
	c.reply(at.Add(9*time.Hour), text("It was **well** all week."))
	return c
}

// many is a conversation whose one turn has so many agents.
func many(at time.Time, count int) *conversation {
	c := begin("past-many", "A thousand agents", at)
	c.ask(at, "Look at every part")
	c.reply(at.Add(time.Second), text("One agent for each part."), spawn("1.0"))
	c.hand(at.Add(2*time.Second), time.Minute, count)
	c.reply(at.Add(time.Hour), text("All parts are well."))
	return c
}

// long is a conversation of so many messages. Many are said in one moment, so that few commits do.
func long(at time.Time, count int) *conversation {
	c := begin("past-long", "A hundred thousand messages", at)
	for i := range count / 2 {
		then := at.Add(time.Duration(i/1000) * time.Minute)
		c.ask(then, fmt.Sprintf("Question %d", i))
		c.reply(then, text(fmt.Sprintf("Answer %d, with a few words more.", i)))
	}
	return c
}
