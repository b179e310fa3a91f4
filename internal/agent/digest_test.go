package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
)

const (
	notObject = "they are not a JSON object"
	noTasks   = "tasks must be a list of at least one task"
	noSchema  = "they do not fit the schema of "
)

// TestKindOf lists the names that the core itself answers; everything else is an ordinary tool.
//
// Covers: R-097 R-111 R-128.
func TestKindOf(t *testing.T) {
	want := map[string]agent.CallKind{
		"spawn_agents": agent.CallSpawn, "delegate_to_agent": agent.CallSpawn, "task": agent.CallSpawn, "Task": agent.CallSpawn,
		"resume_agent": agent.CallResume, "submit_result": agent.CallSubmit, "submit_error": agent.CallSubmitError,
		"ask_user": agent.CallAsk, "reply_to_agent": agent.CallReply,
		"read_agent_transcript": agent.CallTool, "shell": agent.CallTool, "Spawn_Agents": agent.CallTool, "": agent.CallTool,
	}
	for tool, kind := range want {
		if got := agent.KindOf(tool); got != kind {
			t.Errorf("%q is a call of kind %q, want %q", tool, got, kind)
		}
	}
}

// TestAssignments reads the tasks out of every form of a spawn call.
//
// Covers: E-01 R-097 R-100 R-101 R-102 R-117 R-177.
func TestAssignments(t *testing.T) {
	whole := agent.Assignment{
		Role: "coder", Task: "Do it.", Criteria: "It runs.", Files: []string{"a.go", "b.go"}, Cwd: "cmd", Model: "fast",
		Iterations: 7, Background: true,
	}
	wholeJSON := `{"role":"coder","task":"Do it.","success_criteria":"It runs.","context_files":["a.go","b.go"],"cwd":"cmd",` +
		`"model":"fast","max_iterations":7,"background":true}`
	taskJSON := `{"subagent_type":"coder","prompt":"Do it.","run_in_background":true,"description":"short"}`
	general := agent.Assignment{Role: "general", Task: "Do it."}
	cases := []struct {
		tool, args string
		want       []agent.Assignment
		problem    string
	}{
		{"spawn_agents", `{"tasks":[` + wholeJSON + `,{"task":"Do it."}]}`, []agent.Assignment{whole, general}, ""},
		{"spawn_agents", `{"tasks":[{"role":"coder"}]}`, []agent.Assignment{{Role: "coder"}}, ""},
		{"spawn_agents", `{"tasks":[null]}`, []agent.Assignment{{Role: "general"}}, ""},
		{"spawn_agents", `{}`, nil, noTasks},
		{"spawn_agents", `{"tasks":[]}`, nil, noTasks},
		{"spawn_agents", `{"tasks":null}`, nil, noTasks},
		{"spawn_agents", `{"tasks":"Do it."}`, nil, noTasks},
		{"spawn_agents", `{"tasks":{"task":"Do it."}}`, nil, noTasks},
		{"spawn_agents", `{"tasks":["Do it."]}`, nil, noTasks},
		{"spawn_agents", `{"tasks":[[{"task":"Do it."}]]}`, nil, noTasks},
		{"spawn_agents", `{"tasks":[{"task":["Do","it"]}]}`, nil, noTasks},
		{"spawn_agents", `{"tasks":[{"task":"Do it.","max_iterations":"many"}]}`, nil, noTasks},
		{"spawn_agents", `{"task":"Do it."}`, nil, noTasks},
		{"spawn_agents", `[{"task":"Do it."}]`, nil, noSchema + "spawn_agents"},
		{"spawn_agents", `null`, nil, noTasks},
		{"delegate_to_agent", wholeJSON, []agent.Assignment{whole}, ""},
		{"delegate_to_agent", `{"task":"Do it."}`, []agent.Assignment{general}, ""},
		{"delegate_to_agent", `{"role":"coder"}`, []agent.Assignment{{Role: "coder"}}, ""},
		{"delegate_to_agent", `{"task":7}`, nil, noSchema + "delegate_to_agent"},
		{"task", taskJSON, []agent.Assignment{{Role: "coder", Task: "Do it.", Background: true}}, ""},
		{"Task", `{"prompt":"Do it."}`, []agent.Assignment{general}, ""},
		{"resume_agent", `{"agent_id":"c/1.0.0","instruction":"Go on."}`, []agent.Assignment{{Task: "Go on.", Agent: "c/1.0.0"}}, ""},
		{"resume_agent", `{"instruction":"Go on."}`, nil, "agent_id is missing"},
		{"resume_agent", `{"agent_id":null}`, nil, "agent_id is missing"},
	}
	for _, c := range cases {
		got, problem := agent.Assignments(c.tool, c.args)
		if diff := cmp.Diff(c.want, got); diff != "" || problem != c.problem {
			t.Errorf("%s %s: problem %q, want %q; tasks (-want +got):\n%s", c.tool, c.args, problem, c.problem, diff)
		}
	}
}

