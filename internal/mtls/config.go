package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// http2 is the protocol that the engine speaks over TLS.
var http2 = []string{"h2"}

// ServerConfig is for a server that accepts only callers whose certificate comes from its
// authority.
func (f Files) ServerConfig() (*tls.Config, error) {
	l, err := newLoader(f)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: http2,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			now := l.load()
			return &tls.Config{
				MinVersion: tls.VersionTLS13, NextProtos: http2, Certificates: []tls.Certificate{now.pair},
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: now.roots,
			}, nil
		},
	}, nil
}

// ClientConfig is for a client that calls a server of that name.
func (f Files) ClientConfig(host string) (*tls.Config, error) {
	l, err := newLoader(f)
	if err != nil {
		return nil, err
	}
	if f.Name != "" {
		host = f.Name
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: http2, ServerName: host}
	if f.Cert != "" {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair := l.load().pair
			return &pair, nil
		}
	}
	if f.CA != "" {
		// A client's authorities cannot change while it runs, so the library's check is replaced by the
		// same check against those that the file names now.
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(s tls.ConnectionState) error { return verify(s, host, l.load().roots) }
	}
	return c, nil
}

func verify(s tls.ConnectionState, host string, roots *x509.CertPool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server shows no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: host})
	return err
}

// loader reads files again when they have changed. It is safe for concurrent use.
type loader struct {
	files Files

	mu     sync.Mutex
	stamps [3]stamp
	held   held
}

type held struct {
	pair  tls.Certificate
	roots *x509.CertPool
}

// stamp tells one state of a file from the next.
type stamp struct {
	at   time.Time
	size int64
}

func newLoader(f Files) (*loader, error) {
	if f.Key == "" {
		f.Key = f.Cert
	}
	l := &loader{files: f}
	l.stamps = l.look()
	var err error
	l.held, err = l.read()
	return l, err
}

// load is the content of the files, or their earlier content while they cannot be read.
func (l *loader) load() held {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen := l.look(); seen != l.stamps {
		if next, err := l.read(); err == nil {
			l.held, l.stamps = next, seen
		}
	}
	return l.held
}

func (l *loader) look() (seen [3]stamp) {
	for i, file := range []string{l.files.CA, l.files.Cert, l.files.Key} {
		if info, err := os.Stat(file); err == nil {
			seen[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return seen
}

func (l *loader) read() (held, error) {
	var h held
	if l.files.CA != "" {
		text, err := os.ReadFile(l.files.CA)
		if err != nil {
			return h, fmt.Errorf("read the authorities: %w", err)
		}
		h.roots = x509.NewCertPool()
		if !h.roots.AppendCertsFromPEM(text) {
			return h, fmt.Errorf("read the authorities: %s has no certificate in it", l.files.CA)
		}
	}
	if l.files.Cert != "" {
		var err error
		if h.pair, err = tls.LoadX509KeyPair(l.files.Cert, l.files.Key); err != nil {
			return h, fmt.Errorf("read the certificate %s: %w", l.files.Cert, err)
		}
	}
	return h, nil
}
