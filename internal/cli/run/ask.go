package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// attend brings what waits for a person before them, one thing at a time, or declines it when
// nobody is there.
func (e *Loop) attend(ctx context.Context) {
	pending := e.tree.Pending()
	if e.asked != nil {
		for _, p := range pending {
			if key(p) == key(*e.asked) {
				return
			}
		}
		e.asked = nil
		e.view.note("that has been settled meanwhile")
	}
	if !e.stopping.IsZero() {
		return
	}
	for _, p := range pending {
		if e.known[key(p)] {
			continue
		}
		e.known[key(p)] = true
		if e.lines == nil {
			e.decline(ctx, p)
			continue
		}
		e.asked = &p
		e.view.ask(asking(p))
		return
	}
}

func key(p progress.Pending) string { return p.Question + "|" + p.Agent + "#" + p.Call }

// decline says no in the place of somebody who is not there.
func (e *Loop) decline(ctx context.Context, p progress.Pending) {
	e.declined++
	if p.Question != "" {
		e.complain(e.Server.Decline(ctx, e.Conversation, p.Question))
		return
	}
	e.complain(e.Server.Settle(ctx, e.Conversation, p, wire.Decision{}))
}

// typed takes what the person wrote as the answer to what was asked.
func (e *Loop) typed(ctx context.Context, line string) {
	if e.asked == nil {
		return
	}
	p, line := *e.asked, strings.TrimSpace(line)
	if p.Question == "" {
		decision, ok := decisionOf(line)
		if !ok || decision.Scope == remote.ScopeConversation && p.Pattern == "" {
			e.view.ask(choices(p))
			return
		}
		e.asked = nil
		e.complain(e.Server.Settle(ctx, e.Conversation, p, decision))
		e.attend(ctx)
		return
	}
	e.asked = nil
	if line == "" {
		e.complain(e.Server.Decline(ctx, e.Conversation, p.Question))
		e.attend(ctx)
		return
	}
	e.complain(e.Server.Answer(ctx, e.Conversation, p.Question, remote.Chosen(p, line)))
	e.attend(ctx)
}

// complain shows why a person's word did not arrive. That an agent no longer waits is no reason.
func (e *Loop) complain(err error) {
	if err != nil && chat.CodeOf(err) != chat.CodeConflict {
		e.view.note("that did not arrive: " + err.Error())
	}
}

// decisionOf is what a person decides by a word.
func decisionOf(line string) (d wire.Decision, ok bool) {
	switch strings.ToLower(line) {
	case "y", "yes":
		return wire.Decision{Allow: true, Scope: remote.ScopeOnce}, true
	case "a", "always":
		return wire.Decision{Allow: true, Scope: remote.ScopeConversation}, true
	case "n", "no":
		return wire.Decision{}, true
	}
	return wire.Decision{}, false
}

// choices are what may be said to a call: always only to a pattern, which is shown as it is.
func choices(p progress.Pending) string {
	if p.Pattern == "" {
		return "[y]es, [n]o: "
	}
	return fmt.Sprintf("[y]es, [a]lways %s(%s) in this conversation, [n]o: ", p.Tool, progress.Short(p.Pattern, 500))
}

// asking is what the person is shown.
func asking(p progress.Pending) string {
	var b strings.Builder
	if p.Question == "" {
		fmt.Fprintf(&b, "%s (%s) wants to call %s %s\n", p.Role, p.Agent, p.Tool, remote.Shown(p))
		if why := progress.Because(p.Sources); why != "" {
			b.WriteString(why + "\n")
		}
		return b.String() + choices(p)
	}
	fmt.Fprintf(&b, "%s (%s) asks: %s\n", p.Role, p.Agent, progress.Short(p.Text, 2000))
	for i, option := range p.Options {
		fmt.Fprintf(&b, "  %d  %s\n", i+1, progress.Short(option, 200))
	}
	b.WriteString("your answer (empty: decline): ")
	return b.String()
}
