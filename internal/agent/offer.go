package agent

import "slices"

// The names of the calls that the core itself answers. Aliases are accepted, the first name is
// offered.
const (
	ToolSpawn       = "spawn_agents"
	ToolResume      = "resume_agent"
	ToolSubmit      = "submit_result"
	ToolSubmitError = "submit_error"
	ToolAsk         = "ask_user"
	ToolReply       = "reply_to_agent"
	// ToolTranscript is an ordinary reading tool that goes with delegation: nothing must be done
	// twice because a report was too short.
	ToolTranscript = "read_agent_transcript"
	// ToolMerge brings the changes of a child's worktree into its parent's files. Agents that may
	// delegate and write have it.
	ToolMerge = "merge_patch"
)

// KindOf is the kind of call that a tool name means. Names of roles that are offered as tools,
// which only the host knows, are spawn calls too.
func KindOf(tool string) CallKind {
	switch tool {
	case ToolSpawn, "delegate_to_agent", "task", "Task":
		return CallSpawn
	case ToolResume:
		return CallResume
	case ToolSubmit:
		return CallSubmit
	case ToolSubmitError:
		return CallSubmitError
	case ToolAsk:
		return CallAsk
	case ToolReply:
		return CallReply
	}
	return CallTool
}

// Offer lists the tools that a model call of this kind is shown, sorted. A tool that is not offered
// is refused again when it is called.
func Offer(s State, kind TurnKind) []string {
	b := s.Brief
	if kind == TurnCompact {
		return nil
	}
	var out []string
	if !s.orchestrator() {
		out = append(out, ToolSubmit, ToolSubmitError)
	}
	if kind == TurnGrace {
		return sorted(out)
	}
	out = append(out, b.Tools...)
	if b.CanDelegate && b.Depth+1 <= b.Limits.Depth {
		out = append(out, ToolSpawn, ToolResume, ToolTranscript)
		if b.Authority.Write {
			out = append(out, ToolMerge)
		}
	}
	if !s.orchestrator() && b.CanAsk {
		out = append(out, ToolAsk)
	}
	if s.orchestrator() && len(s.Questions) > 0 {
		out = append(out, ToolReply)
	}
	return sorted(out)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
