package app

import (
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
)

// Hide puts every secret that the settings refer to into a vault, before anything uses it. One that
// cannot be found is reported by the code that needs it.
func Hide(vault *secret.Vault, s config.Settings, lookup func(string) (string, bool)) {
	for name, found := range s.Secrets() {
		if value, err := found.Reveal(lookup); err == nil && found.Refers() {
			vault.Add(name, value)
		}
	}
}
