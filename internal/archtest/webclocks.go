package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

var (
	webNoBounds = rule{
		"no test of the web app holds a clock against a bound",
		"who else is on the machine decides it; say it with within of harness/budget.ts, or wait with until",
	}
	webPatient = rule{
		"no deadline of the web app's tests is below 30 s",
		"what comes at once on a quiet machine takes seconds on a busy one",
	}
)

const (
	// webBudget is where time may be compared with a bound: it asks first whether time is measured.
	webBudget = "web/e2e/harness/budget.ts"
	// webUntil is where time may end a wait, if its patience is long enough.
	webUntil = "web/e2e/harness/until.ts"
	// webLeast is the shortest deadline, in milliseconds.
	webLeast = 30_000
)

// webDeadlines are the deadlines that hold where nobody says another, each with the file it must
// stand in.
var webDeadlines = map[string]*regexp.Regexp{
	webUntil:                    regexp.MustCompile(`\bPATIENCE = ([\d_]+);`),
	"web/vite.config.ts":        regexp.MustCompile(`\btestTimeout: ([\d_]+),`),
	"web/src/patience.setup.ts": regexp.MustCompile(`\basyncUtilTimeout: ([\d_]+) `),
}

var (
	webClock = regexp.MustCompile(`\b(?:Date\.now\(\)|performance\.now\(\)|process\.hrtime\b|[cC]lock\(\)|` +
		`threadClock\(|cheapest\(|frameCost\(|openingCost\(|duration_ms\b)`)
	webWord     = regexp.MustCompile(`\b(?:elapsed|took|duration|latency)(?:Ms|MS|_ms)?\b[^(]`)
	webAssigned = regexp.MustCompile(`\b(?:const|let|var)\s+(\{[^}]*\}|\[.*?\]|\w+)(?:\s*:[^=]+)?\s*=([^=>].*)`)
	webName     = regexp.MustCompile(`\w+`)
	webBound    = regexp.MustCompile(`[^=<>]\s[<>]=?\s|\.to(?:Be)?(?:Less|Greater|Close|Within)\w*\(`)
	webAsserts  = regexp.MustCompile(`(?:^|[^\w.])(?:assert(?:\.\w+)*|expect(?:\.soft)?)\(`)
	webDecides  = regexp.MustCompile(`(?:^|[^\w.])(?:if|while|for)(?:\s+await)?\s*\(`)
	webWaits    = regexp.MustCompile(`(?:\bvi\.)?\bwait(?:For|Until)\w*\(|\bfind(?:All)?By\w*\(|\.poll\(|etDefault\w*Timeout\(|` +
		`(?:^|[^\w.])(?:it|test)\([^(){}]*\{[^{}]*\btimeout:`)
	webDeadline = regexp.MustCompile(`(?:\btimeout:|etDefault\w*Timeout\()\s*(\w+)\s*[,)}]`)
	webNumber   = regexp.MustCompile(`\bconst (\w+) = ([\d_]+);`)
	webBare     = regexp.MustCompile(`\bvi\.wait(?:For|Until)\(`)
	webQuoted   = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|` + "`(?:[^`\\\\]|\\\\.)*`" + `|([(,=:]\s*)/(?:[^/\\\n]|\\.)+/\w*|//.*$`)
)

// WebClocks looks through the scenarios in a browser and the tests of the web app for clocks that
// are compared with a bound, and for deadlines that a busy machine does not meet. It reads line by
// line, a call up to where its brackets close, and takes for a time what a clock gave and what was
// made of that.
func WebClocks(fsys fs.FS) ([]Violation, error) {
	var found []Violation
	for name, pattern := range webDeadlines {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("look for a deadline: %w", err)
		}
		found = append(found, webConstant(name, string(text), pattern)...)
	}
	err := fs.WalkDir(fsys, "web", func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && ignored(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !webTest(at):
			return nil
		}
		text, err := fs.ReadFile(fsys, at)
		if err != nil {
			return err
		}
		found = append(found, webScan(at, string(text))...)
		return nil
	})
	return found, err
}

// webTest reports whether a file is a scenario, its harness or a test.
func webTest(at string) bool {
	if strings.HasPrefix(at, "web/e2e/") {
		return path.Ext(at) == ".ts"
	}
	return strings.HasPrefix(at, "web/src/") && (strings.HasSuffix(at, ".test.ts") || strings.HasSuffix(at, ".test.tsx"))
}

