package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// attend brings what waits for a person before them, one thing at a time, or declines it when
// nobody is there.
func (e *runLoop) attend(ctx context.Context) {
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
func (e *runLoop) decline(ctx context.Context, p progress.Pending) {
	e.declined++
	if p.Question != "" {
		e.complain(e.site.server.decline(ctx, e.conversation, p.Question))
		return
	}
	e.complain(e.site.server.decide(ctx, e.conversation, p, wire.Decision{}))
}

// typed takes what the person wrote as the answer to what was asked.
func (e *runLoop) typed(ctx context.Context, line string) {
	if e.asked == nil {
		return
	}
	p, line := *e.asked, strings.TrimSpace(line)
	if p.Question == "" {
		decision, ok := decisionOf(line)
		if !ok || decision.Scope == scopeConversation && p.Pattern == "" {
			e.view.ask(choices(p))
			return
		}
		e.asked = nil
		e.complain(e.site.server.decide(ctx, e.conversation, p, decision))
		e.attend(ctx)
		return
	}
	e.asked = nil
	if line == "" {
		e.complain(e.site.server.decline(ctx, e.conversation, p.Question))
		e.attend(ctx)
		return
	}
	e.complain(e.site.server.answer(ctx, e.conversation, p.Question, chosen(p, line)))
	e.attend(ctx)
}

// chosen is an answer; the number of an option stands for the option.
func chosen(p progress.Pending, line string) string {
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(p.Options) {
		return p.Options[n-1]
	}
	return line
}

// complain shows why a person's word did not arrive. That an agent no longer waits is no reason.
func (e *runLoop) complain(err error) {
	if err != nil && chat.CodeOf(err) != chat.CodeConflict {
		e.view.note("that did not arrive: " + err.Error())
	}
}

// The scopes of an approval.
const (
	scopeOnce         = "once"
	scopeTask         = "task"
	scopeConversation = "conversation"
)

// decisionOf is what a person decides by a word.
func decisionOf(line string) (d wire.Decision, ok bool) {
	switch strings.ToLower(line) {
	case "y", "yes":
		return wire.Decision{Allow: true, Scope: scopeOnce}, true
	case "a", "always":
		return wire.Decision{Allow: true, Scope: scopeConversation}, true
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

// shownOf are the arguments of a call that a person decides about: all of them, if what the agent
// has read may have written them.
func shownOf(p progress.Pending) string {
	if len(p.Sources) > 0 {
		return progress.Exact(p.Text)
	}
	return progress.Short(p.Text, 2000)
}

// asking is what the person is shown.
func asking(p progress.Pending) string {
	var b strings.Builder
	if p.Question == "" {
		fmt.Fprintf(&b, "%s (%s) wants to call %s %s\n", p.Role, p.Agent, p.Tool, shownOf(p))
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
