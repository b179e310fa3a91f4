//go:build services

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable/history"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// settle waits until all work has ended, and returns the records.
func (st *stage) settle(t *testing.T) []journal.Entry {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var entries []journal.Entry
	err := st.until(ctx, func() (bool, error) {
		var err error
		entries, err = st.entries(ctx)
		open := map[string]bool{}
		for _, e := range entries {
			switch r := e.Row.(type) {
			case journal.TaskAssigned:
				open[r.Task] = r.Task != host.Root || st.closed
			case journal.TaskEnded:
				delete(open, r.Task)
			default:
			}
		}
		for task := range open {
			if open[task] {
				return false, err
			}
		}
		return true, err
	})
	if err != nil {
		t.Errorf("a task has no end: %v", err)
	}
	return entries
}

// check verifies, at the end of a scenario, what must be true of every one.
func (st *stage) check(t *testing.T, entries []journal.Entry) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if err := journaltest.Verify(ctx, st.node.Log, st.ref); err != nil {
		t.Error(err)
	}
	for _, a := range st.provider.Meter().Attempts {
		if a.Status >= 400 && a.Status < 500 && a.Fault == "" {
			t.Errorf("the provider refused a request of role %s, turn %d, with %d: %s", a.Role, a.Turn, a.Status, a.Message)
		}
	}
	checkBooks(t, entries)
	if err := st.waitTold(ctx); err != nil {
		t.Errorf("the engine was never told of what somebody did: %v", err)
	}
	st.checkEngine(t, entries)
	st.checkServed(t, entries)
}

// checkBooks reports tasks without exactly one end and calls without exactly one result.
func checkBooks(t *testing.T, entries []journal.Entry) {
	t.Helper()
	ends, results, voided := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.TaskEnded:
			ends[r.Task]++
		case journal.ToolReturned:
			results[r.Agent+"#"+r.Call]++
		case journal.ReplyVoided:
			voided[fmt.Sprint(r.Agent, "#", r.Turn)] = true
		default:
		}
	}
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.TaskAssigned:
			if r.Task != host.Root && ends[r.Task] != 1 {
				t.Errorf("task %s has %d ends", r.Task, ends[r.Task])
			}
		case journal.MessageAdded:
			for _, p := range r.Message.Parts {
				call := r.Agent + "#" + p.Call
				if p.Kind == chat.PartToolUse && results[call] != 1 && !voided[fmt.Sprint(r.Agent, "#", r.Turn)] {
					t.Errorf("call %s has %d results", call, results[call])
				}
			}
		default:
		}
	}
}

// maxPayload is the most that one payload may have in the engine.
const maxPayload = 16 << 10

// checkEngine reads back what the engine keeps: nothing runs that should not, nothing is large, and
// no text is in it.
func (st *stage) checkEngine(t *testing.T, entries []journal.Entry) {
	t.Helper()
	var runs []history.Run
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	err := st.until(ctx, func() (bool, error) {
		var err error
		if runs, err = history.Read(ctx, st.node.Client.Engine, st.node.Log, st.ref); err != nil {
			return false, err
		}
		for i, r := range runs {
			if r.Open && (i > 0 || st.closed) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Errorf("a run of the engine is left open: %v", err)
	}
	snippets := snippetsOf(entries)
	for i, r := range runs {
		if want := map[bool]string{true: "open", false: "Completed"}[i == 0 && !st.closed]; r.End() != want {
			t.Errorf("the run of %s is %s, not %s", r.Workflow, r.End(), want)
		}
		if n := r.Largest(); n > maxPayload {
			t.Errorf("a payload in the history of %s has %d bytes", r.Workflow, n)
		}
		body, err := r.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if found := contained(body, snippets); found != "" {
			t.Errorf("the history of %s holds the text %q", r.Workflow, found)
		}
	}
	st.keep(t, runs)
}

// keep stores histories to check later releases against: of the scenarios as they stand in their
// files all with long legs, and those of acceptance with short ones too. Those that are stored
// already stay.
func (st *stage) keep(t *testing.T, runs []history.Run) {
	t.Helper()
	short := st.spec.LegEffects == 1 && !strings.HasPrefix(st.name, "R")
	changed := st.path == "" || st.stack.adjust != nil
	if *store == "" || st.stack.name != sqliteStack || short || changed || t.Failed() {
		return
	}
	for _, r := range runs {
		r.Prune()
	}
	kept, err := history.Keep(*store, st.ref.Conversation, runs)
	if err != nil {
		t.Error(err)
	} else if kept {
		t.Logf("stored %d histories of %s", len(runs), st.ref.Conversation)
	}
}

// plain is a stretch of text that looks the same in every encoding.
var plain = regexp.MustCompile(`[A-Za-z0-9 ,.;'-]{18,}`)

// snippetsOf are pieces of everything that people, models and files said.
func snippetsOf(entries []journal.Entry) []string {
	started := map[string]bool{}
	var texts []string
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.MessageReceived:
			texts = append(texts, journal.Words(r.Parts))
		case journal.ToolStarted:
			started[r.Agent+"#"+r.Call] = true
		case journal.ToolReturned:
			if started[r.Agent+"#"+r.Call] && r.Status == journal.CallCompleted {
				texts = append(texts, r.Text)
			}
		case journal.QuestionAsked:
			texts = append(texts, r.Text)
		case journal.MessageAdded:
			if r.Message.Speaker == chat.Assistant {
				for _, p := range r.Message.Parts {
					texts = append(texts, p.Text, p.Args)
				}
			}
		default:
		}
	}
	var out []string
	for _, text := range texts {
		for _, s := range plain.FindAllString(text, 40) {
			out = append(out, strings.TrimSpace(s)[:min(len(strings.TrimSpace(s)), 40)])
		}
	}
	return out
}

// contained is the first snippet that is in a body, empty if none is.
func contained(body []byte, snippets []string) string {
	for _, s := range snippets {
		if len(s) >= 16 && bytes.Contains(body, []byte(s)) {
			return s
		}
	}
	return ""
}
