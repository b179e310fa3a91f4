package api

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/journal"
)

// storageAge is for how long a server believes what it has measured of a tenant's storage.
const storageAge = 5 * time.Second

// storage remembers how much tenants with a quota hold.
type storage struct {
	mu       sync.Mutex
	measured map[string]measured
}

type measured struct {
	bytes int64
	at    time.Time
}

// add counts bytes that were accepted.
func (s *storage) add(tenant string, more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.measured[tenant]
	last.bytes += more
	s.measured[tenant] = last
}

// stored is how many bytes a tenant holds, as of a moment ago.
func (s *Server) stored(ctx context.Context, tenant string) (int64, error) {
	now := s.options.Now()
	s.storage.mu.Lock()
	last, ok := s.storage.measured[tenant]
	s.storage.mu.Unlock()
	if ok && now.Sub(last.at) < storageAge {
		return last.bytes, nil
	}
	bytes, err := s.options.Log.Stored(ctx, tenant)
	if err != nil {
		return 0, err
	}
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	if s.storage.measured == nil {
		s.storage.measured = map[string]measured{}
	}
	s.storage.measured[tenant] = measured{bytes: bytes, at: now}
	return bytes, nil
}

// room refuses so many bytes more for a tenant that would hold more than it may, unless they are on
// record under a key already. Bytes that it accepts count until the next measurement.
func (s *Server) room(ctx context.Context, ref journal.Ref, key string, more int64) error {
	if s.options.Storage == nil {
		return nil
	}
	most := s.options.Storage(ref.Tenant)
	if most <= 0 {
		return nil
	}
	bytes, err := s.stored(ctx, ref.Tenant)
	if err != nil {
		return err
	}
	if bytes+more <= most {
		s.storage.add(ref.Tenant, more)
		return nil
	}
	if there, err := s.options.Log.Find(ctx, ref, key); err == nil && len(there) > 0 {
		return nil
	}
	const megabyte = 1e6
	return &admission.Problem{
		Code:   "forbidden",
		Detail: fmt.Sprintf("the conversations of your tenant hold %.1f MB of %.0f MB, and this would be %.1f MB more", float64(bytes)/megabyte, float64(most)/megabyte, float64(more)/megabyte),
		Next:   "delete conversations, or ask the person who runs this installation to raise quotas.storage_mb",
	}
}
