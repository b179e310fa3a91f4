package role

import (
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
)

func TestTheStrictestVerdictCounts(t *testing.T) {
	role := Role{Rules: []Rule{
		{Tool: "shell", Pattern: "git *", Verdict: agent.PolicyAllow},
		{Tool: "shell", Pattern: "ls *", Verdict: agent.PolicyAllow},
		{Tool: "shell", Pattern: "rm *", Verdict: agent.PolicyDeny},
		{Tool: "shell", Pattern: "git push *", Verdict: agent.PolicyAsk},
	}}
	everything := Role{Rules: []Rule{{Tool: "*", Verdict: agent.PolicyAllow}, {Tool: "shell", Pattern: "rm *", Verdict: agent.PolicyDeny}}}
	plain := func(texts ...string) (out []Matter) {
		for _, text := range texts {
			out = append(out, Matter{Forms: []string{text}})
		}
		return out
	}
	for name, c := range map[string]struct {
		role Role
		in   []Matter
		want agent.Policy
	}{
		"all allowed":               {role, plain("git status", "ls"), agent.PolicyAllow},
		"one asked about":           {role, plain("git status", "git push"), agent.PolicyAsk},
		"one without a rule":        {role, plain("git status", "make"), agent.PolicyUnset},
		"one denied":                {role, plain("make", "git push", "rm x"), agent.PolicyDeny},
		"by its bare name":          {role, []Matter{{Forms: []string{"/bin/rm x", "rm x"}}}, agent.PolicyDeny},
		"allowed by bare name only": {role, []Matter{{Forms: []string{"/tmp/ls", "ls"}}}, agent.PolicyUnset},
		"a part is hidden":          {role, []Matter{{Forms: []string{"git $X"}, Hidden: true}}, agent.PolicyAsk},
		"hidden, all is allowed":    {everything, []Matter{{Forms: []string{"$X"}, Hidden: true}}, agent.PolicyAllow},
		"asked, all is allowed":     {everything, []Matter{{Forms: []string{"AGENTS.md"}, Asked: true}}, agent.PolicyAsk},
		"asked and denied":          {everything, []Matter{{Forms: []string{"rm x"}, Asked: true}}, agent.PolicyDeny},
		"hidden and denied":         {everything, []Matter{{Forms: []string{"rm $X"}, Hidden: true}}, agent.PolicyDeny},
		"nothing":                   {everything, nil, agent.PolicyAllow},
	} {
		if got := c.role.Judge("shell", c.in); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAMergeIsJudgedAsTheEditsThatItIs(t *testing.T) {
	edit := func(pattern string, v agent.Policy) []Rule {
		return []Rule{{Tool: "edit_file", Pattern: pattern, Verdict: v}, {Tool: "write_file", Pattern: pattern, Verdict: v}}
	}
	both := []Matter{{Forms: []string{"src/a.go"}}, {Forms: []string{"secret/key"}}}
	for name, c := range map[string]struct {
		rules []Rule
		want  agent.Policy
	}{
		"no rule":                 {nil, agent.PolicyUnset},
		"all edits allowed":       {edit("", agent.PolicyAllow), agent.PolicyAllow},
		"some allowed":            {edit("src/*", agent.PolicyAllow), agent.PolicyUnset},
		"one denied":              {append(edit("", agent.PolicyAllow), edit("secret/*", agent.PolicyDeny)...), agent.PolicyDeny},
		"only edits allowed":      {[]Rule{{Tool: "edit_file", Verdict: agent.PolicyAllow}}, agent.PolicyUnset},
		"everything asked about":  {[]Rule{{Tool: "*", Verdict: agent.PolicyAsk}}, agent.PolicyAsk},
		"nothing is ever allowed": {[]Rule{{Tool: "*", Verdict: agent.PolicyDeny}}, agent.PolicyDeny},
	} {
		if got := (Role{Rules: c.rules}).Judge(agent.ToolMerge, both); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
