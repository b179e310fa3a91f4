package archtest

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report writes the sizes of all packages, and everything that is over a bound and has no reason
// for it. It returns how many findings that are. Generated files are left out.
func Report(w io.Writer, t *Tree, words []Retired) (int, error) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "package\tfiles\tlines\ttest lines")
	for _, p := range t.Packages {
		s := sizeOf(p)
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\n", p.Dir, s.files, s.code, s.tests)
	}
	found := Judge(t, words, Exceptions)
	fmt.Fprintf(out, "\nwithout a reason (%d exceptions have one): ", len(Exceptions))
	if len(found) == 0 {
		fmt.Fprint(out, "nothing")
	}
	fmt.Fprintln(out)
	for _, f := range found {
		fmt.Fprintln(out, f)
	}
	return len(found), out.Flush()
}
