package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the counts of a process. They are fetched from Handler.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	reports  *prometheus.CounterVec
	appends  *prometheus.CounterVec
	writing  prometheus.Histogram
}

// NewMetrics makes an empty set, with the figures of the process itself: goroutines, memory, open
// files.
func NewMetrics() *Metrics {
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retinue_http_requests_total", Help: "Requests by operation and answer.",
		}, []string{"operation", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "retinue_http_request_seconds", Help: "How long answers took; of streams, how long they were open.", Buckets: seconds,
		}, []string{"operation"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retinue_http_refusals_total", Help: "Requests that were not taken on, by reason.",
		}, []string{"reason"}),
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retinue_csp_reports_total", Help: "What browsers say they kept pages from, by directive of the policy.",
		}, []string{"directive"}),
		appends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retinue_journal_appends_total", Help: "Appends to the journal by how they ended.",
		}, []string{"result"}),
		writing: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "retinue_journal_append_seconds", Help: "How long appends took.", Buckets: seconds,
		}),
	}
	m.registry.MustRegister(m.requests, m.latency, m.refusals, m.reports, m.appends, m.writing, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Answered counts a request.
func (m *Metrics) Answered(operation string, status int, took time.Duration) {
	m.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	m.latency.WithLabelValues(operation).Observe(took.Seconds())
}

// Refused counts a request that was not taken on.
func (m *Metrics) Refused(reason string) { m.refusals.WithLabelValues(reason).Inc() }

// Reported counts a browser's reports of actions that it denied a page.
func (m *Metrics) Reported(directive string) { m.reports.WithLabelValues(directive).Inc() }

// Appended counts an append to the journal.
func (m *Metrics) Appended(took time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.appends.WithLabelValues(result).Inc()
	m.writing.Observe(took.Seconds())
}

// Gauge adds a figure that is computed when metrics are fetched.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Counter adds a figure that only grows and is asked for when metrics are fetched.
func (m *Metrics) Counter(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}

// Handler answers with all metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
