package mtls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The files of a folder. Each certificate lies in one file with its key, so that a reader never
// finds a new one with an old key. trustFile has the certificates of the authorities alone: a
// client on another machine needs that and clientFile.
const (
	authorityFile = "authority.pem"
	trustFile     = "ca.pem"
	serverFile    = "server.pem"
	clientFile    = "client.pem"
	lockFile      = ".lock"
)

const (
	// authorityLife and leafLife are how long certificates hold. Each is replaced when a third of it is
	// over, so a machine can sleep for weeks and wake up with a certificate that still holds.
	authorityLife = 2 * 365 * 24 * time.Hour
	leafLife      = 90 * 24 * time.Hour
	// skew is how far the clock of another machine may be behind.
	skew = time.Hour
)

// Files name a certificate, its key and whom it trusts.
type Files struct {
	// CA has the authorities that the other side's certificate must come from. Empty means those that
	// the machine trusts.
	CA string
	// Cert is what this side shows. Empty means nothing.
	Cert string
	// Key belongs to Cert. Empty means that it is in the same file.
	Key string
	// Name is what the server's certificate must be for. Empty means the host that is called.
	Name string
}

// Server are the files that the server of a folder uses.
func Server(dir string) Files { return of(dir, serverFile) }

// Client are the files that those who call it use.
func Client(dir string) Files { return of(dir, clientFile) }

func of(dir, leaf string) Files {
	return Files{CA: filepath.Join(dir, trustFile), Cert: filepath.Join(dir, leaf)}
}

// Ensure makes the certificates of a folder that are missing, and replaces those that have grown
// old. Servers and clients that run take up the new ones at their next connection.
func Ensure(dir string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of certificates: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a folder needs its x bit
		return fmt.Errorf("close the folder of certificates to others: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock the folder of certificates: %w", err)
	}
	defer func() { _ = lock.Close() }() // it was only locked
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock the folder of certificates: %w", err)
	}
	authority, err := ensureAuthority(dir, now)
	if err != nil {
		return err
	}
	for file, use := range map[string]x509.ExtKeyUsage{serverFile: x509.ExtKeyUsageServerAuth, clientFile: x509.ExtKeyUsageClientAuth} {
		if err := ensureLeaf(dir, file, use, authority, now); err != nil {
			return err
		}
	}
	return nil
}

// ensureAuthority is the one that signs. A new one is trusted, beside the one before, before it
// signs anything.
func ensureAuthority(dir string, now time.Time) (tls.Certificate, error) {
	before, err := read(dir, authorityFile)
	if err == nil && young(before.Leaf, now) {
		return before, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return before, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "retinue"}, NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	next, text, err := issue(template, nil)
	if err != nil {
		return next, err
	}
	trusted := encode(next.Leaf)
	if before.Leaf != nil && now.Before(before.Leaf.NotAfter) {
		trusted = append(trusted, encode(before.Leaf)...)
	}
	return next, errors.Join(write(dir, trustFile, trusted), write(dir, authorityFile, text))
}

func ensureLeaf(dir, file string, use x509.ExtKeyUsage, authority tls.Certificate, now time.Time) error {
	before, err := read(dir, file)
	if err == nil && young(before.Leaf, now) && before.Leaf.CheckSignatureFrom(authority.Leaf) == nil {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, text, err := issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "retinue"}, NotBefore: now.Add(-skew), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}, &authority)
	if err != nil {
		return err
	}
	return write(dir, file, text)
}

// young reports whether less than a third of a certificate's time is over.
func young(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && now.Before(c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore)/3))
}

// issue makes a key and a certificate for it, signed by the authority, or by itself if that is nil.
func issue(template *x509.Certificate, authority *tls.Certificate) (tls.Certificate, []byte, error) {
	var none tls.Certificate
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return none, nil, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return none, nil, fmt.Errorf("make a serial number: %w", err)
	}
	parent, signer := template, any(key)
	if authority != nil {
		parent, signer = authority.Leaf, authority.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return none, nil, fmt.Errorf("make a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return none, nil, fmt.Errorf("write a key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	pair, err := tls.X509KeyPair(text, text)
	return pair, text, err
}

func encode(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func read(dir, file string) (tls.Certificate, error) {
	path := filepath.Join(dir, file)
	pair, err := tls.LoadX509KeyPair(path, path)
	if err != nil {
		return pair, fmt.Errorf("read the certificate %s (if it is broken, remove the folder: new ones are made): %w", path, err)
	}
	return pair, nil
}

// write writes a file that a reader finds whole or not at all, and that nobody else can read.
func write(dir, file string, text []byte) error {
	draft, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return fmt.Errorf("write the certificate %s: %w", file, err)
	}
	_, err = draft.Write(text)
	err = errors.Join(err, draft.Sync(), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), filepath.Join(dir, file))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the certificate %s: %w", file, err), os.Remove(draft.Name()))
	}
	return nil
}
