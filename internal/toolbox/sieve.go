package toolbox

import (
	"fmt"
	"os"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/egress"
	"github.com/retinue-dev/retinue/internal/secret"
)

// sieve finds what must not leave a workspace: the secrets of the process, and the canaries of the
// settings and of the workspace's files.
type sieve struct {
	vault    *secret.Vault
	canaries config.Canaries
	folder   string
}

func (t *toolServers) sieve(folder string) sieve {
	return sieve{vault: t.vault, canaries: t.loaded.Settings.Canaries, folder: folder}
}

// now is what looks for all of it, as the files are at the moment.
func (s sieve) now() (func(text string) string, error) { return s.without(nil) }

// without lets through what somebody was given to send it.
func (s sieve) without(given []string) (egress.Leaks, error) {
	values := map[string]string{}
	if s.folder != "" && len(s.canaries.Files) > 0 {
		root, err := os.OpenRoot(s.folder)
		if err != nil {
			return nil, fmt.Errorf("open workspace: %w", err)
		}
		defer func() { _ = root.Close() }() // it was read
		found, err := secret.Canaries(root.FS(), s.canaries.Files)
		if err != nil {
			return nil, err
		}
		for value, file := range found {
			values[value] = "a value of " + file
		}
	}
	for _, value := range s.canaries.Values {
		values[value] = "a canary of the settings"
	}
	filter := s.vault.Filter(values, given...)
	return func(text string) string {
		what, _ := filter.Find(text)
		return what
	}, nil
}
