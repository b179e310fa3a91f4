package app

import (
	"crypto/tls"
	"fmt"
	"net"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/mtls"
)

// engineCredentials are what the settings say about how this program and a Temporal server know
// each other: nil and empty if they say nothing.
func engineCredentials(e config.Engine, lookup func(string) (string, bool)) (secure *tls.Config, key string, err error) {
	if !e.APIKey.IsZero() {
		if key, err = e.APIKey.Reveal(lookup); err != nil {
			return nil, "", fmt.Errorf("engine.api_key: %w", err)
		}
	}
	if key == "" && e.TLS == (config.EngineTLS{}) {
		return nil, "", nil
	}
	host, _, err := net.SplitHostPort(e.Temporal)
	if err != nil {
		return nil, "", fmt.Errorf("engine.temporal_address: %w", err)
	}
	files := mtls.Files{CA: e.TLS.CA, Cert: e.TLS.Cert, Key: e.TLS.Key, Name: e.TLS.ServerName}
	if secure, err = files.ClientConfig(host); err != nil {
		return nil, "", fmt.Errorf("engine.tls: %w", err)
	}
	return secure, key, nil
}

// EngineClient is how those who can read the folder of an embedded engine's certificates reach it.
func EngineClient(dir string) config.EngineTLS {
	files := mtls.Client(dir)
	return config.EngineTLS{CA: files.CA, Cert: files.Cert}
}
