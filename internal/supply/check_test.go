package supply

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	snapshot = flag.String("snapshot", "", "the folder of a snapshot of the vulnerability database")
	scanner  = flag.String("scanner", "", "the path of govulncheck")
)

// TestAKnownVulnerabilityIsFound shows that the check can fail: it is given a program that calls a
// function with a known vulnerability, in an old version of golang.org/x/text.
func TestAKnownVulnerabilityIsFound(t *testing.T) {
	if *snapshot == "" {
		t.Skip("make vulns gives the snapshot")
	}
	if _, err := Open(*snapshot); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/old\n\ngo 1.26\n\nrequire golang.org/x/text v0.3.5\n",
		"go.sum": "golang.org/x/text v0.3.5 h1:i6eZZ+zk0SOf0xgBpEpPD18qWcJda6q1sxt3S0kzyUQ=\n" +
			"golang.org/x/text v0.3.5/go.mod h1:5Zoc/QRtKVWzQhOtBMvqHzDpF6irO9z98xDceosuGiQ=\n" +
			"golang.org/x/tools v0.0.0-20180917221912-90fa682c2a6e/go.mod h1:n7NCudcB/nEzxVGmLbDWY5pfWTLqBcC2KZ6jyYvM4mQ=\n",
		"main.go": "package main\n\nimport \"golang.org/x/text/language\"\n\nfunc main() { _, _ = language.Parse(\"en\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := Check{
		Root: dir, Programs: []Program{{Name: "old", Module: ".", Package: "."}}, Snapshot: *snapshot, Scanner: *scanner, Now: time.Now(), Out: &out,
	}.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "reaches a known vulnerability") {
		t.Fatalf("a known vulnerability passed: %v\n%s", err, &out)
	}
	want := "old: GO-2021-0113 golang.org/x/text v0.3.5: Out-of-bounds read in golang.org/x/text/language; repaired in v0.3.7; " +
		"reached by example.com/old.main > golang.org/x/text/language.Parse\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("the check says\n%s, not\n%s", &out, want)
	}
	t.Log("proof: golang.org/x/text v0.3.5 is found, with the way to it")
}

func TestAModuleThatIsNotCoveredFails(t *testing.T) {
	required, err := Required(context.Background(), root, Programs)
	if err != nil {
		t.Fatal(err)
	}
	if len(required) < 200 {
		t.Fatalf("our programs require only %v", required)
	}
	now := time.Now()
	var out bytes.Buffer
	err = Check{Root: root, Programs: Programs, Snapshot: stored(t, Snapshot{Changed: now, Modules: required[1:]}), Now: now, Out: &out}.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "was not taken for "+required[0]+": run 'make vulns/update") {
		t.Errorf("got %v", err)
	}
}

func TestAnOldSnapshotIsAWarning(t *testing.T) {
	now := time.Date(2026, 11, 17, 0, 0, 0, 0, time.UTC)
	for days, warns := range map[int]bool{0: false, 89: false, 91: true, 400: true} {
		var out bytes.Buffer
		dir := stored(t, Snapshot{Changed: now.AddDate(0, 0, -days)})
		_ = Check{Root: root, Snapshot: dir, Now: now, Out: &out}.Run(context.Background()) // it covers nothing
		if strings.Contains(out.String(), "WARNING") != warns {
			t.Errorf("%d days: %s", days, &out)
		}
	}
}

func TestFindings(t *testing.T) {
	const stream = `{"config": {"scanner_name": "govulncheck"}}
{"osv": {"id": "GO-1", "summary": "one"}} {"osv": {"id": "GO-2", "summary": "two"}} {"osv": {"id": "GO-3", "summary": "three"}}
{"finding": {"osv": "GO-1", "fixed_version": "v2.0.0", "trace": [{"module": "m", "version": "v1.0.0"}]}}
{"finding": {"osv": "GO-1", "fixed_version": "v2.0.0", "trace": [{"module": "m", "version": "v1.0.0", "package": "m/p"}]}}
{"finding": {"osv": "GO-1", "fixed_version": "v2.0.0", "trace": [
	{"module": "m", "version": "v1.0.0", "package": "m/p", "receiver": "T", "function": "Do"}, {"module": "x", "package": "x", "function": "main"}]}}
{"finding": {"osv": "GO-2", "fixed_version": "v2.0.0", "trace": [{"module": "m", "version": "v1.0.0", "package": "m/p"}]}}
{"finding": {"osv": "GO-3", "trace": [{"module": "m", "version": "v1.0.0", "package": "m/p", "function": "F"}]}}`
	found, err := findings(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, f.String())
		if f.Bad() != (f.ID == "GO-1") {
			t.Errorf("bad is %v: %s", f.Bad(), f)
		}
	}
	want := "GO-1 m v1.0.0: one; repaired in v2.0.0; reached by x.main > m/p.T.Do\n" +
		"GO-2 m v1.0.0: two; repaired in v2.0.0; our code does not reach it\n" +
		"GO-3 m v1.0.0: three; no version without it; reached by m/p.F"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if _, err := findings(strings.NewReader("")); err == nil {
		t.Error("silence passed for nothing found")
	}
}
