package mtls

import (
	"context"
	"log/slog"
	"time"
)

// keepInterval is how often Keep looks whether a certificate has grown old.
const keepInterval = time.Minute

// Keep replaces the certificates of a folder as they grow old, until the context ends.
func Keep(ctx context.Context, dir string, log *slog.Logger) {
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := Ensure(dir, time.Now()); err != nil {
			log.WarnContext(ctx, "replace old certificates", "error", err)
		}
	}
}
