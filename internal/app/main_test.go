package app

import (
	"os"
	"testing"

	"github.com/retinue-dev/retinue/internal/toolbox"
)

// TestMain is also the first process of a sandbox, which doctor opens.
func TestMain(m *testing.M) {
	if code, ours := toolbox.SandboxInit(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
