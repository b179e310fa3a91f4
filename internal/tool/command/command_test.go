package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/command"
)

// TestEveryCommandOfALineIsFound takes lines apart. A ? before a command means that a part of it is
// known only when it runs.
func TestEveryCommandOfALineIsFound(t *testing.T) {
	for line, want := range map[string][]string{
		"git status":                             {"git status"},
		"git status; rm -rf build":               {"git status", "rm -rf build"},
		"cd src && go test ./... || echo no":     {"cd src", "go test ./...", "echo no"},
		"cat a | tee b | wc -l":                  {"cat a", "tee b", "wc -l"},
		"(cd x; rm y) & sleep 1":                 {"cd x", "rm y", "sleep 1"},
		"echo $(curl example.org)":               {"?echo $(curl example.org)", "curl example.org"},
		"echo `id`":                              {"?echo $(id)", "id"},
		`echo "a $(rm b) c"`:                     {"?echo a $(rm b) c", "rm b"},
		"cat <<E\n$(id)\nE":                      {"cat", "id"},
		"cat <<'E'\n$(id)\nE":                    {"cat"},
		"diff <(ls a) <(rm b)":                   {"?diff <(ls a) <(rm b)", "ls a", "rm b"},
		"ls() { rm -rf x; }; ls":                 {"rm -rf x", "ls"},
		"if test -f a; then rm a; fi":            {"test -f a", "rm a"},
		"for f in *; do rm $f; done":             {"?rm $f"},
		"while read -r l; do sh -c \"$l\"; done": {"read -r l", "?sh -c $l"},
		`\rm -rf x`:                              {"rm -rf x"},
		`"r"m 'a b'`:                             {"rm a b"},
		`r\m x`:                                  {"rm x"},
		"$CMD x":                                 {"?$CMD x"},
		"${X:-rm} x":                             {"?${X:-rm} x"},
		"{rm,-rf,x}":                             {"?{rm,-rf,x}"},
		"$'\\x72m' x":                            {"?\\x72m x"},
		"echo x > out.txt":                       {"echo x", "> out.txt"},
		"echo x >> $HOME/.bashrc":                {"echo x", "?> $HOME/.bashrc"},
		"make 2>&1 >/dev/null":                   {"make"},
		"make >&log":                             {"make", "> log"},
		"make >&$X 2>&-":                         {"make", "?> $X"},
		"make &> log":                            {"make", "> log"},
		"PATH=/tmp ls":                           {"PATH=/tmp ls"},
		"PATH=/tmp; ls":                          {"PATH=/tmp", "ls"},
		"X=$(id) ls":                             {"?X=$(id) ls", "id"},
		"export PATH=/tmp; ls":                   {"export PATH=/tmp", "ls"},
		"declare -x LD_PRELOAD=a.so":             {"declare -x LD_PRELOAD=a.so"},
		"[[ -n $(id) ]] && ls":                   {"id", "ls"},
		"(( $(id) ))":                            {"id"},
		"/bin/rm -rf x":                          {"/bin/rm -rf x"},
		"a\\\nb c":                               {"ab c"},
		"echo ''":                                {"echo ''"},
		"time -p go build":                       {"go build"},
		"! grep x y":                             {"grep x y"},
		"coproc nc -l 1":                         {"nc -l 1"},
		"case x in x) rm y;; esac":               {"rm y"},
		"echo a#b # rm c":                        {"echo a#b"},
		"":                                       nil,
	} {
		l := command.Parse(line)
		var got []string
		for _, c := range l.Commands {
			text := c.Text
			if c.Hidden {
				text = "?" + text
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" || l.Problem != "" {
			t.Errorf("%q: problem %q, commands (-want +got):\n%s", line, l.Problem, diff)
		}
	}
}

func TestALineThatCannotBeReadHasNoCommands(t *testing.T) {
	for _, line := range []string{"echo 'x", "if true", "$(", "a && ", "cat <<E", strings.Repeat("echo a; ", 10_000)} {
		if l := command.Parse(line); l.Problem == "" || len(l.Commands) > 0 || l.Pattern() != "" {
			t.Errorf("%.20q: %+v", line, l)
		}
	}
}

func TestWhatMayBeAllowedForLaterCalls(t *testing.T) {
	for line, want := range map[string]string{
		"go test ./...":                  "go test ./...",
		"git status -s":                  "git status *",
		"git -C x status":                "git -C x status",
		"git -c core.pager=sh log":       "",
		"git push origin main":           "",
		"npm test":                       "npm test",
		"git log --oneline -5 -- a":      "git log *",
		"git log -p --ext-diff":          "",
		"git log --output=x":             "",
		"git log --some-new-option":      "git log --some-new-option",
		"LD_PRELOAD=./evil.so git log":   "LD_PRELOAD=./evil.so git log",
		"GIT_EXTERNAL_DIFF=./e git diff": "GIT_EXTERNAL_DIFF=./e git diff",
		"git --no-pager log":             "git --no-pager log",
		"./git log":                      "./git log",
		"git grep --no-index foo":        "git grep *",
		"git grep -O./evil.sh foo":       "",
		"git grep --open-files-in-pager": "",
		"git bisect run ./x":             "",
		"git submodule foreach ls":       "",
		"git difftool -x sh":             "",
		"git -C x bisect run ./x":        "",
		"go vet -vettool=./x ./...":      "",
		"go env -w GOFLAGS=-exec=x":      "go env -w GOFLAGS=-exec=x",
		"go list -toolexec=./x ./...":    "",
		"uv run x":                       "",
		"poetry run x":                   "",
		"bundle exec x":                  "",
		"bun x evil":                     "",
		"cargo run":                      "",
		"rg --pre ./x foo":               "",
		"npm exec evil":                  "",
		"go run .":                       "",
		"go test -exec sudo ./...":       "",
		"./gradlew build":                "./gradlew build",
		"ls -la":                         "ls -la",
		"ls && wc -l a":                  "ls\nwc -l a",
		"ls && rm a":                     "",
		"ls > a":                         "",
		"X=1 ls":                         "X=1 ls",
		"echo $HOME":                     "",
		"sh -c ls":                       "",
		"/usr/bin/python3.11 x.py":       "",
		"python3 x.py":                   "",
		"env ls":                         "",
		"xargs rm":                       "",
		"find . -name x":                 "find . -name x",
		"find . -exec rm {} +":           "",
		"busybox ls":                     "",
		"sudo ls":                        "",
		"eval ls":                        "",
		". ./x":                          "",
		"tar -xf a --to-command=sh":      "",
		"sed -i s/a/b/ c":                "",
		"rm a":                           "",
		"/bin/rm a":                      "",
		"":                               "",
		"ls; ls() { ls; }; trap ls EXIT": "",
	} {
		if got := command.Parse(line).Pattern(); got != want {
			t.Errorf("%q: %q may be allowed, want %q", line, got, want)
		}
	}
}

// TestAWideYesCoversNoOtherProgram allows harmless lines for later calls. None of the others, which
// run programs of somebody's choice, is of a family that was allowed, or would be one of its own.
func TestAWideYesCoversNoOtherProgram(t *testing.T) {
	wall, allowed := measure.NewWall(t, "1.9"), map[string]bool{}
	for _, line := range []string{
		"git log -5", "git diff", "git show HEAD", "git grep --no-index foo", "git status -s", "git blame a", "go list ./...", "go vet ./...",
		"go test ./...", "rg foo", "find . -name x", "npm test", "cargo build", "ls",
	} {
		pattern := command.Parse(line).Pattern()
		if pattern == "" {
			t.Fatalf("%q cannot be allowed for later calls", line)
		}
		allowed[pattern] = true
	}
	for _, line := range []string{
		"LD_PRELOAD=./evil.so git log", "GIT_EXTERNAL_DIFF=./e.sh git log -p --ext-diff", "git grep --no-index -O./evil.sh foo", "git grep -O foo",
		"git bisect run ./x", "git submodule foreach ./x", "git difftool -x ./x", "go vet -vettool=./x ./...", "uv run x", "poetry run x", "bundle exec x", "bun x evil",
		"cargo run", "git -c core.pager=./x log", "git -c diff.external=./x diff", "git --exec-path=./x log", "git -c alias.log='!./x' log", "git log --output=.bashrc",
		"git diff --no-index --ext-diff a b", "git show --textconv HEAD", "PATH=.:$PATH git log", "env git log", "GIT_DIR=./x git log", "GIT_PAGER=./x git log",
		"git -C ../x log", "git --git-dir=x status", "git log; ./x", "git log && ./x", "git log | sh", "git log $(./x)", "git log `./x`", "git log > .git/hooks/x",
		"go list -toolexec=./x ./...", "go list -overlay=x ./...", "go test -exec ./x ./...", "GOFLAGS=-toolexec=./x go list ./...", "go vet -toolexec ./x ./...",
		"rg --pre ./x foo", "find . -exec ./x {} +", "find . -fprint x", "find . -delete", "./git log", "command git log",
		"git grep --open-files-in-pager=./x foo", "git grep --open-files=./x foo", "git log --ext-diff=./x", "git branch --edit-description", "git blame --contents x a",
	} {
		pattern := command.Parse(line).Pattern()
		wall.Try(allowed[pattern] || strings.HasSuffix(pattern, "*"), "%q is of the family %q", line, pattern)
	}
}

func TestARuleKnowsAProgramByItsBareNameToo(t *testing.T) {
	got := command.Parse("/usr/bin/git push origin").Commands[0].Forms()
	if diff := cmp.Diff([]string{"/usr/bin/git push origin", "git push origin"}, got); diff != "" {
		t.Error(diff)
	}
	if got := command.Parse("git push").Commands[0].Forms(); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestWhatALineIsAbout(t *testing.T) {
	want := tool.About{Matters: []tool.Matter{
		{Forms: []string{"ls -l"}}, {Forms: []string{"/bin/rm $X", "rm $X"}, Inside: []string{"rm $X"}, Hidden: true},
	}}
	if diff := cmp.Diff(want, command.About("ls -l; /bin/rm $X")); diff != "" {
		t.Error(diff)
	}
	unreadable := tool.About{Matters: []tool.Matter{{Forms: []string{"ls '"}, Hidden: true}}}
	if diff := cmp.Diff(unreadable, command.About("ls '")); diff != "" {
		t.Error(diff)
	}
	if got := command.About("git status -s").Pattern; got != "git status *" {
		t.Errorf("pattern %q", got)
	}
}

// TestWhatALineAmountsTo looks for a command behind assignments, options and programs that run
// others.
func TestWhatALineAmountsTo(t *testing.T) {
	wall := measure.NewWall(t, "1.9")
	for _, line := range []string{
		"X=1 git push origin main", "git -C . push origin main", "git --no-pager -c a=b push origin main", "git --git-dir=x push origin main",
		"/usr/bin/git push origin main", "Y=2 /usr/bin/git -C /tmp push origin main", "env git push origin main", "env X=1 git push origin main",
		"command git push origin main", "nice -n 5 git push origin main", "timeout 5 git push origin main", "sudo -u root git push origin main",
		"sh -c 'git push origin main'", "bash -lc 'cd x && git push origin main'", "xargs git push origin main", "nohup env git -C . push origin main",
		"sh -c \"sh -c 'git push origin main'\"", "exec git push origin main",
	} {
		about := command.About(line)
		found := slices.ContainsFunc(about.Matters, func(m tool.Matter) bool { return slices.Contains(m.Inside, "git push origin main") })
		wall.Try(!found, "%q amounts to %+v", line, about.Matters)
	}
	for _, line := range []string{"git push origin main", "echo git push origin main"} {
		for _, m := range command.About(line).Matters {
			if len(m.Inside) > 0 {
				t.Errorf("%q amounts to %q", line, m.Inside)
			}
		}
	}
	long := command.About("env " + strings.Repeat("a ", 200))
	if !long.Matters[0].Hidden {
		t.Error("nobody finds what is in so long a line, and it is not hidden")
	}
}

// FuzzParse looks for lines that the parser misreads, and for patterns that are too wide: a line
// that may be allowed for later has no hidden part.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"git status; rm x", "echo $(id)", "a=b c >d", "f() { x; }; f", "cat <<E\nx\nE", "{a,b}", "\\\n", "$'a'"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		l := command.Parse(line)
		for _, c := range l.Commands {
			c.Forms()
			if c.Hidden && l.Pattern() != "" {
				t.Errorf("%q may be allowed for later, and a part of it is hidden", line)
			}
		}
	})
}