// webConstant checks a deadline that others lean on.
func webConstant(name, text string, pattern *regexp.Regexp) []Violation {
	said := pattern.FindStringSubmatch(text)
	if said == nil {
		return []Violation{{Rule: webPatient.name, Why: webPatient.why, At: name, What: "does not say " + pattern.String()}}
	}
	if ms, ok := webMillis(said[1]); !ok || ms < webLeast {
		return []Violation{{Rule: webPatient.name, Why: webPatient.why, At: name, What: "waits " + said[1] + " ms"}}
	}
	return nil
}

func webMillis(text string) (int, bool) {
	ms, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	return ms, err == nil
}

// webFile is what is known of a file that is being read.
type webFile struct {
	at      string
	faked   bool            // its clock is its own
	times   map[string]bool // names of what a clock gave
	numbers map[string]string
	found   []Violation
}

func webScan(at, text string) []Violation {
	f := &webFile{
		at: at, faked: strings.Contains(text, "vi.useFakeTimers("),
		times: map[string]bool{}, numbers: map[string]string{},
	}
	for _, m := range webNumber.FindAllStringSubmatch(text, -1) {
		f.numbers[m[1]] = m[2]
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = webQuoted.ReplaceAllString(line, `${1}''`)
	}
	for i, line := range lines {
		f.learn(line)
		if webAsserts.MatchString(line) {
			f.bound(i, webCall(lines, i, webAsserts), true)
		}
		if webDecides.MatchString(line) && at != webUntil {
			f.bound(i, webCall(lines, i, webDecides), false)
		}
		if webWaits.MatchString(line) {
			f.deadline(i, webCall(lines, i, webWaits))
		}
	}
	return f.found
}

// learn notes the names that are given what a clock gave, or what was made of it.
func (f *webFile) learn(line string) {
	m := webAssigned.FindStringSubmatch(line)
	if m == nil || !f.timed(m[2], false) {
		return
	}
	names, values := webParts(m[1]), webParts(m[2])
	for i, name := range names {
		// Of a list, only those whose own value is a time.
		if len(names) == len(values) && !f.timed(values[i], false) {
			continue
		}
		for _, each := range webName.FindAllString(name, -1) {
			f.times[each] = true
		}
	}
}

// webParts takes a list in brackets apart, and leaves all else whole.
func webParts(text string) []string {
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	if !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
		return []string{text}
	}
	var parts []string
	depth, from := 0, 1
	for i, r := range text {
		switch r {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			depth--
		case ',':
			if depth == 1 {
				parts = append(parts, text[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, text[from:len(text)-1])
}

// timed reports whether a text speaks of a clock: by its call, by a name that was given one, or by
// a word.
func (f *webFile) timed(text string, words bool) bool {
	if webClock.MatchString(text) || words && webWord.MatchString(text) {
		return true
	}
	for _, name := range webName.FindAllString(text, -1) {
		if f.times[name] {
			return true
		}
	}
	return false
}

// bound looks for a time that is compared with something. Words alone count only where something is
// asserted.
func (f *webFile) bound(line int, call string, words bool) {
	if f.at == webBudget || f.faked || !webBound.MatchString(call) || !f.timed(call, words) {
		return
	}
	f.complain(webNoBounds, line, call)
}

// deadline looks for a wait that is too short, said in so many milliseconds or left to vitest.
func (f *webFile) deadline(line int, call string) {
	said := webDeadline.FindStringSubmatch(call)
	if said == nil {
		if webBare.MatchString(call) && !strings.Contains(call, "timeout:") && !f.faked {
			f.complain(webPatient, line, call)
		}
		return
	}
	value := said[1]
	if number, ok := f.numbers[value]; ok {
		value = number
	}
	if ms, ok := webMillis(value); ok && ms < webLeast {
		f.complain(webPatient, line, call)
	}
}

func (f *webFile) complain(r rule, line int, call string) {
	what := strings.Join(strings.Fields(call), " ")
	if len(what) > 100 {
		what = what[:100] + "…"
	}
	f.found = append(f.found, Violation{Rule: r.name, Why: r.why, At: fmt.Sprintf("%s:%d", f.at, line+1), What: what})
}

// webCall is the text of a call from where it begins to where its brackets close, with what is
// called on its result in the same line.
func webCall(lines []string, at int, begins *regexp.Regexp) string {
	const most = 20
	var call strings.Builder
	depth := 0
	for i, line := range lines[at:min(len(lines), at+most)] {
		if i == 0 {
			line = line[begins.FindStringIndex(line)[0]:]
		}
		call.WriteString(line + "\n")
		depth += strings.Count(line, "(") - strings.Count(line, ")")
		if depth <= 0 {
			break
		}
	}
	return call.String()
}
