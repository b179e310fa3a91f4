// Package history reads the engine's history of a conversation, makes it fit to be stored, and
// reads stored ones. It is test support: nothing that ships may import it.
//
// It imports durable for the connection only.
package history

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	pb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Run is one run of a workflow with its history.
type Run struct {
	// Workflow and ID are the engine's names for it.
	Workflow, ID string
	// Open means that the run has not ended.
	Open    bool
	History *pb.History
}

// Read returns the last run of a conversation's orchestrator, and those of its other tasks that
// have runs of their own.
func Read(ctx context.Context, engine durable.Engine, log journal.Reader, ref journal.Ref) ([]Run, error) {
	state, err := log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	var out []Run
	for _, t := range state.Tasks {
		run, err := read(ctx, engine, host.RunID(ref, t.ID), "")
		var none *serviceerror.NotFound
		if errors.As(err, &none) && t.ID != host.Root {
			continue // its parent's leg carried it
		}
		if err != nil {
			return nil, err
		}
		out = append(out, run)
	}
	slices.SortStableFunc(out, func(a, b Run) int { return cmp.Compare(len(a.Workflow), len(b.Workflow)) })
	return out, nil
}

// Listed returns the last runs of a conversation that the engine lists, in no order. Its list may
// be a little behind.
func Listed(ctx context.Context, engine durable.Engine, ref journal.Ref) ([]Run, error) {
	root := host.RunID(ref, host.Root)
	list, err := engine.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowId = '%s' or WorkflowId starts_with '%s/'", root, root),
	})
	if err != nil {
		return nil, err
	}
	var out []Run
	for _, e := range list.GetExecutions() {
		run, err := read(ctx, engine, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId())
		if err != nil {
			return nil, err
		}
		out = append(out, run)
	}
	return out, nil
}

// Delete has the engine forget a workflow's last run with its history, running or not.
func Delete(ctx context.Context, engine durable.Engine, namespace, workflow string) error {
	_, err := engine.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: workflow},
	})
	return err
}

// Chain returns every run that a workflow has had in a row, each carried over into the next.
func Chain(ctx context.Context, engine durable.Engine, workflow string) ([]Run, error) {
	var out []Run
	for id := ""; ; {
		run, err := read(ctx, engine, workflow, id)
		if err != nil {
			return nil, err
		}
		out = slices.Insert(out, 0, run)
		started := run.History.Events[0].GetWorkflowExecutionStartedEventAttributes()
		if id = started.GetContinuedExecutionRunId(); id == "" {
			return out, nil
		}
	}
}

func read(ctx context.Context, engine durable.Engine, workflow, id string) (Run, error) {
	run := Run{Workflow: workflow, ID: id, Open: true, History: &pb.History{}}
	events := engine.GetWorkflowHistory(ctx, workflow, id, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return Run{}, fmt.Errorf("read the history of %s: %w", workflow, err)
		}
		run.History.Events = append(run.History.Events, e)
		if started := e.GetWorkflowExecutionStartedEventAttributes(); started != nil {
			run.ID = started.GetOriginalExecutionRunId()
		}
		run.Open = run.Open && !slices.Contains(ending, e.GetEventType())
	}
	return run, nil
}

// ending are the events that end a run.
var ending = []enums.EventType{
	enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
	enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
	enums.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
}

// End is the kind of the last event, in the engine's words without their common beginning.
func (r Run) End() string {
	if r.Open || len(r.History.Events) == 0 {
		return "open"
	}
	last := r.History.Events[len(r.History.Events)-1]
	return strings.TrimPrefix(last.GetEventType().String(), "WorkflowExecution")
}

// Bytes is everything in the history as the engine stores it; texts stand in it as they are.
func (r Run) Bytes() ([]byte, error) { return proto.Marshal(r.History) }

// Largest is the size of the largest payload.
func (r Run) Largest() int {
	most := 0
	for _, p := range r.Payloads() {
		most = max(most, len(p.GetData()))
	}
	return most
}

