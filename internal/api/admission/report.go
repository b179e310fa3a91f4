package admission

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// ReportPath is where browsers say what the policy kept a page from.
	ReportPath = "/csp-report"
	// oneReport is how browsers send what report-uri asks for, and manyReports what report-to does.
	oneReport, manyReports = "application/csp-report", "application/reports+json"
	// maxReport is how large it may be, and mostReports how many of them are counted of one request.
	maxReport   = 16 << 10
	mostReports = 50
	// An address may report once in a second, reportBurst times at once, and all together so often. A
	// page that breaks the policy does it again and again.
	reportRate, reportBurst       = 1, 20
	allReportRate, allReportBurst = 20, 10
	// reportQuiet is the time until the same directive is logged again, with its count.
	reportQuiet = time.Minute
)

// directives are those that are told apart. All others count as one: anybody can send anything
// here, and none of it is written down.
var directives = map[string]bool{
	"default-src": true, "script-src": true, "script-src-elem": true, "script-src-attr": true, "style-src": true,
	"style-src-elem": true, "style-src-attr": true, "img-src": true, "font-src": true, "connect-src": true, "media-src": true,
	"object-src": true, "child-src": true, "frame-src": true, "worker-src": true, "manifest-src": true, "frame-ancestors": true,
	"base-uri": true, "form-action": true, "require-trusted-types-for": true, "trusted-types": true,
}

// reports counts what browsers report.
type reports struct {
	address, all *allowance

	mu sync.Mutex
	// counts are those that were not logged yet, and logged when a directive was.
	counts map[string]int
	logged map[string]time.Time
}

func newReports() *reports {
	return &reports{
		address: newAllowance(reportRate, reportBurst), all: newAllowance(allReportRate, allReportBurst),
		counts: map[string]int{}, logged: map[string]time.Time{},
	}
}

// take lets an address report, or says how long it waits.
func (p *reports) take(address string, now time.Time) time.Duration {
	if wait := p.address.take(address, now); wait > 0 {
		return wait
	}
	return p.all.take("", now)
}

// count counts a report, and returns how many are to be logged now.
func (p *reports) count(directive string, now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[directive]++
	if last, ok := p.logged[directive]; ok && now.Sub(last) < reportQuiet {
		return 0
	}
	n := p.counts[directive]
	p.counts[directive], p.logged[directive] = 0, now
	return n
}

// TakeReport counts what a browser reports at ReportPath.
func (g *Guard) TakeReport(w http.ResponseWriter, r *http.Request) {
	if err := g.takeReport(w, r); err != nil {
		g.TurnAway(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// takeReport reads a report and counts it.
func (g *Guard) takeReport(w http.ResponseWriter, r *http.Request) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what cannot be read is none of the two
	if kind != oneReport && kind != manyReports {
		return &Problem{Status: http.StatusUnsupportedMediaType, Code: "invalid", Detail: "this is no report of a browser"}
	}
	now := g.options.Now()
	if wait := g.reports.take(g.Address(r), now); wait > 0 {
		return g.gate.refuse(RefusedReports, &Problem{Code: "limit", Detail: "there are too many reports", Wait: wait})
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReport))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "invalid", Detail: "the report is too large"}
	}
	if err != nil {
		return &Problem{Status: http.StatusBadRequest, Code: "invalid", Detail: "the report did not arrive whole"}
	}
	list, err := reported(kind, body)
	if err != nil {
		return err
	}
	for _, directive := range list[:min(len(list), mostReports)] {
		if g.options.Reported != nil {
			g.options.Reported(directive)
		}
		if n := g.reports.count(directive, now); n > 0 {
			g.options.Logger.WarnContext(r.Context(), "browsers report that the policy kept pages from something",
				"directive", directive, "count", n)
		}
	}
	return nil
}

// reported are the directives of a report, in the form of report-uri or that of report-to.
func reported(kind string, body []byte) (list []string, err error) {
	if err := CheckJSON(body); err != nil {
		return nil, err
	}
	if kind == oneReport {
		var one struct {
			Report struct {
				Effective string `json:"effective-directive"`
				Violated  string `json:"violated-directive"`
			} `json:"csp-report"`
		}
		if json.Unmarshal(body, &one) != nil {
			return nil, badReport()
		}
		if one.Report.Effective == "" { // an older browser, which puts the whole directive there
			one.Report.Effective, _, _ = strings.Cut(one.Report.Violated, " ")
		}
		return []string{directiveOf(one.Report.Effective)}, nil
	}
	var many []struct {
		Type string `json:"type"`
		Body struct {
			Effective string `json:"effectiveDirective"`
		} `json:"body"`
	}
	if json.Unmarshal(body, &many) != nil {
		return nil, badReport()
	}
	for _, one := range many {
		if one.Type == "csp-violation" {
			list = append(list, directiveOf(one.Body.Effective))
		}
	}
	return list, nil
}

func directiveOf(name string) string {
	if directives[name] {
		return name
	}
	return "other"
}

func badReport() error {
	return &Problem{Status: http.StatusBadRequest, Code: "invalid", Detail: "this is no report of a browser"}
}
