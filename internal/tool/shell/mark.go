package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// mark says that a command runs in a workspace. It is a file outside of it, locked for as long as
// the process that runs the command lives. The file is deleted when the command has ended and its
// caller knows how. A file that no process locks belongs to a command that was cut off.
type mark struct {
	file *os.File
	path string
	// cut are the marks of commands that were cut off, found when this one began. They go with it: if
	// this command is cut off too, the next one tells of both.
	cut []cutOff
}

// cutOff is a command whose end its caller does not know. It has no command line: an agent that
// reads this may belong to another conversation.
type cutOff struct {
	Began   time.Time
	Stopped time.Time `json:",omitzero"` // when its worker killed it; zero when it ended with the worker
	path    string
}

// marks numbers those of this process.
var marks atomic.Int64

// leaveMark looks for commands that were cut off before and marks the workspace. Without a folder
// for marks it does nothing.
func leaveMark(dir string, now time.Time) (*mark, error) {
	if dir == "" {
		return &mark{}, nil
	}
	cut, err := findCut(dir)
	if err != nil {
		return nil, fmt.Errorf("look for commands that were cut off: %w", err)
	}
	name := fmt.Sprintf("%d-%d", os.Getpid(), marks.Add(1))
	// It is locked before it gets its name: a mark that nobody holds tells of the dead.
	draft := filepath.Join(dir, "."+name)
	f, err := os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("mark the workspace: %w", err)
	}
	m := &mark{file: f, path: filepath.Join(dir, fmt.Sprintf("%d-%s", now.UnixNano(), name)), cut: cut}
	err = errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), m.write(cutOff{Began: now}), os.Rename(draft, m.path))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mark the workspace: %w", err), f.Close(), os.Remove(draft))
	}
	return m, nil
}

func (m *mark) write(c cutOff) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = m.file.WriteAt(body, 0)
	return errors.Join(err, m.file.Sync())
}

// remove is called when the caller knows how the command ended.
func (m *mark) remove() {
	if m.file == nil {
		return
	}
	for _, c := range m.cut {
		_ = os.Remove(c.path) // or it is told once more
	}
	_ = os.Remove(m.path)
	_ = m.file.Close()
}

// leave lets the mark stand: the command was killed, and its caller had given it up.
func (m *mark) leave(began, now time.Time) {
	if m.file == nil {
		return
	}
	_ = m.write(cutOff{Began: began, Stopped: now}) // without it the mark says less
	_ = m.file.Close()
}

// findCut reads the marks that nobody holds.
func findCut(dir string) ([]cutOff, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []cutOff
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // not a mark yet
		}
		c := cutOff{path: filepath.Join(dir, e.Name())}
		f, err := os.OpenFile(c.path, os.O_RDWR, 0)
		if err != nil {
			continue // it has just gone
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if body, err := io.ReadAll(f); err == nil && json.Unmarshal(body, &c) == nil {
				found = append(found, c)
			}
		}
		_ = f.Close()
	}
	return found, nil
}

// told is the text for the model and the person about the commands that were cut off before.
func (m *mark) told() string {
	var text strings.Builder
	for _, c := range m.cut {
		how := "ended with its worker, which was lost"
		if !c.Stopped.IsZero() {
			how = fmt.Sprintf("was given up because its worker was out of sight, and killed %.1f seconds after it began", c.Stopped.Sub(c.Began).Seconds())
		}
		fmt.Fprintf(&text, "\n[a command that began in this workspace at %s %s: what it had done by then stays done, perhaps by halves; look before you rely on it]",
			c.Began.UTC().Format(time.RFC3339), how)
	}
	return text.String()
}
