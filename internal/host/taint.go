package host

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// mcpPrefix begins the names of tools of MCP servers; the server's name follows.
const mcpPrefix = "mcp__"

// Tainted is the row that lists the sources that an agent has read, if any. It goes into the same
// append as the text itself, so that a later leg of the agent finds both or neither before it runs
// a call.
func Tainted(in journal.In, call string, t agent.Taint) []journal.Row {
	if len(t) == 0 {
		return nil
	}
	return []journal.Row{journal.Tainted{In: in, Call: call, Sources: SourcesOf(t)}}
}

// SourcesOf is a taint as rows have it.
func SourcesOf(t agent.Taint) (out []journal.Source) {
	for _, s := range t {
		out = append(out, journal.Source{Kind: string(s.Kind), Name: s.Name})
	}
	return out
}

// TaintOf is the taint of rows, in the core's form.
func TaintOf(sources []journal.Source) (out agent.Taint) {
	for _, s := range sources {
		out = append(out, agent.Source{Kind: agent.SourceKind(s.Kind), Name: s.Name})
	}
	return out
}

// Taint is the taint of several agents together, from the journal.
func (h *Host) Taint(ctx context.Context, ref journal.Ref, agents ...string) (agent.Taint, error) {
	var keys []string
	for _, id := range agents {
		keys = append(keys, journal.Tainted{In: journal.In{Agent: id}}.Key())
	}
	entries, err := h.Log.Find(ctx, ref, keys...)
	if err != nil {
		return nil, fmt.Errorf("look for what %s has read: %w", strings.Join(agents, ", "), err)
	}
	var out agent.Taint
	for _, e := range entries {
		if row, ok := e.Row.(journal.Tainted); ok {
			out = out.With(TaintOf(row.Sources))
		}
	}
	return out, nil
}

// below is the taint that an agent gets by reading another one's transcript, files or results.
func (h *Host) below(ctx context.Context, run RunRef, other string) (agent.Taint, error) {
	if other == run.Agent {
		return nil, nil
	}
	t, err := h.Taint(ctx, run.Ref, other)
	if len(t) > 0 {
		t = t.With(agent.Taint{{Kind: agent.SourceAgent, Name: other}})
	}
	return t, err
}

// barred reports whether only a person's decision on this very call lets it run. The journal
// decides this, not the engine's history.
func (h *Host) barred(ctx context.Context, p Permit, d tool.Definition, about tool.About) (bool, error) {
	if !d.Writes && !d.Network || h.Catalog.Sink(d.Name, about.Matters) {
		return false, nil
	}
	t, err := h.Taint(ctx, p.Ref, p.Agent)
	return len(t) > 0, err
}

// strangers are the possible authors of a call's result: MCP servers, hosts that it reached, and
// files of the workspace that come from elsewhere.
func (h *Host) strangers(d tool.Definition, about tool.About, r tool.Result) agent.Taint {
	var out agent.Taint
	add := func(kind agent.SourceKind, name string) { out = out.With(agent.Taint{{Kind: kind, Name: name}}) }
	if rest, ok := strings.CutPrefix(d.Name, mcpPrefix); ok {
		server, _, _ := strings.Cut(rest, "__")
		add(agent.SourceMCP, server)
	}
	for _, page := range r.Facts.Fetched {
		if u, err := url.Parse(page.URL); err == nil && u.Hostname() != "" {
			add(agent.SourceWeb, strings.ToLower(u.Hostname()))
		}
	}
	for _, host := range r.Facts.Reached {
		add(agent.SourceWeb, strings.ToLower(host.Name))
	}
	if len(out) == 0 && d.Network && !d.Writes && r.End == tool.EndOK {
		add(agent.SourceWeb, d.Name) // it does not say whom it asked
	}
	for _, path := range pathsRead(d, about, r) {
		if h.Catalog.Strange(path) {
			add(agent.SourceFile, path)
		}
	}
	return out
}

// pathsRead are the files that a result rests on, also under the names that links lead to.
func pathsRead(d tool.Definition, about tool.About, r tool.Result) (paths []string) {
	for _, f := range r.Facts.Read {
		paths = append(paths, f.Path)
	}
	if !d.Writes && !d.Network && r.End == tool.EndOK {
		for _, m := range about.Matters {
			paths = append(paths, m.Forms...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
