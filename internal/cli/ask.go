package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/progress"
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
	var err error
	if p.Question != "" {
		err = e.site.backend.Decline(ctx, e.conversation, p.Question, e.by)
	} else {
		err = e.site.backend.Decide(ctx, e.conversation, e.by, p, app.VerdictNo)
	}
	e.complain(err)
}

// typed takes what the person wrote as the answer to what was asked.
func (e *runLoop) typed(ctx context.Context, line string) {
	if e.asked == nil {
		return
	}
	p, line := *e.asked, strings.TrimSpace(line)
	if p.Question == "" {
		verdict, ok := verdictOf(line)
		if !ok || verdict == app.VerdictAlways && p.Pattern == "" {
			e.view.ask(choices(p))
			return
		}
		e.asked = nil
		e.complain(e.site.backend.Decide(ctx, e.conversation, e.by, p, verdict))
		e.attend(ctx)
		return
	}
	e.asked = nil
	if line == "" {
		e.complain(e.site.backend.Decline(ctx, e.conversation, p.Question, e.by))
		e.attend(ctx)
		return
	}
	e.complain(e.site.backend.Answer(ctx, e.conversation, p.Question, e.by, chosen(p, line)))
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

func verdictOf(line string) (app.Verdict, bool) {
	switch strings.ToLower(line) {
	case "y", "yes":
		return app.VerdictOnce, true
	case "a", "always":
		return app.VerdictAlways, true
	case "n", "no":
		return app.VerdictNo, true
	}
	return "", false
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