// Payloads are all in the history, those in failures included, as the engine stores them.
func (r Run) Payloads() []*durable.Payload { return all[*durable.Payload](r) }

// Failures are all in the history, and the causes of each.
func (r Run) Failures() []*failure.Failure { return all[*failure.Failure](r) }

// all finds the messages of a kind.
func all[M proto.Message](r Run) []M {
	var out []M
	visit(r.History.ProtoReflect(), func(m protoreflect.Message) {
		if found, ok := m.Interface().(M); ok {
			out = append(out, found)
		}
	})
	return out
}

// Builds are those whose workers answered for the run, in order, each once in a row.
func (r Run) Builds() []string {
	var out []string
	for _, e := range r.History.Events {
		if done := e.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			out = append(out, done.GetDeploymentVersion().GetBuildId())
		}
	}
	return slices.Compact(out)
}

// Prune removes names of machines and processes, and fields that a replay ignores.
func (r Run) Prune() {
	visit(r.History.ProtoReflect(), func(m protoreflect.Message) {
		fields := m.Descriptor().Fields()
		for _, name := range []protoreflect.Name{
			"identity", "binary_checksum", "request_id", "worker_version", "sdk_metadata", "metering_metadata",
			"sticky_attributes", "stack_trace", "deployment_version", "worker_deployment_name", "header",
		} {
			if f := fields.ByName(name); f != nil {
				m.Clear(f)
			}
		}
		if m.Descriptor().Name() == "ActivityTaskScheduledEventAttributes" { // a replay compares the activity and its options, not its arguments
			m.Clear(fields.ByName("input"))
		}
		if m.Descriptor().FullName() == "temporal.api.taskqueue.v1.TaskQueue" &&
			m.Get(fields.ByName("kind")).Enum() == protoreflect.EnumNumber(enums.TASK_QUEUE_KIND_STICKY) {
			m.Clear(fields.ByName("name"))
		}
	})
}

// visit calls f for a message and all messages in it.
func visit(m protoreflect.Message, f func(protoreflect.Message)) {
	f(m)
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					visit(v.Message(), f)
					return true
				})
			}
		case field.Message() == nil:
		case field.IsList():
			for i := range v.List().Len() {
				visit(v.List().Get(i).Message(), f)
			}
		default:
			visit(v.Message(), f)
		}
		return true
	})
}

// Keep stores the runs of one conversation in a folder, as NAME.0.json.gz and so on, and reports
// whether it did. Stored runs stay as they are: a conversation that the folder has already is left
// alone, since a later build would only record its own behaviour.
func Keep(folder, name string, runs []Run) (bool, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return false, err
	}
	at := func(i int) string { return filepath.Join(folder, fmt.Sprintf("%s.%d.json.gz", name, i)) }
	if _, err := os.Stat(at(0)); err == nil {
		return false, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	// The first one comes last: with it the conversation counts as stored.
	for i, r := range slices.Backward(runs) {
		if err := r.Store(at(i)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Store writes a history as compressed JSON to a file that must not exist yet. The same history
// gives the same bytes.
func (r Run) Store(path string) (err error) {
	text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(r.History)
	if err != nil {
		return fmt.Errorf("write history %s: %w", r.Workflow, err)
	}
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	zip.Name = r.Workflow
	zip.Comment = r.ID
	if _, err := zip.Write(text); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("store history %s: %w", r.Workflow, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(out.Bytes())
	return err
}

// Load reads what Store wrote.
func Load(path string) (Run, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Run{}, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return Run{}, fmt.Errorf("read history %s: %w", path, err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		return Run{}, fmt.Errorf("read history %s: %w", path, err)
	}
	run := Run{Workflow: zip.Name, ID: zip.Comment, History: &pb.History{}}
	if err := (temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, run.History); err != nil {
		return Run{}, fmt.Errorf("read history %s: %w", path, err)
	}
	return run, nil
}
