//go:build services

package bench

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/toolbox"
)

var (
	full    = flag.Bool("full", false, "measure everything at full size and hold it against the targets")
	rounds  = flag.Int("rounds", 3, "how often each shape is measured; what counts is the median")
	plots   = flag.String("plots", "", "write the plots of growth to this folder")
	profile = flag.String("profile", "", "write CPU profiles of the workers and the engines to this folder")
)

// asPart makes this binary one of the measured programs; its value is the program's Setup.
const asPart = "RETINUE_BENCH_PART"

// patience bounds everything that a part is asked to do.
const patience = 10 * time.Minute

// Setup says what a part is and where the others are.
type Setup struct {
	Part string
	// Engine is the engine's address, Credentials the folder with certificates for it, and Model
	// the scripted model's address.
	Engine, Credentials, Model string
	// Journal is the DSN of the journal, or a file.
	Journal string
	// NATS is the address of the bus; empty means within the process.
	NATS string
	// Folder is the workspace.
	Folder string
	// Window is the model's context window.
	Window int
	// Family is how many sub-agents a leg runs; zero means the default.
	Family int
	// Profile is the file that a CPU profile is written to.
	Profile string
}

func TestMain(m *testing.M) {
	if code, ours := toolbox.SandboxInit(os.Args[1:]); ours {
		os.Exit(code) // the first process of a sandbox
	}
	setup := os.Getenv(asPart)
	if setup == "" {
		os.Exit(m.Run())
	}
	if err := play(setup); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play is the life of a part: it says where it can be reached, and then answers until its input
// ends.
func play(text string) error {
	var s Setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	if s.Profile != "" {
		file, err := os.Create(s.Profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	parts := map[string]func(Setup) (func(Order) (any, error), error){
		"model": playModel, "bare": playBare, "retinue": playRetinue, "front": playFront,
	}
	do, err := parts[s.Part](s)
	if err != nil {
		return err
	}
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 1<<20)
	if err := out.Encode(answer{}); err != nil {
		return err
	}
	for in.Scan() {
		var o Order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			return err
		}
		var a answer
		value, err := do(o)
		if err != nil {
			a.Error = err.Error()
		} else if a.Value, err = json.Marshal(value); err != nil {
			return err
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return in.Err()
}

// Order is an order for a measured program.
type Order struct {
	Do    string
	Shape Shape
	// Name begins the ids of the conversations.
	Name string
	// Turns are how many turns of a talk are made, and Agents how many wait.
	Turns, Agents int
}

type answer struct {
	Value json.RawMessage
	Error string
}

// part is a process.
type part struct {
	t   *testing.T
	pid int
	in  *json.Encoder
	out *json.Decoder
}

// start starts a part and waits until it is ready.
func start(t *testing.T, s Setup) *part {
	t.Helper()
	if *profile != "" && s.Part != "model" {
		s.Profile = filepath.Join(*profile, fmt.Sprintf("%s-%d.pprof", s.Part, time.Now().UnixMilli()))
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asPart+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		ended := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		defer ended.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", s.Part, err)
		}
	})
	p := &part{t: t, pid: cmd.Process.Pid, in: json.NewEncoder(stdin), out: json.NewDecoder(stdout)}
	p.read(nil)
	return p
}

// do has a part carry out an order.
func (p *part) do(o Order, into any) {
	p.t.Helper()
	if err := p.in.Encode(o); err != nil {
		p.t.Fatal(err)
	}
	p.read(into)
}

func (p *part) read(into any) {
	p.t.Helper()
	var a answer
	if err := p.out.Decode(&a); err != nil {
		p.t.Fatalf("the part has ended: %v", err)
	}
	if a.Error != "" {
		p.t.Fatal(a.Error)
	}
	if into != nil {
		if err := json.Unmarshal(a.Value, into); err != nil {
			p.t.Fatal(err)
		}
	}
}
