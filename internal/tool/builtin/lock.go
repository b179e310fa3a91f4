package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockPoll is the time between two tries for a lock that another process holds.
const lockPoll = 20 * time.Millisecond

// LockWith names a file that is locked while a tool writes, so that the processes of one machine
// take turns. It lies outside of the workspace.
func (w *Workspace) LockWith(file string) { w.lockFile = file }

// Lock waits for the other writers of this workspace. A tool that runs a program that writes holds
// it too.
func (w *Workspace) Lock(ctx context.Context) (unlock func(), err error) {
	select {
	case w.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if w.lockFile == "" {
		return func() { <-w.writing }, nil
	}
	f, err := lockFile(ctx, w.lockFile)
	if err != nil {
		<-w.writing
		return nil, err
	}
	return func() {
		_ = f.Close() // which lets go of the lock; nothing was written
		<-w.writing
	}, nil
}

// lockFile waits until nobody else has the file locked. A process that dies releases the lock.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the workspace: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock the workspace: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(lockPoll):
		}
	}
}
