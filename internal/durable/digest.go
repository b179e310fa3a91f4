package durable

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/tool"
)

// digest tells the core of the calls of a reply: what each asks for and what is known of its tool,
// and the roles that are to be given work.
func (l *leg) digest(ctx context.Context, brief agent.Brief, reply model.Reply) ([]agent.Call, []agent.RoleSpec) {
	var calls []agent.Call
	var roles []agent.RoleSpec
	set, err := l.Tools.Tools(l.in.Workspace)
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
			l.characterise(ctx, brief, set, part, &c)
		case agent.CallSpawn, agent.CallResume:
			roles = l.cast(ctx, brief, &c, roles)
		case agent.CallSubmit, agent.CallSubmitError, agent.CallAsk, agent.CallReply:
			c.Known, c.Class = true, chat.ClassPure
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
	casting, err := l.Catalog.Cast(l.in.Workspace, name)
	return casting.Spec, err == nil && casting.Exposed != nil
}

// characterise adds what is known of a tool before it runs.
func (l *leg) characterise(ctx context.Context, brief agent.Brief, set *tool.Set, part chat.Part, c *agent.Call) {
	if part.Tool == agent.ToolTranscript {
		c.Known, c.Class = true, chat.ClassPure
		return
	}
	if set == nil {
		return
	}
	d, ok := set.Find(part.Tool)
	if !ok {
		return
	}
	c.Tool, c.Known, c.Class, c.Writes, c.Network = d.Name, true, d.Class, d.Writes, d.Network
	if err := set.Check(tool.Call{Tool: part.Tool, Args: json.RawMessage(part.Args)}); err != nil && c.Problem == "" {
		c.Problem = said(err)
	}
	snapshot := ""
	err := l.patiently(ctx, func() (err error) {
		snapshot, err = l.text(ctx, l.in.Place.Tenant, brief.RoleHash)
		return err
	})
	if err == nil {
		c.Policy, err = l.Catalog.Verdict(snapshot, d.Name, part.Args)
	}
	if err != nil {
		l.Logger.ErrorContext(ctx, "no verdict", "tool", d.Name, "error", err)
		c.Policy = agent.PolicyAsk
	}
}

// said is what an error says to whoever can act on it.
func said(err error) string {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// cast finds the roles that a spawn call names, under the names by which they are known, and keeps
// their snapshots.
func (l *leg) cast(ctx context.Context, brief agent.Brief, c *agent.Call, roles []agent.RoleSpec) []agent.RoleSpec {
	for i := range c.Items {
		item := &c.Items[i]
		if item.Agent != "" {
			l.recall(ctx, item)
		}
		casting, err := l.Catalog.Cast(l.in.Workspace, item.Role)
		if err != nil {
			continue // The core says which roles there are.
		}
		spec := casting.Spec
		if spec.Model.Name == "" {
			spec.Model = brief.Model
		}
		item.Role = spec.Name
		if slices.ContainsFunc(roles, func(r agent.RoleSpec) bool { return r.Name == spec.Name }) {
			continue
		}
		err = l.patiently(ctx, func() error {
			_, err := l.keep(ctx, l.in.Place.Tenant, casting.Snapshot)
			return err
		})
		if err != nil {
			item.Problem = "the role could not be recorded; try again"
			continue
		}
		spec.Hash = journal.HashOf(casting.Snapshot)
		roles = append(roles, spec)
	}
	return roles
}

// recall checks that an agent can be given another task, and finds its role.
func (l *leg) recall(ctx context.Context, item *agent.Item) {
	in := journal.In{Agent: item.Agent, Task: item.Agent}
	var entries []journal.Entry
	err := l.patiently(ctx, func() (err error) {
		entries, err = l.Log.Find(ctx, l.in.Place, journal.Assigned{In: in}.Key(), journal.Finished{In: in}.Key())
		return err
	})
	switch {
	case err != nil || len(entries) == 0 || !strings.HasPrefix(item.Agent, l.in.Agent+"/"):
		item.Problem = "there is no agent " + item.Agent + " of yours"
		item.Role = "general"
	default:
		first, _ := entries[0].Row.(journal.Assigned)
		item.Role = first.Role
		if len(entries) < 2 {
			item.Problem = "agent " + item.Agent + " has not finished"
		}
	}
}
