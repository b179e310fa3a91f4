package sandbox

import (
	"os"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
)

func TestRootIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can show that")
	}
	if _, err := Open(t.Context(), Options{Tier: TierBubblewrap}); chat.CodeOf(err) != chat.CodeDenied {
		t.Errorf("got %v, want it denied", err)
	}
}
