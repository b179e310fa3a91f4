package run

import (
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/progress"
)

// verdict is a receipt in a few words: a sign, the verdict and, if it is not a good one, why. It is
// empty if nothing was claimed, or nobody has looked.
func verdict(r *receipt.Receipt) string {
	if r == nil {
		return ""
	}
	why := r.Words(r.Verdict)
	mark := ""
	switch r.Verdict {
	case receipt.None:
		return ""
	case receipt.Verified:
		return "✓ verified"
	case receipt.Unverified:
		mark = "? unverified"
	case receipt.Contradicted:
		mark = "✗ contradicted"
	}
	for i := range why {
		why[i] = progress.Short(why[i], lineWidth)
	}
	return mark + ": " + strings.Join(why, "; ")
}

// verdictStyle is the colour of a receipt.
func verdictStyle(r *receipt.Receipt) string {
	switch r.Verdict {
	case receipt.Verified:
		return output.Green
	case receipt.Unverified:
		return output.Yellow
	case receipt.Contradicted:
		return output.Red
	case receipt.None:
	}
	return output.Dim
}

// worst is the worst verdict on what any agent claims.
func worst(agents []progress.Agent) receipt.Verdict {
	out := receipt.None
	for _, a := range agents {
		if a.Receipt != nil {
			out = out.Worse(a.Receipt.Verdict)
		}
	}
	return out
}

// doubts says which agents claim what they did not do, or what nobody can tell; empty if none does.
func doubts(agents []resultOfAgent) string {
	var b strings.Builder
	for _, a := range agents {
		if a.Receipt != nil && a.Receipt.Verdict.Worse(receipt.Unverified) == a.Receipt.Verdict {
			fmt.Fprintf(&b, "\n%s %s: %s", a.Agent, a.Role, verdict(a.Receipt))
		}
	}
	return b.String()
}
