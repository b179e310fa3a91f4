// Package receipt verifies an agent's claims. The claims are a model's words; the facts come from
// tools and from the journal. Each claim gets a verdict, and effects that were not claimed are
// listed.
//
// It is a part of the core: it imports nothing, reads no clock and always gives the same answer.
package receipt

import "slices"

// Verdict is the judgement of the facts on a claim.
type Verdict string

// The verdicts, from the best to the worst. None means that nothing was claimed.
const (
	None         Verdict = "none"
	Verified     Verdict = "verified"
	Unverified   Verdict = "unverified"
	Contradicted Verdict = "contradicted"
)

// Worse is the worse of two verdicts.
func (v Verdict) Worse(o Verdict) Verdict {
	if v.rank() >= o.rank() {
		return v
	}
	return o
}

func (v Verdict) rank() int {
	return slices.Index([]Verdict{None, Verified, Unverified, Contradicted}, v)
}

// Kind is the subject of a claim.
type Kind string

// The kinds of claims.
const (
	KindModified Kind = "modified"
	KindCreated  Kind = "created"
	KindTests    Kind = "tests"
)

// Finding is one claim with its verdict from the facts.
type Finding struct {
	Kind    Kind    `json:"kind"`
	Claim   string  `json:"claim"`
	Verdict Verdict `json:"verdict"`
	// Reason says why it is not verified, or adds a remark.
	Reason string `json:"reason,omitempty"`
}

// Receipt compares a run's claims with its effects.
type Receipt struct {
	// Verdict is the worst of all claims.
	Verdict Verdict   `json:"verdict"`
	Claims  []Finding `json:"claims,omitempty"`
	// Unclaimed are files that were changed and that no claim speaks of. They are facts, not faults.
	Unclaimed []string `json:"unclaimed,omitempty"`
	Facts     Evidence `json:"facts"`
}

// Judge checks claims against facts.
func Judge(c Claims, e Evidence) Receipt {
	r := Receipt{Verdict: None, Facts: e}
	claimed := map[string]bool{}
	created, modified := c.files()
	for _, name := range created {
		r.add(e.judgeCreated(name, claimed))
	}
	for _, name := range modified {
		r.add(e.judgeModified(name, claimed))
	}
	if c.tests() {
		r.add(e.judgeTests(c))
	}
	for _, f := range e.Changed {
		if f.differs() && !claimed[f.Path] {
			r.Unclaimed = append(r.Unclaimed, f.Path)
		}
	}
	return r
}

// add takes a finding in, once for each file.
func (r *Receipt) add(f Finding) {
	same := func(o Finding) bool { return o.Kind == f.Kind && o.Claim == f.Claim }
	if slices.ContainsFunc(r.Claims, same) {
		return
	}
	r.Claims = append(r.Claims, f)
	r.Verdict = r.Verdict.Worse(f.Verdict)
}

// Count is how many claims have a verdict.
func (r Receipt) Count(v Verdict) int { return len(r.Words(v)) }

// Words are the claims with a verdict, each in a line.
func (r Receipt) Words(v Verdict) []string {
	var out []string
	for _, f := range r.Claims {
		if f.Verdict == v {
			out = append(out, f.String())
		}
	}
	return out
}

// String is the finding in words.
func (f Finding) String() string {
	text := f.Claim
	if f.Kind != KindTests {
		text = string(f.Kind) + " " + f.Claim
	}
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}
