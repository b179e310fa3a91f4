package scripted

import (
	"strings"
	"testing"
)

// TestAMistakeIsReportedWhereItIs wants line, column and the allowed values.
func TestAMistakeIsReportedWhereItIs(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown field": {
			"rules:\n  - name: a\n    repply:\n      text: x\n",
			`s.yaml:3:5: unknown field "repply": allowed are name, when, times, once, reply`,
		},
		"unknown field below": {
			"rules:\n  - when: {rolle: coder}\n    reply: {txt: x}\n",
			"s.yaml:2:12: unknown field \"rolle\": allowed are provider, role, turn, attempt, system, text, " +
				"result, model, results, tools, no_tools, key\n" +
				"s.yaml:3:13: unknown field \"txt\": allowed are thinking, text, calls, obey, stop, usage, model, " +
				"delay, chunk, pace, fault",
		},
		"wrong type": {
			"rules:\n  - when: {turn: soon}\n    reply: {text: x}\n",
			"s.yaml:2:18: cannot unmarshal string into Go struct field Script.Rules of type int",
		},
		"bad expression": {
			"rules:\n  - when:\n      text: '(('\n    reply: {text: x}\n",
			"s.yaml:3:13: error parsing regexp: missing closing ): `((`",
		},
		"unknown stop": {
			"default:\n  stop: tired\n",
			"s.yaml:2:9: stop is tired: allowed are end, tools, max_tokens, refusal",
		},
		"unknown provider": {
			"rules:\n  - when: {provider: acme}\n",
			"s.yaml:2:22: provider is acme: allowed are anthropic, openai",
		},
		"unknown fault": {
			"default:\n  fault: {name: bad_luck}\n",
			"s.yaml:2:17: fault is bad_luck: allowed are " + strings.Join(faultNames(), ", "),
		},
		"fault without a name": {"default:\n  fault: {at: 3}\n", "s.yaml:2:11: the fault has no name"},
		"unknown group": {
			"rules:\n  - when: {text: '(?P<a>x)'}\n    reply:\n      text: ${b}\n",
			"s.yaml:4:13: ${b} is no group of this rule: allowed are 0, 1, a, model, result, role, turn",
		},
		"call without a tool": {"default:\n  calls:\n    - args: {a: 1}\n", "s.yaml:3:7: the call has no tool"},
		"args and raw": {
			"default:\n  calls:\n    - {tool: a, args: {}, raw: x}\n", "s.yaml:3:8: the call has both args and raw",
		},
		"once and times": {
			"rules:\n  - once: true\n    times: 3\n    reply: {text: x}\n",
			"s.yaml:3:12: times must not be negative, nor set beside once",
		},
		"negative pace": {"pace: -1s\ndefault: {text: x}\n", "s.yaml:1:1: chunk and pace must not be negative"},
		"negative wait": {
			"default:\n  text: x\n  fault: {name: stall, wait: -1s}\n",
			"s.yaml:2:3: delay, pace, chunk, wait, size and at must not be negative",
		},
		"nothing to say": {"name: x\n", "s.yaml:1:1: neither rules nor a default: there is nothing to say"},
		"no YAML":        {"rules: [\n", "s.yaml:1:8: sequence end token ']' not found"},
		"empty":          {"", "s.yaml:1:1: want one YAML document with name, rules and default"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(c.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Error() != c.want {
				t.Errorf("got\n%s\nwant\n%s", err, c.want)
			}
		})
	}
}

// TestAScriptInGoIsCheckedToo has no lines to point at, so it names the place.
func TestAScriptInGoIsCheckedToo(t *testing.T) {
	_, err := New(&Script{Name: "mine", Rules: []Rule{{When: Match{Model: "("}}}}, Options{})
	want := "script mine: rules[0].when.model: error parsing regexp: missing closing ): `(`"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
