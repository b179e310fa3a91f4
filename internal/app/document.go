package app

import "github.com/retinue-dev/retinue/internal/api"

// Document is the description of what a server can be asked for.
func Document(version string) ([]byte, error) { return api.Document(version) }
