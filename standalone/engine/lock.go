package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock takes a file for this process alone. The lock is on a neighbour of the file, since SQLite
// loses its own locks when any descriptor of the database is closed; the kernel frees it however
// the process ends.
func lock(ctx context.Context, file string) (free func() error, err error) {
	f, err := os.OpenFile(file+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the engine's file: %w", err)
	}
	err = insist(ctx, errTaken, func() error {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errTaken
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), f.Close())
	}
	return f.Close, nil
}
