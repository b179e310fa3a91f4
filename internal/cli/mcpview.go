package cli

import (
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/internal/toolbox"
)

// serverLine is a server as programs read it.
type serverLine struct {
	Name     string     `json:"name"`
	Scope    string     `json:"scope"`
	File     string     `json:"file"`
	Server   string     `json:"server,omitempty"`
	Protocol string     `json:"protocol,omitempty"`
	Took     int64      `json:"took_ms,omitempty"`
	Problem  string     `json:"problem,omitempty"`
	Disabled bool       `json:"disabled,omitempty"`
	Tools    []toolLine `json:"tools"`
}

type toolLine struct {
	Name    string            `json:"name"`
	Tool    string            `json:"tool"`
	State   toolbox.ToolState `json:"state"`
	Hash    string            `json:"hash,omitempty"`
	Problem string            `json:"problem,omitempty"`
	Diff    string            `json:"diff,omitempty"`
}

func listed(s toolbox.ListedServer) serverLine {
	line := serverLine{
		Name: s.Config.Name, Scope: string(s.Config.Scope), File: s.Config.Origin.Name, Server: s.Report.Server,
		Protocol: s.Report.Protocol, Took: s.Report.Took.Milliseconds(), Disabled: s.Config.Disabled, Tools: []toolLine{},
	}
	if s.Err != nil {
		line.Problem = s.Err.Error()
	}
	for _, t := range s.Report.Tools {
		tool := toolLine{Name: t.Name, Tool: t.Tool, State: t.State, Hash: t.Hash, Problem: t.Problem}
		if t.State == toolbox.ToolChanged {
			tool.Diff = t.Diff()
		}
		line.Tools = append(line.Tools, tool)
	}
	return line
}

// showServer writes what is known of a server itself.
func showServer(out output.Screen, s toolbox.ListedServer) {
	remark := s.Report.Entry.String()
	if s.Report.Entry.Name == "" {
		remark = s.Config.Command + s.Config.URL
	}
	out.Line("%s  %s (%s, %s)", out.Paint(output.Bold, s.Config.Name), remark, s.Config.Scope, s.Config.Origin)
	switch {
	case s.Config.Disabled:
		out.Line("  %s", out.Paint(output.Dim, "disabled"))
		return
	case s.Err != nil:
		out.Line("  %s %v", out.Paint(output.Red, "fails:"), s.Err)
		return
	}
	out.Line("  %s, protocol %s, answered in %s", s.Report.Server, s.Report.Protocol, output.Seconds(s.Report.Took))
	if s.Report.Moved != "" {
		out.Line("  %s %s", out.Paint(output.Yellow, "another server was approved under this name:"), s.Report.Moved)
	}
	if s.Report.Omitted > 0 {
		out.Line("  %s", out.Paint(output.Yellow, fmt.Sprintf("it has at least %d tools more, which are not looked at", s.Report.Omitted)))
	}
}

// colourOf is how a state is painted.
func colourOf(s toolbox.ToolState) string {
	switch s {
	case toolbox.ToolApproved:
		return output.Green
	case toolbox.ToolNew, toolbox.ToolChanged:
		return output.Yellow
	case toolbox.ToolGone, toolbox.ToolUnusable:
		return output.Red
	}
	return output.Dim
}

// showTools writes a line for each tool.
func showTools(out output.Screen, tools []toolbox.ToolStatus) {
	for _, t := range tools {
		text := t.Description
		if t.Problem != "" {
			text = t.Problem
		}
		pin := ""
		if len(t.Hash) > 12 {
			pin = t.Hash[:12]
		}
		out.Line("  %s  %-12s  %s  %s", out.Paint(colourOf(t.State), fmt.Sprintf("%-8s", t.State)), pin, t.Tool,
			out.Paint(output.Dim, progress.Short(text, 100)))
	}
}

// showChanges writes what a person has to look at, with what changed.
func showChanges(out output.Screen, tools []toolbox.ToolStatus) {
	for _, t := range tools {
		if t.State == toolbox.ToolApproved {
			continue
		}
		showTools(out, []toolbox.ToolStatus{t})
		if t.State != toolbox.ToolChanged {
			continue
		}
		for line := range strings.Lines(t.Diff()) {
			out.Line("      %s", strings.TrimRight(line, "\n"))
		}
	}
}

// next is what to do about a server.
func next(s toolbox.ListedServer) string {
	count := map[toolbox.ToolState]int{}
	for _, t := range s.Report.Tools {
		count[t.State]++
	}
	switch {
	case count[toolbox.ToolNew]+count[toolbox.ToolChanged]+count[toolbox.ToolGone] > 0:
		return "  → look at the tools above; to let agents use them: retinue mcp approve " + s.Config.Name
	case count[toolbox.ToolApproved] == 0:
		return "  → it offers nothing that can be used"
	}
	return "  → agents whose roles name mcp__" + s.Config.Name + "__* can use it; main and general do"
}

// approve shows a server's tools and pins them.
func approve(out output.Screen, manager *toolbox.MCPManager, found toolbox.ListedServer) error {
	showServer(out, found)
	showChanges(out, found.Report.Tools)
	if err := manager.Approve(found); err != nil {
		return err
	}
	usable := 0
	for _, t := range found.Report.Tools {
		switch t.State {
		case toolbox.ToolApproved, toolbox.ToolNew, toolbox.ToolChanged:
			usable++
		case toolbox.ToolGone, toolbox.ToolUnusable:
		}
	}
	out.Line("approved %d %s of %s; each call still asks, unless a rule allows it", usable, output.Plural(usable, "tool"), found.Config.Name)
	return nil
}
