package archtest

import (
	"strings"
	"testing"
)

func TestNoClockInTheGate(t *testing.T) { fail(t, Clocks(repository(t))) }

// mostReasons is how many lines of all may say that they are not a bound.
const mostReasons = 10

func TestFewLinesSayThatTheyAreNotABound(t *testing.T) {
	count := 0
	for _, p := range repository(t).Packages {
		for _, f := range p.Files {
			if p.Dir != "internal/archtest" {
				count += strings.Count(string(f.Source), notABound)
			}
		}
	}
	if count >= mostReasons {
		t.Errorf("%d lines say that they are not a bound, fewer than %d may", count, mostReasons)
	}
}

// clocked is the source of a test file with this body in a test, and this beside it.
func clocked(body, beside string) string {
	return "package p\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n" + beside + "\n\nfunc TestIt(t *testing.T) {\n\tbegan := time.Now()\n\t" +
		body + "\n}\n"
}

// bounds are ways to compare time with a bound: what a test says, and what stands beside it.
var bounds = map[string][2]string{
	"at once":               {`if time.Since(began) > time.Second { t.Error() }`},
	"the other way round":   {`if time.Second <= time.Since(began) { t.Error() }`},
	"among others":          {`if err := f(); err != nil || time.Since(began) > time.Second { t.Error() }`, `func f() error { return nil }`},
	"a bound with a name":   {`if time.Since(began) > most { t.Error() }`, `const most = 2 * time.Second`},
	"the shorter of two":    {`if time.Since(began) > most { t.Error() }`, "const most = time.Hour\n\nconst most = time.Second"},
	"a bound from a flag":   {`if time.Since(began) > *most { t.Error() }`, `var most = flag.Duration("most", time.Hour, "")`},
	"a lower one":           {`if time.Since(began) < time.Second { t.Error() }`},
	"until":                 {`if time.Until(began) < -time.Second { t.Error() }`},
	"a difference":          {`if time.Now().Sub(began) > time.Second { t.Error() }`},
	"a benchmark":           {`if b.Elapsed() > time.Second { t.Error() }`, `var b testing.B`},
	"a variable":            {"took := time.Since(began)\n\tif took > time.Second { t.Error() }"},
	"a variable of an if":   {`if took := time.Since(began); took > time.Second { t.Error() }`},
	"a variable's seconds":  {"took := time.Since(began).Seconds()\n\tif took > 3 { t.Error() }"},
	"a sum":                 {"var all time.Duration\n\tall += time.Since(began)\n\tif all/2 > time.Second { t.Error() }"},
	"a list":                {"var all []time.Duration\n\tall = append(all, time.Since(began))\n\tslices.Sort(all)\n\tif all[len(all)/2] > time.Second { t.Error() }"},
	"each of a list":        {"all := []time.Duration{time.Since(began)}\n\tfor _, one := range all {\n\tif one > time.Second { t.Error() }\n\t}"},
	"a map":                 {"all := map[string]time.Duration{}\n\tall[\"x\"] = time.Since(began)\n\tif all[\"x\"] > time.Second { t.Error() }"},
	"the longest":           {"longest := time.Duration(0)\n\tif max(longest, time.Since(began)) > time.Second { t.Error() }"},
	"a ratio":               {"one := time.Since(began)\n\ttwo := time.Since(began)\n\tif float64(two)/float64(one) > 1.5 { t.Error() }"},
	"two timings":           {"one := time.Since(began)\n\tif time.Since(began) > 2*one { t.Error() }"},
	"a rate":                {`if 100/time.Since(began).Seconds() < 20 { t.Error() }`},
	"a function":            {`if passed(began) > time.Second { t.Error() }`, `func passed(x time.Time) time.Duration { return time.Since(x) }`},
	"one of two results":    {"_, took := f()\n\tif took > time.Second { t.Error() }", `func f() (int, time.Duration) { return 1, time.Since(time.Now()) }`},
	"a result with a name":  {`if f() > time.Second { t.Error() }`, "func f() (took time.Duration) {\n\ttook = time.Since(time.Now())\n\treturn\n}"},
	"a function in between": {`if g(began) > time.Second { t.Error() }`, "func f(x time.Time) time.Duration { return time.Since(x) }\n\nfunc g(x time.Time) time.Duration { return f(x).Round(1) }"},
	"a closure":             {"took := func() time.Duration { return time.Since(began) }\n\tif took() > time.Second { t.Error() }"},
	"a parameter":           {`hold(t, time.Since(began))`, "func hold(t *testing.T, took time.Duration) {\n\tif took > time.Second { t.Error() }\n}"},
	"a parameter of many":   {`hold(t, 1, time.Since(began))`, "func hold(t *testing.T, list ...time.Duration) {\n\tif list[0] > time.Second { t.Error() }\n}"},
	"a generic function":    {`if f[int](began) > time.Second { t.Error() }`, `func f[T any](x time.Time) time.Duration { return time.Since(x) }`},
	"a field":               {"var s sent\n\ts.took = time.Since(began)\n\tif s.took > time.Second { t.Error() }", `type sent struct{ took time.Duration }`},
	"a field of a literal":  {"s := sent{took: time.Since(began)}\n\tif s.took > time.Second { t.Error() }", `type sent struct{ took time.Duration }`},
	"a field by its place":  {"s := sent{1, time.Since(began)}\n\tif s.took > time.Second { t.Error() }", "type sent struct {\n\tn int\n\ttook time.Duration\n}"},
	"a field of a method":   {"s := &sent{began: began}\n\tif s.took() > time.Second { t.Error() }", "type sent struct{ began time.Time }\n\nfunc (s *sent) took() time.Duration { return time.Since(s.began) }"},
	"a field after a call":  {"for _, s := range slices.Clone([]sent{{time.Since(began)}}) {\n\tif s.took > time.Second { t.Error() }\n\t}", `type sent struct{ took time.Duration }`},
	"what another measured": {`if f().Duration > time.Second { t.Error() }`, `func f() elsewhere.Outcome { return elsewhere.Outcome{} }`},
	"a channel":             {"took := make(chan time.Duration, 1)\n\ttook <- time.Since(began)\n\tif <-took > time.Second { t.Error() }"},
	"a processor's time":    {`if busy() > time.Second { t.Error() }`, "func busy() time.Duration {\n\tvar used syscall.Rusage\n\t_ = syscall.Getrusage(0, &used)\n\treturn time.Duration(used.Utime.Nano())\n}"},
	"a helper in a bubble":  {"hold(t, began)\n\tsynctest.Test(t, func(t *testing.T) { hold(t, began) })", "func hold(t *testing.T, x time.Time) {\n\tif time.Since(x) > time.Second { t.Error() }\n}"},
	"in other words":        {`if time.Now().After(began.Add(time.Second)) { t.Error() }`},
	"not before":            {`if !time.Now().Before(began.Add(most)) { t.Error() }`, `const most = 2 * time.Second`},
	"no reason":             {"if time.Since(began) > time.Second { // not a bound:\n\t\tt.Error()\n\t}"},
	"a deadline too short":  {`if time.Since(began) > 29*time.Second { t.Error() }`},
}

