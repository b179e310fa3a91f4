package role

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
)

// tool is one of the built-in tools: its effects, and its names in other programs.
type tool struct {
	name    string
	aliases []string
	write   bool
	network bool
	// reading marks the tools of a role that names none.
	reading bool
}

// tools is every tool a role may name. MCP tools are named by their server.
var tools = []tool{
	{name: "edit_file", write: true, aliases: []string{"Edit", "MultiEdit", "NotebookEdit", "patch", "apply_patch", "str_replace_editor", "file_editor", "replace", "replace_file_content", "multi_replace_file_content"}},
	{name: "glob", reading: true, aliases: []string{"find_files"}},
	{name: "grep", reading: true, aliases: []string{"search", "keyword_search", "ripgrep", "grep_search", "search_file_content"}},
	{name: "list_dir", reading: true, aliases: []string{"LS", "list", "list_directory"}},
	{name: "read_file", reading: true, aliases: []string{"Read", "view", "view_file", "NotebookRead", "read_many_files"}},
	{name: "read_image", reading: true, aliases: []string{"view_image"}},
	{name: "shell", write: true, aliases: []string{"Bash", "terminal", "execute_bash", "BashOutput", "KillBash", "KillShell", "run_command", "run_shell_command"}},
	{name: "think", reading: true, aliases: []string{"sequentialthinking"}},
	{name: "todo", reading: true, aliases: []string{"TodoWrite", "TodoRead", "task_tracker"}},
	{name: "web_fetch", network: true, aliases: []string{"fetch"}},
	{name: "web_search", network: true, aliases: []string{"tavily_search", "google_web_search"}},
	{name: "write_file", write: true, aliases: []string{"Write", "create", "create_file", "write_to_file"}},
}

// elsewhere are tools of other programs that have no counterpart here. A file may name them.
var elsewhere = []string{
	"ExitPlanMode", "EnterPlanMode", "ListMcpResourcesTool", "ReadMcpResourceTool", "LSP", "Skill",
	"SlashCommand", "ToolSearch", "external_directory", "doom_loop", "browser", "browser_use",
}

// control are the names of the core's own tools: a role that lists them changes nothing.
var control = []string{
	agent.ToolSubmit, agent.ToolSubmitError, agent.ToolReply, agent.ToolResume, agent.ToolTranscript,
	agent.ToolMerge,
	"TaskOutput", "TaskStop", "SendMessage", "list_agents", "message_agent", "stop_agent", "finish",
}

// delegation and asking are the names under which a tool list asks for these two.
var (
	delegation = []string{agent.ToolSpawn, "Agent", "Task", "delegate_to_agent", "spawn_agent", "delegate"}
	asking     = []string{agent.ToolAsk, "AskUserQuestion", "question"}
)

// toolKind is the meaning of a name in a tool list.
type toolKind string

const (
	toolOurs      toolKind = "ours"
	toolMCP       toolKind = "mcp"
	toolDelegates toolKind = "delegates"
	toolAsks      toolKind = "asks"
	toolElsewhere toolKind = "elsewhere"
	toolControl   toolKind = "control"
	toolUnknown   toolKind = "unknown"
)

// lookUp finds the meaning of a name in a tool list, and our name or pattern for it. A name that
// ends in * stands for every tool that begins so.
func lookUp(name string) ([]string, toolKind) {
	if name == "*" || strings.EqualFold(name, "all") {
		return ToolNames(), toolOurs
	}
	if strings.HasPrefix(name, "mcp__") {
		return []string{mcpName(name)}, toolMCP
	}
	key := document.Fold(name)
	for _, t := range tools {
		if key == document.Fold(t.name) || slices.ContainsFunc(t.aliases, func(a string) bool { return key == document.Fold(a) }) {
			return []string{t.name}, toolOurs
		}
	}
	same := func(a string) bool { return key == document.Fold(a) }
	switch {
	case slices.ContainsFunc(delegation, same):
		return nil, toolDelegates
	case slices.ContainsFunc(asking, same):
		return nil, toolAsks
	case slices.ContainsFunc(control, same):
		return nil, toolControl
	case slices.ContainsFunc(elsewhere, same):
		return nil, toolElsewhere
	}
	return group(name)
}

// group resolves a pattern: a group of our tools, or else all tools of an MCP server.
func group(name string) ([]string, toolKind) {
	stem, pattern := strings.CutSuffix(name, "*")
	if !pattern || !isName(stem) {
		return nil, toolUnknown
	}
	var ours []string
	for _, t := range tools {
		if strings.HasPrefix(t.name, stem) {
			ours = append(ours, t.name)
		}
	}
	if len(ours) > 0 {
		return ours, toolOurs
	}
	if server, ok := strings.CutSuffix(stem, "_"); ok { // opencode joins server and tool by one _
		return []string{"mcp__" + server + "__*"}, toolMCP
	}
	return []string{"mcp__" + name}, toolMCP
}

// mcpName writes the name of MCP tools our way: mcp__server__tool, or a beginning and *. A server
// alone stands for all its tools.
func mcpName(name string) string {
	rest := strings.TrimPrefix(name, "mcp__")
	if strings.Contains(rest, "__") || strings.HasSuffix(rest, "*") {
		return name
	}
	return name + "__*"
}

// isName reports whether a text may be part of a tool's name.
func isName(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// noTool complains of a name that no tool has.
func noTool(name string) string {
	aliases := slices.Concat(delegation, asking)
	for _, t := range tools {
		aliases = append(aliases, t.aliases...)
	}
	return fmt.Sprintf("there is no tool %q: %s", name, document.Meant(name, ToolNames(), aliases...))
}

// ToolNames lists the built-in tools, sorted.
func ToolNames() []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}

// readingTools are the tools of a role that names none.
func readingTools() []string {
	var names []string
	for _, t := range tools {
		if t.reading {
			names = append(names, t.name)
		}
	}
	return names
}

// needs is the authority that a set of tools requires. The effects of an MCP tool are unknown, so
// it requires all.
func needs(names []string) agent.Authority {
	a := agent.Authority{Tools: slices.Compact(slices.Sorted(slices.Values(names)))}
	for _, name := range a.Tools {
		i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
		a.Write = a.Write || i < 0 || tools[i].write
		a.Network = a.Network || i < 0 || tools[i].network
	}
	return a
}

// covered reports whether a tool is named by a list, in which an entry may end in *.
func covered(list []string, name string) bool {
	return agent.Authority{Tools: list}.Covers(agent.Authority{Tools: []string{name}})
}
