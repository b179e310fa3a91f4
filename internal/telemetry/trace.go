package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options say what collectors receive. The standard variables name the collectors:
// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER, OTEL_SDK_DISABLED and
// those that the exporters read themselves. Sampling is set with OTEL_TRACES_SAMPLER=traceidratio.
type Options struct {
	Version string
	// Content adds the inputs of models and tools, and their outputs.
	Content bool
	// Lookup finds variables.
	Lookup func(string) (string, bool)
}

// Tracer reports agents' work to collectors. Nil reports nothing.
type Tracer struct {
	content  bool
	tracer   trace.Tracer
	duration metric.Float64Histogram
	tokens   metric.Int64Histogram
	closers  []func(context.Context) error
}

// scope names who makes the spans.
const scope = "github.com/retinue-dev/retinue"

// Open makes a tracer, or nil if the variables name no collector.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	traces, err := wants(o.Lookup, "TRACES")
	if err != nil {
		return nil, err
	}
	metrics, err := wants(o.Lookup, "METRICS")
	if err != nil || !traces && !metrics {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "retinue"), attribute.String("service.version", o.Version)))
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("describe this process: %w", err)
	}
	t := &Tracer{content: o.Content}
	spans, points := []sdktrace.TracerProviderOption{sdktrace.WithResource(about), sdktrace.WithIDGenerator(identities{})},
		[]sdkmetric.Option{sdkmetric.WithResource(about)}
	if traces {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("reach the collector of traces: %w", err)
		}
		spans = append(spans, sdktrace.WithBatcher(exporter))
	}
	if metrics {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("reach the collector of metrics: %w", err)
		}
		points = append(points, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	provider, meters := sdktrace.NewTracerProvider(spans...), sdkmetric.NewMeterProvider(points...)
	t.closers = []func(context.Context) error{provider.Shutdown, meters.Shutdown}
	t.tracer = provider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	meter := meters.Meter(scope)
	if t.duration, err = meter.Float64Histogram(metricDuration, metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(
		.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)); err != nil {
		return nil, err
	}
	t.tokens, err = meter.Int64Histogram(metricTokens, metric.WithUnit("{token}"), metric.WithExplicitBucketBoundaries(
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864))
	return t, err
}

// wants reports whether the variables name a collector for a signal.
func wants(lookup func(string) (string, bool), signal string) (bool, error) {
	get := func(name string) string { value, _ := lookup(name); return value }
	if get("OTEL_SDK_DISABLED") == "true" {
		return false, nil
	}
	there := get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	switch exporter := get("OTEL_" + signal + "_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "":
	case "otlp":
		there = true
	default:
		return false, fmt.Errorf("OTEL_%s_EXPORTER: %q is not known here: use otlp or none", signal, exporter)
	}
	protocol := get("OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL")
	if protocol == "" {
		protocol = get("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if there && protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not known here: use http/protobuf", protocol)
	}
	return there, nil
}

// Close sends the remaining data.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var errs error
	for _, c := range t.closers {
		errs = errors.Join(errs, c(ctx))
	}
	return errs
}

// finish ends a span.
func finish(span trace.Span, fault string) {
	if fault != "" {
		span.SetAttributes(keyError.String(fault))
		span.SetStatus(codes.Error, fault)
	}
	span.End()
}

// took is how long something that began then has taken, in seconds.
func took(began time.Time) float64 { return time.Since(began).Seconds() }