// TestItems shows the core's description of a task: whether it has words, and an identity made of
// all its words, but not whether and how an agent waits for it.
//
// Covers: E-09 R-095 R-100 R-102.
func TestItems(t *testing.T) {
	one := func(args string) agent.Item {
		t.Helper()
		c := agent.Digest("delegate_to_agent", args)
		if c.Problem != "" || len(c.Items) != 1 {
			t.Fatalf("%s: %+v", args, c)
		}
		return c.Items[0]
	}
	base := one(`{"role":"coder","task":"Do it.","success_criteria":"ok","cwd":"a","context_files":["x","y"],"model":"fast"}`)
	if base.Blank || base.Role != "coder" || base.Tokens <= 0 {
		t.Errorf("item is %+v", base)
	}
	for _, args := range []string{
		`{"task":"Do it.","role":"coder","cwd":"a","model":"fast","context_files":["x","y"],"success_criteria":"ok"}`,
		`{"role":"coder","task":"Do it.","success_criteria":"ok","cwd":"a","context_files":["x","y"],"model":"fast","background":true}`,
	} {
		if got := one(args); got.Hash != base.Hash {
			t.Errorf("%s is another task", args)
		}
	}
	for _, args := range []string{
		`{"role":"tester","task":"Do it.","success_criteria":"ok","cwd":"a","context_files":["x","y"],"model":"fast"}`,
		`{"role":"coder","task":"Do it!","success_criteria":"ok","cwd":"a","context_files":["x","y"],"model":"fast"}`,
		`{"role":"coder","task":"Do it.","success_criteria":"no","cwd":"a","context_files":["x","y"],"model":"fast"}`,
		`{"role":"coder","task":"Do it.","success_criteria":"ok","cwd":"b","context_files":["x","y"],"model":"fast"}`,
		`{"role":"coder","task":"Do it.","success_criteria":"ok","cwd":"a","context_files":["x"],"model":"fast"}`,
		`{"role":"coder","task":"Do it.","success_criteria":"ok","cwd":"a","context_files":["x","y"],"model":"strong"}`,
	} {
		if got := one(args); got.Hash == base.Hash {
			t.Errorf("%s is the same task", args)
		}
	}
	for _, args := range []string{`{}`, `{"role":"coder"}`, `{"task":""}`, `{"task":" \n\t"}`} {
		if got := one(args); !got.Blank {
			t.Errorf("%s has words", args)
		}
	}
}

