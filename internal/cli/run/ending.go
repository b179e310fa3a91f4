package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/internal/progress"
)

// Ending is how run ended.
type Ending struct {
	// Code is what the program exits with.
	Code int
	// Left means that the agents were not waited for.
	Left   bool
	result result
}

// result is what run prints as JSON.
type result struct {
	Type         string         `json:"type"`
	Conversation string         `json:"conversation"`
	Status       chat.Status    `json:"status"`
	Kind         chat.ErrorKind `json:"error_kind,omitempty"`
	Reason       string         `json:"reason,omitempty"`
	Message      string         `json:"message,omitempty"`
	Result       string         `json:"result"`
	NeedsPerson  bool           `json:"needs_person,omitempty"`
	// Verdict is the worst on what any agent claims.
	Verdict  receipt.Verdict `json:"verdict"`
	Demo     bool            `json:"demo,omitempty"`
	Usage    progress.Usage  `json:"usage"`
	Cost     float64         `json:"cost"`
	Agents   []resultOfAgent `json:"agents"`
	Duration int64           `json:"duration_ms"`
	ExitCode int             `json:"exit_code"`
}

// resultOfAgent is one agent in a result.
type resultOfAgent struct {
	Agent    string         `json:"agent_path"`
	Parent   string         `json:"parent,omitempty"`
	Role     string         `json:"role"`
	Task     string         `json:"task,omitempty"`
	Status   chat.Status    `json:"status"`
	Kind     chat.ErrorKind `json:"error_kind,omitempty"`
	Message  string         `json:"message,omitempty"`
	Result   string         `json:"result,omitempty"`
	Usage    progress.Usage `json:"usage"`
	Duration int64          `json:"duration_ms"`
	// Receipt is what it claims, checked against what it did.
	Receipt *receipt.Receipt `json:"receipt,omitempty"`
}

// Exit is what the command returns, nil if all went well.
func (end Ending) Exit() error {
	if end.Code == exit.OK {
		return nil
	}
	return &exit.Error{Code: end.Code}
}

// ended is the ending of a turn that came to its own end.
func (e *Loop) ended(end progress.End) Ending {
	person := e.tree.Unattended()+e.declined > 0 || len(e.tree.Pending()) > 0
	code := codeOf(end, person)
	r := e.sum(code)
	r.Status, r.Kind, r.Reason, r.Message, r.NeedsPerson = end.Status, end.Kind, end.Reason, end.Message, person
	r.Result = end.Answer
	return Ending{Code: code, result: r}
}

// leave is the ending of a run that is not waited for.
func (e *Loop) leave(why string) Ending {
	e.view.note(why)
	r := e.sum(exit.Cancelled)
	r.Status, r.Kind, r.Message = chat.StatusCancelled, chat.KindCancelled, why
	return Ending{Code: exit.Cancelled, Left: true, result: r}
}

// codeOf is the exit code of a turn's end.
func codeOf(end progress.End, person bool) int {
	switch end.Kind {
	case chat.KindCancelled:
		return exit.Cancelled
	case chat.KindMaxIterations, chat.KindBudgetExceeded, chat.KindTimedOut:
		if person && end.Reason == "denials" {
			return exit.Person
		}
		return exit.Limit
	case chat.KindAuth, chat.KindRateLimit, chat.KindNetwork, chat.KindServerError, chat.KindInvalidRequest,
		chat.KindContentFilter, chat.KindContextExhausted, chat.KindSubAgentError, chat.KindSpawnFailed,
		chat.KindNoResult, chat.KindInvalidResult, chat.KindQuestionLimit, chat.KindInternal:
	}
	switch {
	case person:
		return exit.Person
	case end.Status == chat.StatusCompleted:
		return exit.OK
	}
	return exit.Failed
}

// sum is the part of a result that does not depend on how it ended.
func (e *Loop) sum(code int) result {
	r := result{
		Type: "result", Conversation: e.Conversation, Demo: e.Demo, Usage: e.tree.Spent(), ExitCode: code,
		Duration: time.Since(e.Began).Milliseconds(), Agents: []resultOfAgent{}, Verdict: worst(e.tree.Agents()),
	}
	r.Cost = r.Usage.Cost
	for _, a := range e.tree.Agents() {
		r.Agents = append(r.Agents, resultOfAgent{
			Agent: a.ID, Parent: a.Parent, Role: a.Role, Task: a.Task, Status: a.Status, Kind: a.Kind, Message: a.Message,
			Result: a.Result, Usage: a.Spent(), Duration: elapsed(a, time.Now()).Milliseconds(),
			Receipt: a.Receipt,
		})
	}
	return r
}

// show prints the end: the answer to the standard output, all else to the error stream.
func (e *Loop) show(end Ending) error {
	e.view.close(summary(end), time.Now())
	switch e.Format {
	case JSON:
		if err := output.JSON(e.Out, end.result); err != nil {
			return err
		}
	case Stream:
		if err := json.NewEncoder(e.Out).Encode(end.result); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
	default:
		if end.result.Result != "" {
			if _, err := fmt.Fprintln(e.Out, strings.TrimRight(end.result.Result, "\n")); err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
		}
	}
	if end.Left {
		_, err := fmt.Fprintf(e.Err, "look at it later with: retinue run%s --continue %s \"How far did you get?\"\n",
			demoFlag(e.Demo)+serverFlag(e.Named), e.Conversation)
		return err
	}
	return nil
}

func demoFlag(demo bool) string {
	if demo {
		return " --demo"
	}
	return ""
}

func serverFlag(address string) string {
	if address == "" {
		return ""
	}
	return " --server " + address
}

// summary says in a line or two how it ended, and what to do if it did not end well.
func summary(end Ending) string {
	r := end.result
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s", strings.ReplaceAll(string(r.Status), "_", " "), output.Seconds(time.Duration(r.Duration)*time.Millisecond))
	if n := len(r.Agents) - 1; n > 0 {
		fmt.Fprintf(&b, ", %d sub-%s", n, output.Plural(n, "agent"))
	}
	fmt.Fprintf(&b, ", %s tokens, %s", output.Count(r.Usage.Input+r.Usage.Output), output.Cost(r.Usage))
	fmt.Fprintf(&b, "; conversation %s", r.Conversation)
	b.WriteString(doubts(r.Agents))
	if r.Demo {
		b.WriteString("\n" + local.DemoLabel)
	}
	why := string(r.Kind)
	if r.Reason != "" && r.Reason != why {
		why += " (" + r.Reason + ")"
	}
	if r.Kind != "" && r.Kind != chat.KindCancelled {
		b.WriteString("\n" + strings.TrimSuffix(why+": "+r.Message, ": "))
	}
	switch end.Code {
	case exit.Person:
		b.WriteString("\na person was needed and nobody was there: run it in a terminal, or allow what it needs (see 'retinue roles explain')")
	case exit.Limit:
		b.WriteString("\na limit was reached: raise --timeout, --max-cost or the role's limits, or go on with --continue " + r.Conversation)
	}
	return b.String()
}
