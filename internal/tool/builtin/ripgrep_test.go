package builtin_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
)

// always makes openSet ask ripgrep whatever the size, while it is set.
var always bool

// bothWays are the tools on a folder, without ripgrep and with it.
func bothWays(t testing.TB, dir string) (without, with *tool.Set) {
	t.Helper()
	var sets []*tool.Set
	for _, prepare := range []func(*builtin.Workspace){(*builtin.Workspace).NeverRipgrep, func(w *builtin.Workspace) {
		if !w.AlwaysRipgrep() {
			t.Skip("no rg on this machine")
		}
	}} {
		w, err := builtin.Open(dir)
		must(t, err)
		t.Cleanup(func() { must(t, w.Close()) })
		prepare(w)
		s, err := tool.NewSet(tool.Options{}, w.Tools()...)
		must(t, err)
		sets = append(sets, s)
	}
	return sets[0], sets[1]
}

// TestSearchesWithRipgrepKeepEveryPromise runs the tests of grep again with ripgrep in all of them.
func TestSearchesWithRipgrepKeepEveryPromise(t *testing.T) {
	if watched {
		t.Skip("the tests that it repeats are watched themselves")
	}
	bothWays(t, t.TempDir())
	always = true
	defer func() { always = false }()
	for name, test := range map[string]func(*testing.T){
		"answers": TestAnswers, "facts": TestFactsNameWhatWasRead, "long answers": TestLongAnswersSayHowToGoOn,
		"ways out": TestNoPathLeadsOutOfTheWorkspace, "hostile entries": TestHostileEntriesAreExplained,
		"cancels": TestACancelledSearchEndsAtOnce, "swapped links": func(t *testing.T) { raceLinks(t, 300) },
	} {
		t.Run(name, test)
	}
}

// odd are files on which libraries of regular expressions differ.
var odd = map[string]string{
	"ascii.txt": "foo bar\nFOO_BAR 12\n\n  tab\tend  \n", "crlf.txt": "foo\r\nbar\r\n", "unicode.txt": "Kelvin K\nÉtude été\nſharp ſ\n٣٤ digits\nnaïve\n",
	"broken.txt": "caf\xe9 \xff\xfe bar\n\xf0\x9f\x98", "emoji.txt": "x😀y\n\u2028line\u0085next\n", "empty.txt": "", "nl.txt": "\n\n\n",
	"utf16.txt": "\xff\xfef\x00o\x00o\x00\n\x00", "utf8bom.txt": "\ufefffoo\n", "nul.bin": "foo\x00bar\n", "late.bin": strings.Repeat("x\n", 5000) + "foo\x00\n",
	"wide.txt": strings.Repeat("a", 270_000) + "foo\nfoo\n", ".hidden": "foo\n", "-dash": "foo\n", "sub/.gitignore": "ignored\n", "sub/ignored": "foo\n",
	"sub/new\nline": "foo\n", "sub/bad\xff": "foo\n", "link": "->ascii.txt", "sub/replacement": "a\ufffdb\n", "ignore.txt": "foo\n", ".ignore": "ignore.txt\n", ".rgignore": "ascii.txt\n",
}

func TestRipgrepChangesNoAnswer(t *testing.T) {
	dir := tree(t, odd)
	must(t, os.WriteFile(filepath.Join(dir, "locked"), []byte("foo\n"), 0o000))
	without, with := bothWays(t, dir)
	patterns := []string{
		"foo", "foo$", "^foo", `\bbar\b`, `\d+`, `\d`, `\w{5,}`, `\s$`, "(?i)k", "(?i)É", "(?i)s", "[^a-z]", `[^\x00-\x7f]`, `\pL+\d`, `\p{Greek}`, "é", ".",
		"^.$", "x.y", "caf.", `\x{FFFD}`, `a[\x{FFFD}]b`, `\xff`, "\ufeff", "", "a*", "^$", "(foo|bar)+", "fo{2}", "fo{3,}", `\Qfoo\E`, `\.`, "[[:upper:]]{3}",
		"(?s)a.b", "(?-s)a.b", "(?U)a+", "foo\nbar", `foo\n`, "foo\r", `\x00`, `[\n]`, "absent", "a{300}foo", `\z`, `\Aa`, "x\xe9", "(?i)straße",
	}
	seed := measure.Seed(t, 0)
	random, pieces := rand.New(rand.NewPCG(seed, 1)), []string{"f", "o+", "[a-f]", "[^o]", ".", `\w`, `\W`, "(a|o|é)", "?", "*", "{1,2}", "^", "$", `\b`, "(?i:K)", "É", `\s`, "|"}
	for range 15 {
		var p strings.Builder
		for range 1 + random.IntN(5) {
			p.WriteString(pieces[random.IntN(len(pieces))])
		}
		patterns = append(patterns, p.String())
	}
	compared := 0
	for i, p := range patterns {
		if testing.Short() && i%4 > 0 {
			continue // all of them take two minutes under the race detector
		}
		if _, err := regexp.Compile(p); err != nil || p == "" {
			continue
		}
		for _, more := range []string{"", `,"ignore_case":true,"output":"counts"`} {
			args := strings.TrimSuffix(quote("pattern", p), "}") + more + "}"
			if diff := cmp.Diff(ask(t, without, "grep", args), ask(t, with, "grep", args)); diff != "" {
				t.Errorf("%s: without (-) and with ripgrep (+):\n%s", args, diff)
			}
			compared++
		}
	}
	t.Logf("%d searches compared", compared)
}

// TestRipgrepRunsNothing has settings for ripgrep that would run a program on each file.
func TestRipgrepRunsNothing(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "foo\n", "b.txt": "bar\n"})
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(dir, "pre")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755))
	for _, name := range []string{".ripgreprc", ".rgrc"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("--pre="+program+"\n"), 0o644))
	}
	t.Setenv("RIPGREP_CONFIG_PATH", filepath.Join(dir, ".ripgreprc"))
	_, with := bothWays(t, dir)
	r, err := with.Run(context.Background(), tool.Call{Tool: "grep", Args: json.RawMessage(`{"pattern":"foo","glob":"*.txt"}`)})
	if err != nil || r.Text != "a.txt:1:foo\n" {
		t.Errorf("%s %v", r.Text, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program was run")
	}
}