// TestItemsCarryWhatWasAsked compares whole items.
//
// Covers: R-095 R-108 R-117.
func TestItemsCarryWhatWasAsked(t *testing.T) {
	for _, test := range []struct {
		tool, args string
		want       agent.Item
	}{
		{
			agent.ToolSpawn, `{"tasks":[{"role":"coder","task":"Do it.","background":true,"max_iterations":7}]}`,
			agent.Item{Role: "coder", Background: true, Iterations: 7, Tokens: 129},
		},
		{
			"task", `{"prompt":"Do it.","subagent_type":"coder","run_in_background":true}`,
			agent.Item{Role: "coder", Background: true, Tokens: 129},
		},
		{agent.ToolResume, `{"agent_id":"c/1.0.0","task":"Go on."}`, agent.Item{Agent: "c/1.0.0", Tokens: 129}},
	} {
		got := agent.Digest(test.tool, test.args).Items
		for i := range got {
			got[i].Hash = ""
		}
		if diff := cmp.Diff([]agent.Item{test.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.args, diff)
		}
	}
}

// TestDigestRole shows that a role offered as a tool is a spawn call for that role, with its
// arguments as the task.
//
// Covers: R-097 R-103 R-177.
func TestDigestRole(t *testing.T) {
	args := `{"query":"who calls Login?"}`
	got := agent.DigestRole("code_search", "searcher", args)
	want := agent.Call{
		Tool: "code_search", Kind: agent.CallSpawn, Hash: agent.Digest("code_search", args).Hash,
		Items: []agent.Item{{Role: "searcher", Hash: got.Items[0].Hash, Tokens: got.Items[0].Tokens}},
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Items[0].Hash == "" || got.Items[0].Tokens == 0 {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	for _, args := range []string{`{"task":{"id":7}}`, `{"tasks":"all","agent_id":7}`, `{"background":"dark"}`} {
		if got := agent.DigestRole("code_search", "searcher", args); got.Problem != "" || len(got.Items) != 1 {
			t.Errorf("%s, which is up to the role's own schema, is %+v", args, got)
		}
	}
	broken := agent.DigestRole("code_search", "searcher", `{"query":`)
	if broken.Problem != notObject || len(broken.Items) != 0 || broken.Kind != agent.CallSpawn {
		t.Errorf("a broken call is %+v", broken)
	}
}

// TestDigestCalls lists the faults, if any, of the arguments of calls that the core answers.
//
// Covers: E-01 E-22 E-25 E-27 E-83 R-067 R-100 R-109 R-110 R-114 R-115.
func TestDigestCalls(t *testing.T) {
	const blankResult, blankError = "summary must be a text that is not empty", "error must be a text that is not empty"
	const blankQuestion, blankReply = "question must be a text that is not empty", "question_id and answer must not be empty"
	cases := []struct {
		tool, args, problem string
	}{
		{"spawn_agents", `{"tasks":[{"task":"Do it."}]}`, ""},
		{"spawn_agents", `{"tasks":[]}`, noTasks},
		{"spawn_agents", `{"tasks":[{"task":"Do`, notObject},
		{"spawn_agents", `not JSON`, notObject},
		{"resume_agent", `{"instruction":"Go on."}`, "agent_id is missing"},
		{"submit_result", `{"summary":"Done."}`, ""},
		{"submit_result", `{"result":"Done."}`, ""},
		{"submit_result", `{"summary":"","result":"Done.","data":[]}`, ""},
		{"submit_result", `{"summary":" \t\n"}`, blankResult},
		{"submit_result", `{"summary":["Done."]}`, blankResult},
		{"submit_result", `{"summary":null}`, blankResult},
		{"submit_result", `{}`, blankResult},
		{"submit_result", `{"summary":"Done.`, notObject},
		{"submit_result", `"Done."`, notObject},
		{"submit_error", `{"error":"It broke."}`, ""},
		{"submit_error", `{"error":""}`, blankError},
		{"submit_error", `{"summary":"It broke."}`, blankError},
		{"submit_error", ``, notObject},
		{"ask_user", `{"question":"Which year?"}`, ""},
		{"ask_user", `{"questions":["Which year?","Which month?"]}`, ""},
		{"ask_user", `{"question":"Which year?","options":["2024","2025"]}`, ""},
		{"ask_user", `{"question":" ?! "}`, blankQuestion},
		{"ask_user", `{"questions":[]}`, blankQuestion},
		{"ask_user", `{}`, blankQuestion},
		{"ask_user", `{"question":["Which year?"]}`, noSchema + "ask_user"},
		{"ask_user", `{"questions":"Which year?"}`, noSchema + "ask_user"},
		{"reply_to_agent", `{"question_id":"q","answer":"2024","confidence":0.7}`, ""},
		{"reply_to_agent", `{"question_id":"q","answer":"2024"}`, ""},
		{"reply_to_agent", `{"question_id":"q","answer":"2024","confidence":1.2}`, "confidence must be between 0 and 1"},
		{"reply_to_agent", `{"question_id":"q","answer":"2024","confidence":-0.1}`, "confidence must be between 0 and 1"},
		{"reply_to_agent", `{"question_id":"q","answer":"2024","confidence":"high"}`, noSchema + "reply_to_agent"},
		{"reply_to_agent", `{"question_id":"q","answer":" ","confidence":1}`, blankReply},
		{"reply_to_agent", `{"agent_id":"c/1.0.0","answer":"2024","confidence":1}`, blankReply},
		{"shell", `{"command":"ls"}`, ""},
		{"shell", `{}`, ""},
		{"shell", ``, notObject},
		{"shell", `{"command":"rm -rf `, notObject},
		{"shell", `{"command":"ls"} and more`, notObject},
		{"shell", `{"command":"ls"}}`, notObject},
		{"shell", `{"command":"ls"}]`, notObject},
		{"shell", `{"command":"ls"}{"command":"rm"}`, notObject},
		{"shell", `["ls"]`, notObject},
		{"shell", `null`, notObject},
		{"shell", `"ls"`, notObject},
	}
	for _, c := range cases {
		got := agent.Digest(c.tool, c.args)
		if got.Problem != c.problem || got.Kind != agent.KindOf(c.tool) || got.Tool != c.tool || got.Hash == "" {
			t.Errorf("%s %s: problem %q, want %q (%+v)", c.tool, c.args, got.Problem, c.problem, got)
		}
	}
}

// TestConfidence shows that an answer is as sure as it says in whole percent, never surer.
//
// Covers: R-067 R-115 R-259.
func TestConfidence(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "0.004": 0, "0.29": 29, "0.57": 57, "0.69": 69, "0.695": 69, "0.6999": 69, "0.7": 70, "0.70": 70, "7e-1": 70,
		"0.705": 70, "0.999": 99, "1": 100, "1.0": 100,
	} {
		got := agent.Digest("reply_to_agent", `{"question_id":"q","answer":"a","confidence":`+text+`}`)
		if got.Problem != "" || got.Question != "q" || got.Confidence != want {
			t.Errorf("confidence %s is %d percent of %q, want %d (%s)", text, got.Confidence, got.Question, want, got.Problem)
		}
	}
	if got := agent.Digest("reply_to_agent", `{"question_id":"q","answer":"a"}`); got.Confidence != 0 {
		t.Errorf("an answer that does not say how sure it is counts as %d percent", got.Confidence)
	}
}

// TestHashes shows what makes two calls the same: tool and values, not the order of keys, not white
// space.
//
// Covers: E-28 E-82 E-102.
func TestHashes(t *testing.T) {
	cases := []struct {
		toolA, a, toolB, b string
		same               bool
	}{
		{"shell", `{"a":1,"b":[1,{"c":2,"d":"x"}]}`, "shell", " {\n\"b\" : [1,{\"d\":\"\\u0078\",\"c\":2}] ,\t\"a\":1}", true},
		{"shell", `{"a":"<&>"}`, "shell", `{"a":"\u003c\u0026\u003e"}`, true},
		{"shell", `{"a":1}`, "sh", `{"a":1}`, false},
		{"shell", `{"a":1}`, "shell", `{"a":2}`, false},
		{"shell", `{"a":1}`, "shell", `{"a":1.0}`, false},
		{"shell", `{"a":1}`, "shell", `{"a":"1"}`, false},
		{"shell", `{"a":10000000000000001}`, "shell", `{"a":10000000000000002}`, false},
		{"shell", `{"a":[1,2]}`, "shell", `{"a":[2,1]}`, false},
		{"shell", `{"a":"x y"}`, "shell", `{"a":"x  y"}`, false},
		{"shell", `{"a":null}`, "shell", `{}`, false},
		{"shell", `{"a":"b`, "shell", `{}`, false},
		{"shell", `{"a":"b`, "shell", `{"a":"c`, false},
		{"ask_user", `{"question":"What year is it?"}`, "ask_user", `{"question":" what YEAR,  is it"}`, true},
		{"ask_user", `{"question":"What year is it?"}`, "ask_user", `{"questions":["What year","is it?"]}`, true},
		{"ask_user", `{"question":"Größe?"}`, "ask_user", `{"question":"GRÖßE"}`, true},
		{"ask_user", `{"question":"What year is it?"}`, "ask_user", `{"question":"What month is it?"}`, false},
		{"ask_user", `{"question":"What year is it?"}`, "ask_user", `{"question":"What yearisit?"}`, false},
		{"ask_user", `{"question":"Version 1 or 2?"}`, "ask_user", `{"question":"Version 1 or 3?"}`, false},
	}
	for _, c := range cases {
		a, b := agent.Digest(c.toolA, c.a), agent.Digest(c.toolB, c.b)
		if (a.Hash == b.Hash) != c.same {
			t.Errorf("%s %s and %s %s: the same is %t, want %t", c.toolA, c.a, c.toolB, c.b, a.Hash == b.Hash, c.same)
		}
	}
}

// FuzzDigest reads any text as the arguments of any call: it never panics, calls an object an
// object and nothing else, and does not take the same call for two.
func FuzzDigest(f *testing.F) {
	tools := []string{
		"spawn_agents", "delegate_to_agent", "task", "resume_agent", "submit_result", "submit_error", "ask_user",
		"reply_to_agent", "shell",
	}
	for i := range tools {
		for _, args := range []string{
			`{"tasks":[{"task":"x","context_files":["a"]}]}`, `{"task":"x"}`, `{"prompt":"x","agent_id":"c"}`, `{"summary":1}`,
			`{"questions":["a","b"]}`, `{"question_id":"q","answer":"a","confidence":1e400}`, `{}`, `{}}`, `{"a":`, "\x00", `{"a":"\ud800"}`,
		} {
			f.Add(i, args)
		}
	}
	f.Fuzz(func(t *testing.T, i int, args string) {
		tool := tools[(i%len(tools)+len(tools))%len(tools)]
		c := agent.Digest(tool, args)
		object := json.Valid([]byte(args)) && strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{")
		if object == (c.Problem == notObject) {
			t.Fatalf("%s %q: an object is %t, the problem %q", tool, args, object, c.Problem)
		}
		if c.Problem != "" && len(c.Items) > 0 {
			t.Fatalf("%s %q: %d items in spite of %q", tool, args, len(c.Items), c.Problem)
		}
		if c.Problem == "" && c.Kind == agent.CallReply && (c.Confidence < 0 || c.Confidence > 100) {
			t.Fatalf("%s %q: confidence %d", tool, args, c.Confidence)
		}
		if again := agent.Digest(tool, fmt.Sprintf(" %s\n", args)); again.Hash != c.Hash && object {
			t.Fatalf("%s %q: white space makes another call of it", tool, args)
		}
		if role := agent.DigestRole("code_search", "searcher", args); (len(role.Items) == 1) != object {
			t.Fatalf("%q as a role's call: %+v", args, role)
		}
	})
}
