package engine

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/mtls"
)

// asStranger holds the orders for a program that attacks an engine, if this binary runs as one
// instead of a test.
const asStranger = "TEST_RETINUE_STRANGER"

// stranger is a program that can reach the engine's ports.
type stranger struct {
	// Frontend is the port for clients, Inner are the ports of the components behind it.
	Frontend string
	Inner    []string
	// Credentials is the folder of the engine's certificates, if it can be read, and Own a folder of
	// one's own.
	Credentials, Own string
	// Workflow is one that runs and Queue where its work waits.
	Workflow, Queue string
}

// attempt is one try with its result.
type attempt struct {
	What string
	Err  string
}

// attemptTime is how long a try may take. An engine that accepts somebody answers in a moment.
const attemptTime = 25 * time.Second

// tries tries everything with everything. A stranger that can read the engine's own certificate
// tries nothing else.
func (s stranger) tries() (all []attempt) {
	theirs, err := mtls.Client(s.Credentials).ClientConfig("127.0.0.1")
	all = append(all, attempt{What: "read the certificates", Err: fmt.Sprint(err)})
	ways := map[string]credentials.TransportCredentials{
		"without TLS":                insecure.NewCredentials(),
		"without a certificate":      credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}),
		"with a certificate of ours": s.shows(mtls.Client(s.Own).Cert),
		"with a server's of ours":    s.shows(mtls.Server(s.Own).Cert),
		"as our authority":           s.shows(filepath.Join(s.Own, "authority.pem")),
	}
	if err == nil {
		ways = map[string]credentials.TransportCredentials{"with the engine's": credentials.NewTLS(theirs)}
	}
	for how, with := range ways {
		all = append(all, s.calls(how, with)...)
	}
	slices.SortFunc(all, func(a, b attempt) int { return strings.Compare(a.What, b.What) })
	return all
}

// shows believes every server, and shows it a certificate.
func (s stranger) shows(file string) credentials.TransportCredentials {
	pair, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		fail(err)
	}
	return credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{pair}})
}

// calls makes the calls of a successful intruder.
func (s stranger) calls(how string, with credentials.TransportCredentials) (all []attempt) {
	try := func(what, address string, call func(context.Context, *grpc.ClientConn) error) {
		ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
		defer cancel()
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(with))
		if err == nil {
			err = call(ctx, conn)
			_ = conn.Close()
		}
		all = append(all, attempt{What: what + ", " + how, Err: fmt.Sprint(err)})
	}
	execution := &common.WorkflowExecution{WorkflowId: s.Workflow}
	try("list", s.Frontend, func(ctx context.Context, c *grpc.ClientConn) error {
		_, err := workflowservice.NewWorkflowServiceClient(c).ListOpenWorkflowExecutions(ctx, &workflowservice.ListOpenWorkflowExecutionsRequest{
			Namespace: DefaultNamespace,
		})
		return err
	})
	try("signal", s.Frontend, func(ctx context.Context, c *grpc.ClientConn) error {
		_, err := workflowservice.NewWorkflowServiceClient(c).SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: DefaultNamespace, WorkflowExecution: execution, SignalName: "Decided",
		})
		return err
	})
	try("poll", s.Frontend, func(ctx context.Context, c *grpc.ClientConn) error {
		task, err := workflowservice.NewWorkflowServiceClient(c).PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: DefaultNamespace, TaskQueue: &taskqueue.TaskQueue{Name: s.Queue, Kind: enums.TASK_QUEUE_KIND_NORMAL},
		})
		if err == nil && len(task.GetTaskToken()) == 0 {
			return context.DeadlineExceeded
		}
		return err
	})
	try("terminate", s.Frontend, func(ctx context.Context, c *grpc.ClientConn) error {
		_, err := workflowservice.NewWorkflowServiceClient(c).TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{
			Namespace: DefaultNamespace, WorkflowExecution: execution,
		})
		return err
	})
	for i, address := range s.Inner {
		try(fmt.Sprint("call part ", i), address, func(ctx context.Context, c *grpc.ClientConn) error {
			_, err := grpc_health_v1.NewHealthClient(c).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			if err != nil && strings.Contains(err.Error(), "unknown service") {
				return nil // it answers
			}
			return err
		})
	}
	return all
}

