package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// asProcess holds the options of an engine that this binary is to be instead of a test.
const asProcess = "TEST_RETINUE_ENGINE"

func TestMain(m *testing.M) {
	options := os.Getenv(asProcess)
	if options == "" {
		os.Exit(m.Run())
	}
	var o Options
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		fail(err)
	}
	e, err := Start(context.Background(), o)
	if err != nil {
		fail(err)
	}
	fmt.Println(e.Address)
	select {} // until it is killed
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// process is an engine that can be killed.
type process struct {
	cmd     *exec.Cmd
	address string
}

func launch(t *testing.T, o Options) *process {
	t.Helper()
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(binary)}
	p.cmd.Env = append(os.Environ(), asProcess+"="+string(options))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the engine did not come up: %v", err)
	}
	p.address = strings.TrimSpace(line)
	t.Logf("engine is ready at %s after %v", p.address, time.Since(begun).Round(time.Millisecond))
	return p
}

// kill gives the engine no chance to tidy up. What Kill and Wait have to say of a process that was
// killed is of no use.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
