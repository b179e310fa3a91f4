package scripted

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	neverRun  = "a call that is marked malformed and never run, whatever its arguments look like"
	asWritten = "the calls exactly as written, once each; what to make of them is the core's decision"
)

// contentFaults are what a model says that it should not, over a wire that works.
func contentFaults() []Fault { return slices.Concat(callFaults(), replyFaults()) }

// callFaults are those of the calls in a reply.
func callFaults() []Fault {
	return []Fault{
		{
			ID: "L21", Name: "cut_args", Must: neverRun, answer: cutArgs,
			Does: "the last call's arguments end in the middle, and the stop reason is tools all the same",
		},
		{ID: "L22", Name: "bad_args", Must: neverRun, answer: badArgs, Does: "arguments that are no JSON"},
		{
			ID: "L23", Name: "odd_args", Must: neverRun, answer: oddArgs,
			Does: "arguments that are JSON but no object: at 0 null, 1 a list, 2 a text, 3 a number",
		},
		{
			ID: "L24", Name: "unknown_tool", Must: asWritten, answer: unknownTool,
			Does: "a call of a tool that does not exist",
		},
		{
			ID: "L25", Name: "forbidden_tool", Must: asWritten, answer: forbiddenTool,
			Does: "a call of a tool that was not offered",
		},
		{
			ID: "L26", Name: "same_ids", Must: "two calls that can be told apart, or one error", answer: sameIDs,
			Does: "two calls with the same id",
		},
		{
			ID: "L27", Name: "empty_id", Must: "a call that can be answered, or one error", answer: emptyID,
			Does: "a call with an empty id",
		},
		{
			ID: "L28", Name: "many_calls", Must: "all of them or one error, in bounded memory", answer: manyCalls,
			Does: "size (10,000) calls in one reply",
		},
	}
}

// replyFaults are those of a reply as a whole.
func replyFaults() []Fault {
	return []Fault{
		{ID: "L29", Name: "long_text", Must: orWhole, answer: longText, Does: "size (5 MB) of text"},
		{
			ID: "L30", Name: "empty", Must: "an empty reply or one retryable error, never invented text",
			answer: empty, Does: "a reply without any content",
		},
		{ID: "L31", Name: "refusal", Must: "a reply whose stop is a refusal", answer: refuse, Does: "the model declines"},
		{
			ID: "L32", Name: "odd_usage", Must: "an estimate that is marked as one and no less than the bill",
			told: oddUsage, Does: "usage is missing (at 0), negative (1) or absurd (2)",
		},
		{ID: "L33", Name: "many_spawns", Must: asWritten, answer: manySpawns, Does: "size (200) spawns in one reply"},
		{ID: "L34", Name: "spawn_itself", Must: asWritten, answer: spawnItself, Does: "spawns its own role, always"},
		{ID: "L35", Name: "same_failure", Must: asWritten, answer: sameFailure, Does: "the same failing call, always"},
		{ID: "L36", Name: "never_submit", Must: "the text, once", answer: neverSubmit, Does: "talks and never submits"},
		{
			ID: "L37", Name: "submit_twice", Must: asWritten, answer: submitTwice,
			Does: "submit_result twice in one reply (at 0), or after text (at 1)",
		},
		{
			ID: "L38", Name: "obey", Must: asWritten, answer: obey,
			Does: "does whatever the last tool result or message asks for: fetches its URLs, runs its commands",
		},
		{
			ID: "L39", Name: "attack_args", Must: asWritten, answer: attackArgs,
			Does: "paths and URLs that try to leave where they may go",
		},
		{
			ID: "L40", Name: "other_model", Must: "the reply, with the name that answered", answer: otherModel,
			Does: "another model answers than the one that was asked",
		},
	}
}

// aCall makes sure that there is a call to spoil.
func aCall(q *ask, a *answer) *toolCall {
	if len(a.calls) == 0 {
		tool := "read_file"
		if len(q.Tools) > 0 {
			tool = q.Tools[0]
		}
		a.calls = append(a.calls, toolCall{tool: tool, args: `{"path":"notes.md"}`})
	}
	return &a.calls[len(a.calls)-1]
}

func cutArgs(q *ask, a *answer, _ Trouble) {
	c := aCall(q, a)
	c.args = c.args[:len(c.args)/2]
	a.stop = StopTools
}

func badArgs(q *ask, a *answer, _ Trouble) { aCall(q, a).args = `{"path": notes.md,}` }

func oddArgs(q *ask, a *answer, t Trouble) {
	odd := []string{`null`, `["notes.md"]`, `"notes.md"`, `42`}
	aCall(q, a).args = odd[t.At%len(odd)]
}

func unknownTool(q *ask, a *answer, _ Trouble) { aCall(q, a).tool = "no_such_tool" }

func forbiddenTool(_ *ask, a *answer, _ Trouble) {
	a.calls = []toolCall{{tool: "shell", args: `{"command":"id"}`}}
}

