package leg

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/tool"
)

// digest describes the calls of a reply to the core: the request and the tool of each, and the
// roles that are to get work.
func (l *leg) digest(ctx context.Context, brief agent.Brief, reply model.Reply) ([]agent.Call, []agent.RoleSpec) {
	var calls []agent.Call
	var roles []agent.RoleSpec
	run := l.in.RunRef
	run.Tree = host.TreeName(run.Ref, brief.Tree)
	set, err := l.Describing(run)
	if err != nil {
		l.Logger.ErrorContext(ctx, "no tools", "workspace", l.in.Workspace, "error", err)
	}
	for _, part := range reply.Parts {
		if part.Kind != chat.PartToolUse {
			continue
		}
		var c agent.Call
		if spec, exposed := l.exposed(brief, part.Tool); exposed {
			c = agent.DigestRole(part.Tool, spec.Name, part.Args)
		} else {
			c = agent.Digest(part.Tool, part.Args)
		}
		if slices.Contains(reply.Malformed, part.Call) {
			c.Problem = "they are not a JSON object, or were cut off"
		}
		switch c.Kind {
		case agent.CallTool:
			l.characterise(ctx, brief, set, l.ToolCall(ctx, run, part), &c)
		case agent.CallSpawn, agent.CallResume:
			roles = l.cast(ctx, brief, &c, roles)
		case agent.CallSubmit, agent.CallSubmitError, agent.CallAsk, agent.CallReply:
			c.Known, c.Class = true, chat.ClassPure
			if c.Kind == agent.CallSubmit && brief.Shaped && !slices.Contains(reply.Malformed, part.Call) {
				c.Problem, c.Typed = l.shape(ctx, brief, part.Args)
			}
			if c.Kind == agent.CallSubmit && brief.Evidence {
				c.Contradicted = l.contradicted(ctx, part.Args)
			}
		}
		calls = append(calls, c)
	}
	return calls, roles
}

// exposed finds the role that is offered as a tool of this name.
func (l *leg) exposed(brief agent.Brief, name string) (agent.RoleSpec, bool) {
	if !slices.Contains(brief.Delegates, name) {
		return agent.RoleSpec{}, false
	}
	resolved, err := l.Catalog.ResolveRole(l.in.At(), name)
	return resolved.Spec, err == nil && resolved.Exposed != nil
}

// characterise adds the known properties of a tool before it runs.
func (l *leg) characterise(ctx context.Context, brief agent.Brief, set *tool.Set, call tool.Call, c *agent.Call) {
	if call.Tool == agent.ToolTranscript {
		c.Known, c.Class = true, chat.ClassPure
		return
	}
	if set == nil {
		return
	}
	d, ok := set.Find(call.Tool)
	if !ok {
		return
	}
	c.Tool, c.Known, c.Class, c.Writes, c.Network = d.Name, true, d.Class, d.Writes, d.Network
	if err := set.Check(call); err != nil && c.Problem == "" {
		c.Problem = host.Said(err)
	}
	about := set.About(call)
	var err error
	if c.Policy, err = l.Verdict(ctx, l.in.Ref, brief.RoleHash, d, about); err != nil {
		l.Logger.ErrorContext(ctx, "no verdict", "tool", d.Name, "error", err)
		c.Policy = agent.PolicyAsk
	}
	c.Sink = (d.Writes || d.Network) && l.Catalog.Sink(d.Name, about.Matters)
	// A person may be asked about a call that the rules allow: the agent may read a stranger's text
	// before it runs.
	if (c.Asks() || d.Writes || d.Network) && c.Policy != agent.PolicyDeny && c.Problem == "" {
		if c.Bound, err = l.bindTo(ctx, brief, set, d.Name, call); err != nil {
			l.Logger.ErrorContext(ctx, "no binding", "tool", d.Name, "error", err)
			c.Bound = agent.Bound(brief, d.Name, string(call.Args), "unknown") // nothing that runs is bound so
		}
	}
	if about.Pattern != "" {
		c.Pattern = journal.HashOf(about.Pattern)[:16] // the pattern itself is text
	}
}