func TestABoundIsFound(t *testing.T) {
	for name, c := range bounds {
		t.Run(name, func(t *testing.T) {
			found := Clocks(sketch(t, map[string]string{"internal/p/a_test.go": clocked(c[0], c[1])}))
			if len(found) == 0 || !strings.Contains(found[0].String(), "internal/p/a_test.go:") || !strings.Contains(found[0].String(), noClock.why) {
				t.Errorf("found %v", found)
			}
		})
	}
	t.Run("test support", func(t *testing.T) {
		source := clocked(`if time.Since(began) > time.Second { t.Error() }`, "")
		if found := Clocks(sketch(t, map[string]string{"internal/porttest/a.go": source})); len(found) != 1 {
			t.Errorf("found %v", found)
		}
	})
}

// unbound are ways to use the clock that no slow machine fails.
var unbound = map[string][2]string{
	"a bubble":             {`synctest.Test(t, func(t *testing.T) { if time.Since(began) > time.Second { t.Error() } })`},
	"a helper of a bubble": {`synctest.Test(t, func(t *testing.T) { hold(t, began) })`, "func hold(t *testing.T, x time.Time) { deeper(t, x) }\n\nfunc deeper(t *testing.T, x time.Time) {\n\tif time.Since(x) > time.Second { t.Error() }\n}"},
	"a patient deadline":   {`if time.Since(began) > 30*time.Second { t.Error() }`},
	"one with a name":      {`if time.Since(began) > patience { t.Error() }`, `const patience = time.Duration(3) * 20 * time.Second`},
	"how long a load is":   {`for time.Since(began) < time.Second { f() }`, `func f() {}`},
	"the order of moments": {`if time.Now().Sub(began) < 0 { t.Error() }`},
	"two moments":          {`if row.At.After(began.Add(time.Second)) { t.Log() }`, `var row struct{ At time.Time }`},
	"a patient moment":     {`if time.Now().After(began.Add(time.Minute)) { t.Error() }`},
	"a figure":             {`measure.Most(t, "it", time.Since(began), time.Second)`},
	"how many there are":   {"all := []time.Duration{time.Since(began)}\n\tif len(all) < 3 { t.Error() }"},
	"equal":                {`if time.Since(began) == time.Second { t.Error() }`},
	"put in order":         {"all := []time.Duration{time.Since(began)}\n\tsort.Slice(all, func(i, j int) bool { return all[i] < all[j] })"},
	"another's name":       {"took := 3\n\tif took > 2 { t.Error() }", "func f() {\n\ttook := time.Since(time.Now())\n\t_ = took\n}"},
	"a reason":             {"if time.Since(began) > time.Second { // not a bound: it is only told\n\t\tt.Log()\n\t}"},
}

func TestWhatIsNoBoundIsLeftAlone(t *testing.T) {
	for name, c := range unbound {
		t.Run(name, func(t *testing.T) {
			fail(t, Clocks(sketch(t, map[string]string{"internal/p/a_test.go": clocked(c[0], c[1])})))
		})
	}
	t.Run("what ships", func(t *testing.T) {
		source := clocked(`if time.Since(began) > time.Second { t.Error() }`, "")
		fail(t, Clocks(sketch(t, map[string]string{"internal/p/a.go": source})))
	})
}
