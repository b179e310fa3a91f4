package durable

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/leg"
)

// Engine is a connection to Temporal.
type Engine = client.Client

// Codec encodes the values sent through the engine and decodes them again, for example to encrypt
// them.
type Codec = converter.PayloadCodec

// Payload is the input of a codec, one value with its encoding.
type Payload = common.Payload

// ConnectOptions say where the engine is.
type ConnectOptions struct {
	Address   string
	Namespace string
	// TLS is nil where the engine asks for none. APIKey goes with every call and needs it.
	TLS    *tls.Config
	APIKey string
	Logger *slog.Logger
	// Codecs encode the values sent through the engine, failures included, for installations whose
	// engine somebody else runs. Names stay readable: those of workflows and queues, with the ids
	// of tenants, conversations and workspaces in them.
	Codecs []Codec
	// Redact takes out of failures what must not surface; nil takes out nothing.
	Redact func(text string) string
}

// Connect reaches the engine.
func Connect(ctx context.Context, o ConnectOptions) (Engine, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	options := client.Options{
		HostPort: o.Address, Namespace: o.Namespace, Logger: log.NewStructuredLogger(o.Logger),
		// The data that crosses the engine is small: to compress it costs more than to send it.
		ConnectionOptions: client.ConnectionOptions{TLS: o.TLS, GrpcCompression: &client.GrpcCompressionNone{}},
		DataConverter:     converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), o.Codecs...),
	}
	if o.APIKey != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	options.FailureConverter = newFailures(options.DataConverter, o)
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("reach the engine at %s: %w", o.Address, err)
	}
	return c, nil
}

// WorkerOptions say what a worker serves.
type WorkerOptions struct {
	// Workspaces are those whose legs this worker carries out, beside agents without one.
	Workspaces []host.Workspace
	// LegsOnly serves workspaces and leaves the agents' workflows to others; Local runs the workflows
	// of a workspace's agents where the workspace is served.
	LegsOnly, Local bool
	// Legs is how many legs run at the same time; zero means 1,000.
	Legs int
	// CachedRuns is how many workflows this process keeps in memory, for all its workers; zero
	// means the SDK's default.
	CachedRuns int
	// Name tells this worker from all others that there are or were; empty means a random one.
	Name string
	// Deployment and Build turn versioning on: a run stays with the build it began on until it
	// begins a new history.
	Deployment, Build string
}

// Worker serves agents.
type Worker struct {
	workers []worker.Worker
	// presence serves the queue of this worker alone.
	presence worker.Worker
	does     *activities
	mail     *mailWatch
	// end ends the watchers beside the legs.
	end     context.CancelFunc
	watches sync.WaitGroup
}

// NewWorker makes a worker; Start starts it. The client is the one that the worker's process has.
func NewWorker(c *Client, carrier *leg.Carrier, o WorkerOptions) *Worker {
	if o.Name == "" {
		o.Name = rand.Text()
	}
	does := &activities{engine: c.Engine, carrier: carrier, client: c, presence: &presence{engine: c.Engine, namespace: c.Namespace, worker: o.Name}}
	does.presence.beats = &does.heartbeats
	w := &Worker{does: does, presence: worker.New(c.Engine, presenceQueue(o.Name), worker.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityTaskPollers: 1, WorkerStopTimeout: heartbeatTimeout, Identity: o.Name,
	})}
	w.presence.RegisterActivityWithOptions(does.presence.present, activity.RegisterOptions{Name: activityPresent})
	w.mail = newMailWatch(c.Log, carrier)
	if o.CachedRuns > 0 {
		worker.SetStickyWorkflowCacheSize(o.CachedRuns)
	}
	if !o.LegsOnly {
		w.add(does, controlQueue, true, o)
		w.workers = append(w.workers, does.presences(o))
	}
	for _, at := range o.Workspaces {
		w.add(does, queueOf(at), o.Local, o)
	}
	return w
}

