package engine

import (
	"crypto/tls"
	"time"

	"go.temporal.io/server/common/rpc/encryption"
)

// secure gives every component of the server the same two configurations: one for its callers, one
// for its own calls to other components. The components that only the server itself calls listen on
// ports too, and would obey any caller.
type secure struct{ server, client *tls.Config }

// GetInternodeServerConfig implements encryption.TLSConfigProvider.
func (s secure) GetInternodeServerConfig() (*tls.Config, error) { return s.server, nil }

// GetInternodeClientConfig implements encryption.TLSConfigProvider.
func (s secure) GetInternodeClientConfig() (*tls.Config, error) { return s.client, nil }

// GetFrontendServerConfig implements encryption.TLSConfigProvider.
func (s secure) GetFrontendServerConfig() (*tls.Config, error) { return s.server, nil }

// GetFrontendClientConfig implements encryption.TLSConfigProvider.
func (s secure) GetFrontendClientConfig() (*tls.Config, error) { return s.client, nil }

// GetRemoteClusterClientConfig implements encryption.TLSConfigProvider. There are no other
// clusters.
func (s secure) GetRemoteClusterClientConfig(string) (*tls.Config, error) { return s.client, nil }

// GetExpiringCerts implements encryption.TLSConfigProvider. The program that made the certificates
// replaces them.
func (s secure) GetExpiringCerts(time.Duration) (expiring, expired encryption.CertExpirationMap, err error) {
	return nil, nil, nil
}
