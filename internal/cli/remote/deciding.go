package remote

import (
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/progress"
)

// The scopes of an approval.
const (
	ScopeOnce         = "once"
	ScopeTask         = "task"
	ScopeConversation = "conversation"
)

// Shown are the arguments of a call that a person decides about: all of them, if what the agent
// has read may have written them.
func Shown(p progress.Pending) string {
	if len(p.Sources) > 0 {
		return progress.Exact(p.Text)
	}
	return progress.Short(p.Text, 2000)
}

// Chosen is an answer; the number of an option stands for the option.
func Chosen(p progress.Pending, line string) string {
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(p.Options) {
		return p.Options[n-1]
	}
	return line
}

// Title is what a conversation is called that begins with a prompt: its first line.
func Title(prompt string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	if runes := []rune(first); len(runes) > titleWidth {
		return string(runes[:titleWidth])
	}
	return first
}

// titleWidth is the most that is kept of a prompt as a title.
const titleWidth = 80
