//go:build !services

package store

import "testing"

// openServer is nil without services.
var openServer func(t *testing.T) *Store
