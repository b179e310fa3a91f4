package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
)

// Stats says what happened in a number of histories.
type Stats struct {
	Histories, Events, Children, Grandchildren, Messages, Questions, Approvals, Edited, Barred int
	Cancels, Crashes, Duplicated, LostAcks, SeenAsError, Killed                                int
	// Refusals and Outcomes count by kind.
	Refusals, Outcomes map[string]int
}

// interesting reports whether the history had anything in it that could go wrong.
func (s *Stats) interesting() bool {
	return s.Events >= 12 && s.Children > 0 && s.Cancels+s.Crashes+s.Duplicated+s.LostAcks+s.Approvals+s.Questions > 0
}

func (s *Stats) refused(r *agent.Refusal) {
	if s.Refusals == nil {
		s.Refusals = map[string]int{}
	}
	s.Refusals[string(r.Kind)]++
}

func (s *Stats) ended(n *node) {
	if s.Outcomes == nil {
		s.Outcomes = map[string]int{}
	}
	switch o := n.state.Outcome; {
	case n.killed:
		s.Outcomes["terminated by its parent"]++
	case n.parent == nil:
	case o.Kind == "":
		s.Outcomes["completed, "+string(o.Completion)]++
	default:
		s.Outcomes[strings.TrimRight(string(o.Status)+", "+string(o.Kind)+" "+reason(o.Reason), " ")]++
	}
}

func reason(r string) string {
	if r == "" {
		return ""
	}
	return "(" + r + ")"
}

// add sums up.
func (s *Stats) add(o Stats) {
	s.Histories += o.Histories
	s.Events += o.Events
	s.Children += o.Children
	s.Grandchildren += o.Grandchildren
	s.Messages += o.Messages
	s.Questions += o.Questions
	s.Approvals += o.Approvals
	s.Edited += o.Edited
	s.Barred += o.Barred
	s.Cancels += o.Cancels
	s.Crashes += o.Crashes
	s.Duplicated += o.Duplicated
	s.LostAcks += o.LostAcks
	s.SeenAsError += o.SeenAsError
	s.Killed += o.Killed
	s.Refusals = sum(s.Refusals, o.Refusals)
	s.Outcomes = sum(s.Outcomes, o.Outcomes)
}

func sum(a, b map[string]int) map[string]int {
	if a == nil {
		a = map[string]int{}
	}
	for k, v := range b {
		a[k] += v
	}
	return a
}

// String prints the figures and the distribution of outcomes, most frequent first.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "events %d, sub-agents %d (of these at depth 2: %d), messages %d, questions %d, approvals %d (of these for taint: %d), run with other arguments %d\n",
		s.Events, s.Children, s.Grandchildren, s.Messages, s.Questions, s.Approvals, s.Barred, s.Edited)
	fmt.Fprintf(&b, "cancels %d, crashes with replay %d, duplicates %d, lost acknowledgements %d, done but seen as error %d, terminated %d\n",
		s.Cancels, s.Crashes, s.Duplicated, s.LostAcks, s.SeenAsError, s.Killed)
	writeCounts(&b, "outcome", s.Outcomes)
	writeCounts(&b, "refused", s.Refusals)
	return b.String()
}

func writeCounts(b *strings.Builder, what string, counts map[string]int) {
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, c string) int {
		if counts[a] != counts[c] {
			return counts[c] - counts[a]
		}
		return strings.Compare(a, c)
	})
	for _, name := range names {
		fmt.Fprintf(b, "%s %10d  %s\n", what, counts[name], name)
	}
}
