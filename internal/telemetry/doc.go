// Package telemetry tells collectors what a process does: metrics that are fetched (Prometheus),
// and traces and metrics of agents, models and tools that are sent (OpenTelemetry, with the
// conventions for generative AI that convention.go pins).
//
// It is the only importer of both, and imports nothing of ours: app hands it plain values. Nothing
// is sent unless the standard OTEL_ variables say where to, and what was said to models and tools
// is left out unless a setting asks for it.
package telemetry
