//go:build !services

package store

import "testing"

// openServer is nil where there are no services.
var openServer func(t *testing.T) *Store
