//go:build !services

package mcp

import (
	"os"
	"testing"

	"github.com/retinue-dev/retinue/internal/sandbox"
)

// testTier is for tests that run anywhere; make test/mcp runs the same ones in a real sandbox.
const testTier = sandbox.TierNone

// TestMain is also the servers that the tests talk to.
func TestMain(m *testing.M) {
	actInstead()
	os.Exit(m.Run())
}

// ourselves is our own program, as a server finds it.
func ourselves() string { return os.Args[0] }
