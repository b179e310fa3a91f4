package tool

import (
	"context"
	"fmt"
)

// Happened is whether a call that nobody saw the end of took effect.
type Happened string

// The answers of a probe.
const (
	HappenedYes     Happened = "yes"
	HappenedNo      Happened = "no"
	HappenedUnknown Happened = "unknown"
)

// Prober is a tool of class reconcilable: it can tell later whether a call took effect.
type Prober interface {
	// Probe checks whether a call happened and changes nothing. The result counts only with
	// HappenedYes: it is the call's result, as far as that can still be found. An error means that
	// the check failed.
	Probe(ctx context.Context, call Call) (Result, Happened, error)
}

// Probe asks a tool whether a call took effect. Where that cannot be told (the tool has no probe,
// the arguments do not fit, the probe fails or takes too long) the answer is HappenedUnknown. An
// error means that ctx ended.
func (s *Set) Probe(ctx context.Context, call Call) (Result, Happened, error) {
	call, e, err := s.admit(call)
	prober, ok := e.tool.(Prober)
	if err != nil || !ok {
		return Result{}, HappenedUnknown, nil
	}
	bounded, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	happened := HappenedUnknown
	r, err := guard(bounded, call, func(ctx context.Context, call Call) (r Result, err error) {
		r, happened, err = prober.Probe(ctx, call)
		return r, err
	})
	switch {
	case ctx.Err() != nil:
		return Result{}, HappenedUnknown, fmt.Errorf("probe %s: %w", e.Name, context.Cause(ctx))
	case err != nil:
		return Result{}, HappenedUnknown, nil
	case happened != HappenedYes:
		return Result{}, happened, nil
	}
	r.End = EndOK
	return s.shape(call, r), happened, nil
}