func (w *Worker) add(does *activities, queue string, workflows bool, o WorkerOptions) {
	options := o.Engine()
	options.DisableWorkflowWorker = !workflows
	one := worker.New(does.engine, queue, options)
	one.RegisterActivityWithOptions(does.leg, activity.RegisterOptions{Name: activityLeg})
	one.RegisterActivityWithOptions(does.review, activity.RegisterOptions{Name: activityReview})
	if workflows {
		one.RegisterWorkflowWithOptions(does.agent, workflow.RegisterOptions{Name: workflowAgent})
		one.RegisterWorkflowWithOptions(Review, workflow.RegisterOptions{Name: workflowReview})
		one.RegisterActivityWithOptions(does.recordBroken, activity.RegisterOptions{Name: activityRecordBroken})
	}
	w.workers = append(w.workers, one)
}

// cachedFor is how long the engine waits for a worker that has a workflow in its cache, before it
// gives the workflow to another.
const cachedFor = time.Second

// Engine is how the engine's own worker is set up for these.
func (o WorkerOptions) Engine() worker.Options {
	if o.Legs == 0 {
		o.Legs = 1000
	}
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: 4, MinimumNumberOfPollers: 2, MaximumNumberOfPollers: 32,
	})
	options := worker.Options{
		MaxConcurrentActivityExecutionSize: o.Legs, ActivityTaskPollerBehavior: pollers,
		WorkflowTaskPollerBehavior: pollers, StickyScheduleToStartTimeout: cachedFor,
		WorkerStopTimeout: leg.DrainGrace + 5*time.Second, Identity: o.Name,
	}
	if o.Build != "" {
		options.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: true, DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
			Version: worker.WorkerDeploymentVersion{DeploymentName: o.Deployment, BuildID: o.Build},
		}
	}
	return options
}

// presences carries out the presences of all workers, and releases the legs of those that are lost.
// Builds are not told apart here: any can do it for any other.
func (a *activities) presences(o WorkerOptions) worker.Worker {
	one := worker.New(a.engine, presencesQueue, worker.Options{
		Identity: o.Name, StickyScheduleToStartTimeout: cachedFor, WorkerStopTimeout: heartbeatTimeout,
		MaxConcurrentActivityTaskPollers: 1, MaxConcurrentWorkflowTaskPollers: 2,
	})
	one.RegisterWorkflowWithOptions(Presence, workflow.RegisterOptions{Name: workflowPresence})
	one.RegisterActivityWithOptions(a.release, activity.RegisterOptions{Name: activityRelease})
	return one
}

// Start begins to serve.
func (w *Worker) Start() error {
	all := append([]worker.Worker{w.presence}, w.workers...)
	for i, one := range all {
		if err := one.Start(); err != nil {
			for _, started := range all[:i] {
				started.Stop()
			}
			return fmt.Errorf("start worker: %w", err)
		}
	}
	w.watch()
	return nil
}

// watch reads mail while this worker has legs, keeps its presence, and notices when it stood still.
func (w *Worker) watch() {
	var ctx context.Context
	ctx, w.end = context.WithCancel(context.Background())
	w.watches.Go(func() {
		for wait(ctx, watchEvery) {
			if w.does.heartbeats.running.Load() > 0 {
				w.mail.look(ctx)
			}
		}
	})
	w.watches.Go(func() {
		for wait(ctx, presentBeat) {
			w.does.presence.keep(ctx, time.Now())
		}
	})
	w.watches.Go(func() { w.does.heartbeats.watchStandstill(ctx, standstill) })
}

// Stop waits until the legs have finished their work under way, and hands them over.
func (w *Worker) Stop() {
	done := make(chan struct{}, len(w.workers))
	for _, one := range w.workers {
		go func() {
			one.Stop()
			done <- struct{}{}
		}()
	}
	for range w.workers {
		<-done
	}
	w.presence.Stop() // it says that the worker lives for as long as there are legs
	w.end()
	w.watches.Wait()
}
