//go:build race

package api_test

// slowed says that the race detector makes everything several times as slow.
const slowed = true
