package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/retinue-dev/retinue/internal/chat"
)

// State compares a tool with its approved form.
type State string

// The states.
const (
	StateApproved State = "approved"
	StateNew      State = "new"      // never approved
	StateChanged  State = "changed"  // not as it was approved
	StateGone     State = "gone"     // approved, and not there any more
	StateUnusable State = "unusable" // cannot be used, see Problem
)

// ToolStatus is a tool and how it stands.
type ToolStatus struct {
	Offer
	State State
	// Was is the approved form of a tool that changed.
	Was Offer
}

// Report is a server's description of itself.
type Report struct {
	Entry Entry
	Took  time.Duration
	Tools []ToolStatus
	// Omitted is the least number of tools beyond those that are read.
	Omitted int
	// Server is its own name and version, Protocol the version that is spoken.
	Server, Protocol string
	// Moved means that another command or address was approved under the name.
	Moved string
}

// Look connects to a server and compares its tools with the approved ones.
func (s *Servers) Look(ctx context.Context, name string) (Report, error) {
	s.mu.Lock()
	l, ok := s.links[name]
	s.mu.Unlock()
	if !ok {
		return Report{}, &chat.Error{Code: chat.CodeNotFound, Message: "there is no server " + name + ": see 'retinue mcp list'"}
	}
	began := time.Now()
	out := Report{Entry: l.entry}
	session, err := l.connect(ctx)
	if err != nil {
		return out, err
	}
	if err := l.fresh(ctx, session); err != nil {
		return out, err
	}
	if about := session.client.InitializeResult(); about != nil {
		out.Protocol = about.ProtocolVersion
		if about.ServerInfo != nil {
			out.Server = strings.TrimSpace(cut(visible(about.ServerInfo.Name), 60) + " " + cut(visible(about.ServerInfo.Version), 30))
		}
	}
	approved, err := s.options.Pins.find(l.entry)
	if err != nil {
		return out, err
	}
	if approved.Server != "" && approved.Server != l.entry.Identity() {
		out.Moved = approved.Shown
	}
	l.mu.Lock()
	out.Tools, out.Omitted = stand(l.listed, approved.Tools), l.omitted
	l.mu.Unlock()
	out.Took = time.Since(began)
	return out, nil
}

// stand compares the offered tools with the approved ones.
func stand(listed, pinned []Offer) []ToolStatus {
	var out []ToolStatus
	for _, o := range listed {
		st := ToolStatus{Offer: o, State: StateNew}
		i := slices.IndexFunc(pinned, func(p Offer) bool { return p.Name == o.Name })
		switch {
		case o.Problem != "":
			st.State = StateUnusable
		case i >= 0 && pinned[i].Hash == o.Hash:
			st.State = StateApproved
		case i >= 0:
			st.State, st.Was = StateChanged, pinned[i]
		}
		out = append(out, st)
	}
	for _, p := range pinned {
		if !slices.ContainsFunc(listed, func(o Offer) bool { return o.Name == p.Name }) {
			out = append(out, ToolStatus{Offer: p, State: StateGone})
		}
	}
	return out
}

// Approve pins the tools of a report, as they are in it.
func (s *Servers) Approve(r Report) error {
	var list []Offer
	for _, st := range r.Tools {
		switch st.State {
		case StateApproved, StateNew, StateChanged:
			list = append(list, st.Offer)
		case StateGone, StateUnusable:
		}
	}
	return s.options.Pins.Approve(r.Entry, list)
}

// Diff is the changes since a tool was approved, as a unified diff.
func (s ToolStatus) Diff() string {
	return udiff.Unified("approved", "now", s.Was.text(), s.text())
}

// text is an offer as people compare it.
func (o Offer) text() string {
	var schema bytes.Buffer
	if json.Indent(&schema, o.Schema, "", "  ") != nil {
		schema.Write(o.Schema)
	}
	return o.Description + "\n\n" + schema.String() + "\n"
}