// beStranger is what this binary does instead of tests.
func beStranger(told string) {
	var s stranger
	if err := json.Unmarshal([]byte(told), &s); err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.tries()); err != nil {
		fail(err)
	}
}

// TestStrangersGetNothing has another user, and somebody in a container with the same network, try
// to get into an engine. The same tries succeed for a program that can read the engine's
// certificates.
func TestStrangersGetNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	// Others may come near the folder, but not into it, and they need the program that tries.
	place, err := os.MkdirTemp("", "retinue-strangers-") //nolint:usetesting // others cannot enter a test's own folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(place) })
	if err := os.Chmod(place, 0o755); err != nil { //nolint:gosec // that is the point
		t.Fatal(err)
	}
	program := filepath.Join(place, "stranger")
	copyProgram(t, program)
	o, folder := Options{SQLite: filepath.Join(t.TempDir(), "engine.db")}, filepath.Join(place, "engine-tls")
	p := launch(t, o, folder)
	shown, err := known(o, folder)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, p.address, shown)
	s := stranger{Frontend: p.address, Inner: inner(t, p), Credentials: folder, Own: filepath.Join(place, "own"), Queue: "nobody-serves-it"}
	if err := mtls.Ensure(s.Own, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := openAll(s.Own); err != nil {
		t.Fatal(err)
	}
	begin := func(id string) {
		t.Helper()
		s.Workflow = id
		if _, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: s.Queue}, "Count", 1); err != nil {
			t.Fatal(err)
		}
	}

	begin("control")
	for _, a := range tried(t, exec.Command(program), s) {
		if a.Err != "<nil>" {
			t.Errorf("a program that holds the certificates cannot %s: %s", a.What, a.Err)
		}
	}
	begin("victim")
	const nobody = 65534
	other := exec.Command(program)
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	// A container has the machine's loopback where it shares the network, and files of its own.
	container := exec.Command("bwrap", "--unshare-user", "--uid", "1000", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/", "/",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", folder, program)
	wall, attempts := measure.NewWall(t, "1.3"), 0
	for name, cmd := range map[string]*exec.Cmd{"another user": other, "a container": container} {
		for _, a := range tried(t, cmd, s) {
			attempts++
			wall.Try(a.Err == "<nil>", "%s: %s", name, a.What)
		}
	}
	run, err := c.DescribeWorkflowExecution(t.Context(), "victim", "")
	if err != nil || run.GetWorkflowExecutionInfo().GetStatus().String() != "Running" || run.GetWorkflowExecutionInfo().GetHistoryLength() != 2 {
		t.Errorf("the run is not as it was: %v %v", run.GetWorkflowExecutionInfo(), err)
	}
	if attempts < 40 {
		t.Errorf("only %d attempts", attempts)
	}
}

// tried runs a stranger, and returns its attempts.
func tried(t *testing.T, cmd *exec.Cmd, s stranger) (all []attempt) {
	t.Helper()
	told, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = []string{asStranger + "=" + string(told)}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return all
}

// inner are the ports of an engine's parts behind the one that clients call.
func inner(t *testing.T, p *process) (addresses []string) {
	t.Helper()
	own := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil { // some are closed meanwhile
			own[name] = true
		}
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if fields[3] != "0A" || !own["socket:["+fields[9]+"]"] { // it does not listen, or is another's
			continue
		}
		port, err := strconv.ParseUint(strings.Split(fields[1], ":")[1], 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		if address := fmt.Sprintf("127.0.0.1:%d", port); address != p.address {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) < 3 {
		t.Fatalf("only %v", addresses)
	}
	return addresses
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o755) //nolint:gosec // another user runs it
	}
	if err != nil {
		t.Fatal(err)
	}
}

// openAll lets everybody read a folder.
func openAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755) //nolint:gosec // they belong to the user that tries
	})
}
