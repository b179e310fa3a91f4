package app

import (
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/config"
)

// limitsOf are the bounds of a server. Those of an address hold where people log in: who comes to a
// machine of one's own comes from that machine, so one of its users could keep all others out.
func limitsOf(s config.Settings) admission.Limits {
	l := s.Serve.Limits
	out := admission.Limits{
		Commands: l.Commands, Latency: time.Duration(l.Latency) * time.Millisecond,
		CommandRate: float64(l.CommandRate), TenantCommandRate: float64(l.TenantRate),
		ReadRate: float64(l.ReadRate), TenantReadRate: float64(l.TenantReads),
		Streams: l.Streams, PersonStreams: l.PersonStreams, TenantStreams: l.TenantStreams,
		Uploads: l.Uploads, TenantUploads: l.TenantUploads, TenantSearches: l.TenantSearches,
	}
	if s.Shared() {
		out.AddressRate, out.AddressStreams = float64(l.AddressRate), l.AddressStreams
	}
	return out
}

// tenantSlots is how many agents of one tenant a worker runs at the same time; zero means any
// number. Where everything belongs to one person there is nobody to leave room for.
func tenantSlots(s config.Settings) int {
	if !s.Shared() {
		return 0
	}
	return s.Worker.TenantSlots
}
