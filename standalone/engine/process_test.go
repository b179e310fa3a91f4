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

	"github.com/retinue-dev/retinue/internal/mtls"
)

// asProcess holds the options of an engine that this binary is to be instead of a test, and
// credentialsOf the folder of its certificates.
const (
	asProcess     = "TEST_RETINUE_ENGINE"
	credentialsOf = "TEST_RETINUE_ENGINE_CREDENTIALS"
)

func TestMain(m *testing.M) {
	if told := os.Getenv(asStranger); told != "" {
		beStranger(told)
		return
	}
	options := os.Getenv(asProcess)
	if options == "" {
		os.Exit(m.Run())
	}
	var o Options
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		fail(err)
	}
	var err error
	if o, err = known(o, os.Getenv(credentialsOf)); err != nil {
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

// known gives an engine the certificates of a folder, which are made when they are missing.
func known(o Options, folder string) (Options, error) {
	err := mtls.Ensure(folder, time.Now())
	if err == nil {
		o.Server, err = mtls.Server(folder).ServerConfig()
	}
	if err == nil {
		o.Client, err = mtls.Client(folder).ClientConfig("127.0.0.1")
	}
	return o, err
}

// knownTo is an engine with certificates of its own.
func knownTo(t *testing.T, o Options) Options {
	t.Helper()
	o, err := known(o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func launch(t *testing.T, o Options, credentials string) *process {
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
	p.cmd.Env = append(os.Environ(), asProcess+"="+string(options), credentialsOf+"="+credentials)
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

// kill gives the engine no chance to tidy up. The errors of Kill and Wait about a process that was
// killed are of no use.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
