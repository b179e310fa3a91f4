package leg

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// receipt compares a run's claims with its records.
func (c *Carrier) receipt(
	ctx context.Context, run host.RunRef, o agent.Outcome, claims receipt.Claims,
) (json.RawMessage, error) {
	var facts receipt.Evidence
	if o.Failed() || o.ToolCalls > 0 || o.Agents > 0 {
		var err error
		if facts, err = c.Evidence(ctx, run); err != nil {
			return nil, err
		}
	}
	facts.Calls, facts.Tokens, facts.Duration = o.ToolCalls, o.Subtree.Tokens(), o.Duration
	body, err := json.Marshal(receipt.Judge(claims, facts))
	if err != nil {
		return nil, fmt.Errorf("write the receipt of %s: %w", run.Task, err)
	}
	return body, nil
}

// reportTokens estimates the size of a task's end in its parent's transcript.
func reportTokens(row journal.TaskEnded) (int64, error) {
	n := host.Tokens(row.Summary) + host.Tokens(row.Message)
	r, err := host.ReceiptIn(row)
	if r != nil {
		n += host.TokensOf(agent.ReceiptBytes(*r))
	}
	return n, err
}

// contradicted counts the claims of a submit call that the records contradict. The core returns
// such a result once. If the records cannot be read, the result is accepted and its receipt says
// so.
func (l *leg) contradicted(ctx context.Context, args string) int {
	var facts receipt.Evidence
	err := l.Patiently(ctx, func() (err error) {
		facts, err = l.Evidence(ctx, l.in.RunRef)
		return err
	})
	if err != nil {
		l.Logger.ErrorContext(ctx, "no evidence", "agent", l.in.Agent, "error", err)
		return 0
	}
	return receipt.Judge(receipt.Read(args), facts).Count(receipt.Contradicted)
}

// contradictions lists them for the model that claims them.
func (l *leg) contradictions(ctx context.Context, call string) (string, error) {
	part, err := l.cache.call(ctx, l.in.Agent, call)
	if err != nil {
		return "", err
	}
	facts, err := l.Evidence(ctx, l.in.RunRef)
	if err != nil {
		return "", err
	}
	var list strings.Builder
	for _, line := range agent.ReceiptLines(receipt.Judge(receipt.Read(part.Args), facts).Words(receipt.Contradicted)) {
		list.WriteString("\n- " + line)
	}
	return list.String(), nil
}
