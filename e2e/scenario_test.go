//go:build services

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// scenario is one file of testdata.
type scenario struct {
	name     string
	path     string
	archive  *txtar.Archive
	settings string
	work     map[string]string
	script   *scripted.Script
	play     []command
	// processes means that workers are processes of their own, which can be killed.
	processes bool
	// alone means that it needs a stack of its own.
	alone bool
	// guest is another tenant that has a workspace of the same name.
	guest string
}

// command is one line of the play.
type command struct {
	line int
	verb string
	// args are the words before a colon, text is what follows it.
	args []string
	text string
}

func (c command) String() string {
	out := strings.Join(append([]string{c.verb}, c.args...), " ")
	if c.text != "" {
		out += ": " + c.text
	}
	return fmt.Sprintf("line %d of play, %q", c.line, out)
}

const (
	wantJournal = "want/journal"
	wantResults = "want/results"
)

func readScenarios(t *testing.T, pattern string) []*scenario {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios in %s: %v", pattern, err)
	}
	var out []*scenario
	for _, path := range paths {
		s, err := readScenario(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, s)
	}
	return out
}

func readScenario(path string) (*scenario, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	s := &scenario{
		name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, archive: archive, work: map[string]string{},
	}
	for _, f := range archive.Files {
		text := string(f.Data)
		switch name, inWork := strings.CutPrefix(f.Name, "work/"); {
		case inWork:
			s.work[name] = text
		case f.Name == "settings.yaml":
			s.settings = text
		case f.Name == "model.yaml":
			if s.script, err = scripted.Parse("model.yaml", f.Data); err != nil {
				return nil, err
			}
			cast(s.script)
		case f.Name == "play":
			if s.play, err = readPlay(text); err != nil {
				return nil, err
			}
		case f.Name == wantJournal, f.Name == wantResults:
		default:
			return nil, fmt.Errorf("there is no place for a file %s", f.Name)
		}
	}
	if s.script == nil || len(s.play) == 0 {
		return nil, fmt.Errorf("a scenario needs model.yaml and play")
	}
	if err := s.checkHeld(); err != nil {
		return nil, err
	}
	for _, c := range s.play {
		s.processes = s.processes || c.verb == "kill" || c.verb == "drain"
		s.alone = s.alone || c.verb == "pause"
	}
	if s.play[0].verb != "open" {
		s.play = append([]command{{verb: "open"}}, s.play...)
	}
	return s, nil
}

// newScenario is one without a file: a test of its own plays it.
func newScenario(t *testing.T, name, model string) *scenario {
	t.Helper()
	script, err := scripted.Parse("model.yaml", []byte(model))
	if err != nil {
		t.Fatal(err)
	}
	cast(script)
	return &scenario{name: name, script: script, work: map[string]string{}}
}

// mainRole is the role of the orchestrator.
const mainRole = "main"

// cast makes rules that name a role look for the sentence that says so in our own prompts.
func cast(script *scripted.Script) {
	for i := range script.Rules {
		when := &script.Rules[i].When
		switch when.Role {
		case "":
		case mainRole:
			when.System, when.Role = "(?m)^You are the main agent", ""
		default:
			when.System, when.Role = `operating as a \*\*`+regexp.QuoteMeta(when.Role)+`\*\* sub-agent`, ""
		}
	}
}

func readPlay(text string) ([]command, error) {
	var out []command
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := readCommand(i+1, line)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func readCommand(number int, line string) (command, error) {
	words, text, _ := strings.Cut(line, ": ")
	fields := strings.Fields(words)
	c := command{line: number, verb: strings.TrimSuffix(fields[0], ":"), args: fields[1:], text: text}
	least, known := map[string]int{
		"open": 0, "say": 1, "reply": 3, "decline": 3, "allow": 2, "edit": 2, "deny": 2, "cancel": 1, "close": 0,
		"both": 0, "change": 1, "wait": 2, "release": 1, "kill": 1, "drain": 1, "start": 1, "pause": 2,
	}[c.verb]
	switch {
	case !known:
		return c, fmt.Errorf("line %d of play: there is no command %q", number, c.verb)
	case len(c.args) < least:
		return c, fmt.Errorf("line %d of play: %s needs %d words", number, c.verb, least)
	}
	return c, nil
}

// held are the rules that the play releases; they answer nobody before.
func (s *scenario) held() []string {
	var out []string
	for _, c := range s.play {
		if c.verb == "release" {
			out = append(out, strings.Join(c.args, " "))
		}
	}
	return out
}

// checkHeld reports a rule that is released and does not exist, or is released twice.
func (s *scenario) checkHeld() error {
	rules := map[string]bool{}
	for _, r := range s.script.Rules {
		rules[r.Name] = true
	}
	for _, name := range s.held() {
		if !rules[name] {
			return fmt.Errorf("there is no rule %q to release, or no more", name)
		}
		delete(rules, name)
	}
	return nil
}

// want is an expectation of the file, empty if there is none.
func (s *scenario) want(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// rewrite replaces the expectations by the results.
func (s *scenario) rewrite(found map[string]string) error {
	for _, name := range []string{wantJournal, wantResults} {
		at := -1
		for i, f := range s.archive.Files {
			if f.Name == name {
				at = i
			}
		}
		if at < 0 {
			s.archive.Files = append(s.archive.Files, txtar.File{Name: name})
			at = len(s.archive.Files) - 1
		}
		s.archive.Files[at].Data = []byte(found[name])
	}
	return os.WriteFile(s.path, txtar.Format(s.archive), 0o600)
}