// bindTo returns the content that a person's decision is bound to. An isolated agent gets its
// worktree first, since the call will read its files there.
func (l *leg) bindTo(ctx context.Context, brief agent.Brief, set *tool.Set, name string, call tool.Call) (string, error) {
	if brief.Isolated() {
		run := l.in.RunRef
		run.Tree, run.From, run.NewTree = host.TreeName(run.Ref, brief.Tree), host.TreeName(run.Ref, brief.From), true
		var err error
		if set, err = l.Set(ctx, run); err != nil {
			return "", err
		}
	}
	return l.Bound(ctx, brief, set, name, call)
}

// cast finds the roles that a spawn call names, under the names by which they are known, and keeps
// their snapshots.
func (l *leg) cast(ctx context.Context, brief agent.Brief, c *agent.Call, roles []agent.RoleSpec) []agent.RoleSpec {
	if brief.Isolated() {
		// Sub-agents work in this agent's tree, or in a copy of it.
		if err := l.Worktrees.Create(ctx, l.in.At(), host.TreeName(l.in.Ref, brief.Tree), host.TreeName(l.in.Ref, brief.From)); err != nil {
			l.Logger.ErrorContext(ctx, "no tree", "agent", l.in.Agent, "error", err)
		}
	}
	for i := range c.Items {
		item := &c.Items[i]
		if item.Agent != "" {
			l.recall(ctx, item)
		}
		resolved, err := l.Catalog.ResolveRole(l.in.At(), item.Role)
		if err != nil {
			continue // The core says which roles there are.
		}
		spec := resolved.Spec
		if spec.Model.Name == "" {
			spec.Model = brief.Model
		}
		item.Role = spec.Name
		if item.Isolation == agent.IsolationWorktree || spec.Isolation == agent.IsolationWorktree {
			if why := l.Ready(ctx, l.in.At()); why != "" && item.Problem == "" {
				item.Problem = why
			}
		}
		if slices.ContainsFunc(roles, func(r agent.RoleSpec) bool { return r.Name == spec.Name }) {
			continue
		}
		err = l.Patiently(ctx, func() error {
			_, err := l.Keep(ctx, l.in.Ref, resolved.Snapshot)
			return err
		})
		if err != nil {
			item.Problem = "the role could not be recorded; try again"
			continue
		}
		spec.Hash = journal.HashOf(resolved.Snapshot)
		roles = append(roles, spec)
	}
	return roles
}

// recall checks that an agent can be given another task, and finds its role.
func (l *leg) recall(ctx context.Context, item *agent.Item) {
	in := journal.In{Agent: item.Agent, Task: item.Agent}
	var entries []journal.Entry
	err := l.Patiently(ctx, func() (err error) {
		entries, err = l.Log.Find(ctx, l.in.Ref, journal.TaskAssigned{In: in}.Key(), journal.TaskEnded{In: in}.Key())
		return err
	})
	switch {
	case err != nil || len(entries) == 0 || !chat.AgentPath(item.Agent).IsBelow(chat.AgentPath(l.in.Agent)):
		item.Problem = "there is no agent " + item.Agent + " of yours"
		item.Role = "general"
	default:
		first, _ := entries[0].Row.(journal.TaskAssigned)
		item.Role = first.Role
		err := l.Patiently(ctx, func() (err error) {
			item.Taint, err = l.Taint(ctx, l.in.Ref, item.Agent)
			return err
		})
		if err != nil {
			item.Problem = "what agent " + item.Agent + " has read could not be found out; try again"
		}
		var brief agent.Brief
		if json.Unmarshal(first.Brief, &brief) == nil && brief.Isolated() && item.Isolation == "" {
			item.Isolation = agent.IsolationWorktree // once apart, it stays so
		}
		if len(entries) < 2 {
			item.Problem = "agent " + item.Agent + " has not finished"
		}
	}
}

// remembered is the taint of the leg's own agent in the journal, for calls that depend on it. The
// core knows nearly all of it, but not that of a result which a worker recorded just before it was
// lost.
func (l *leg) remembered(ctx context.Context, calls []agent.Call) (out agent.Taint) {
	if !slices.ContainsFunc(calls, func(c agent.Call) bool { return c.Writes || c.Network || len(c.Items) > 0 }) {
		return nil
	}
	err := l.Patiently(ctx, func() (err error) {
		out, err = l.Taint(ctx, l.in.Ref, l.in.Agent)
		return err
	})
	if err != nil { // the leg that runs a call looks again
		l.Logger.ErrorContext(ctx, "cannot look for what an agent has read", "agent", l.in.Agent, "error", err)
	}
	return out
}
