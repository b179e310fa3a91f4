package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/secret"
)

// sealingName is the key of an installation on one machine, in its data folder.
const sealingName = "sealing.key"

// sealingKeys are the keys of the installation. With SQLite one is made in the data folder; servers
// that share a database must be given theirs, and have none before: nil.
func (n *Node) sealingKeys() (*seal.Keys, error) {
	s := n.options.Loaded.Settings
	keys, err := readKeys(s, n.options.Lookup, n.options.Vault)
	if path := ownKey(s); path != "" && errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(path, seal.NewKey()); err != nil {
			return nil, fmt.Errorf("make %s: %w", path, err)
		}
		return readKeys(s, n.options.Lookup, n.options.Vault)
	}
	return keys, err
}

// ownKey is where an installation on one machine keeps its key; empty where it is given one, or
// none.
func ownKey(s config.Settings) string {
	if !s.Sealing.Key.IsZero() || !s.Journal.DSN.IsZero() {
		return ""
	}
	return filepath.Join(s.DataDir, sealingName)
}

// readKeys reads the keys, and makes none.
func readKeys(s config.Settings, lookup func(string) (string, bool), vault *secret.Vault) (*seal.Keys, error) {
	if path := ownKey(s); path != "" {
		key, err := keptKey(path)
		if err != nil {
			return nil, err
		}
		vault.Add("sealing.key", key)
		keys, err := seal.NewKeys(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return keys, nil
	}
	if s.Sealing.Key.IsZero() {
		return nil, nil //nolint:nilnil // the store says so to who needs one
	}
	key, err := s.Sealing.Key.Reveal(lookup)
	if err != nil {
		return nil, fmt.Errorf("sealing.key: %w", err)
	}
	var former []string
	if !s.Sealing.Former.IsZero() {
		before, err := s.Sealing.Former.Reveal(lookup)
		if err != nil {
			return nil, fmt.Errorf("sealing.former: %w", err)
		}
		former = append(former, before)
	}
	keys, err := seal.NewKeys(key, former...)
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return keys, nil
}

// keptKey reads the key in a file. One that others can read is refused: who has had it can read
// what it seals.
func keptKey(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("look at the key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file: put the key itself there", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others: find out who did, then chmod 600 it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// makeKey keeps a key in a file that only its owner can read. It appears whole: of processes that
// start at once, one makes it and the others find it.
func makeKey(path, key string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, filepath.Base(path)+".*") // which is its owner's alone
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it has another name by then
	_, err = file.WriteString(key + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