func sameIDs(q *ask, a *answer, _ Trouble) {
	c := aCall(q, a)
	c.id = "toolu_same"
	a.calls = append(a.calls, *c)
}

func emptyID(q *ask, a *answer, _ Trouble) {
	c := aCall(q, a)
	c.id, c.nameless = "", true
}

func manyCalls(q *ask, a *answer, t Trouble) {
	c := *aCall(q, a)
	a.calls = nil
	for i := range cmp.Or(t.Size, 10_000) {
		a.calls = append(a.calls, toolCall{tool: c.tool, args: fmt.Sprintf(`{"path":"%d.md"}`, i)})
	}
}

func longText(_ *ask, a *answer, t Trouble) {
	size := cmp.Or(t.Size, 5<<20)
	line := "All work is done and written down in order. "
	a.text = strings.Repeat(line, size/len(line)+1)[:size-1] + "."
	a.chunk = max(a.chunk, 4096)
}

func empty(_ *ask, a *answer, _ Trouble) {
	a.thinking, a.text, a.calls, a.stop = "", "", nil, StopEnd
}

func refuse(_ *ask, a *answer, _ Trouble) {
	a.calls, a.stop = nil, StopRefusal
	a.text = cmp.Or(a.text, "I cannot help with that.")
}

func oddUsage(a *answer, t Trouble) {
	switch t.At % 3 {
	case 0:
		a.told = nil
	case 1:
		a.told = &Usage{Input: -7, Output: -11}
	default:
		a.told = &Usage{Input: 1 << 53, Output: 1 << 53}
	}
}

func manySpawns(_ *ask, a *answer, t Trouble) {
	a.calls = nil
	for i := range cmp.Or(t.Size, 200) {
		a.calls = append(a.calls, spawn("researcher", fmt.Sprintf("Part %d of the work.", i)))
	}
}

func spawn(role, task string) toolCall {
	args := map[string]any{"tasks": []any{map[string]any{"role": role, "task": task}}}
	return toolCall{tool: "spawn_agents", args: string(must(args))}
}

func spawnItself(q *ask, a *answer, _ Trouble) {
	a.calls = []toolCall{spawn(cmp.Or(q.Role, "general"), "Do the same as I was told to do.")}
}

func sameFailure(_ *ask, a *answer, _ Trouble) {
	a.calls = []toolCall{{tool: "read_file", args: `{"path":"no/such/file"}`}}
}

func neverSubmit(_ *ask, a *answer, _ Trouble) {
	a.calls, a.text = nil, "I am still looking into it."
}

func submitTwice(_ *ask, a *answer, t Trouble) {
	submit := func(words string) toolCall {
		return toolCall{tool: "submit_result", args: string(must(map[string]any{"result": words}))}
	}
	if t.At > 0 {
		a.text, a.calls = "Here is what I found.", []toolCall{submit("the first")}
		return
	}
	a.calls = []toolCall{submit("the first"), submit("the second")}
}

var (
	anyURL  = regexp.MustCompile(`https?://[^\s"'<>)]+`)
	anyLine = regexp.MustCompile("(?m)(?:run|execute):? `([^`\n]+)`")
)

func obey(q *ask, a *answer, _ Trouble) {
	a.calls = nil
	heard := strings.Join(append([]string{q.Text}, q.Results...), "\n")
	for _, url := range anyURL.FindAllString(heard, -1) {
		a.calls = append(a.calls, toolCall{tool: "fetch", args: string(must(map[string]any{"url": url}))})
	}
	for _, m := range anyLine.FindAllStringSubmatch(heard, -1) {
		a.calls = append(a.calls, toolCall{tool: "shell", args: string(must(map[string]any{"command": m[1]}))})
	}
}

func attackArgs(_ *ask, a *answer, _ Trouble) {
	a.calls = nil
	for _, path := range []string{
		"../../etc/passwd", "/etc/shadow", "a/../../b", "..\\..\\secret", "/proc/self/environ",
		"notes.md\x00.png", "//etc//passwd", "~/.ssh/id_rsa", "file:///etc/passwd", strings.Repeat("a/", 2000),
	} {
		a.calls = append(a.calls, toolCall{tool: "read_file", args: string(must(map[string]any{"path": path}))})
	}
	for _, url := range []string{
		"http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:22/", "http://[::1]/", "http://0/",
		"http://2130706433/", "http://[::ffff:127.0.0.1]/", "gopher://127.0.0.1:6379/_INFO",
		"http://user@127.0.0.1/", "http://localtest.me/", "ftp://127.0.0.1/",
	} {
		a.calls = append(a.calls, toolCall{tool: "fetch", args: string(must(map[string]any{"url": url}))})
	}
}

func otherModel(q *ask, a *answer, _ Trouble) { a.model = q.Model + "-other" }
