// Package telemetry reports a process's work to collectors: metrics that are fetched (Prometheus),
// and traces and metrics of agents, models and tools that are sent (OpenTelemetry, with the
// conventions for generative AI that convention.go pins).
//
// It is the only importer of both, and imports nothing of ours: app hands it plain values. Nothing
// is sent unless the standard OTEL_ variables name a receiver, and the texts for models and tools
// are left out unless a setting asks for them.
package telemetry
