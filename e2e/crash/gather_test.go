//go:build services

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/retinue-dev/retinue/internal/host"
)

// gathered counts the calls that wait in this process for the others of their round.
var gathered atomic.Int64

// round is calls that all come to one point, where their worker dies.
type round struct {
	Point host.Point
	// Convs is what the names of its conversations begin with, and Calls how many calls they make.
	Convs string
	Calls int64
}

// gathering is the file with the number of the round; a process that dies removes it.
func (p part) gathering() string { return filepath.Join(p.Dir, "gathering") }

// gather has a call of the round wait at its point. With the last one the process dies.
func (p part) gather(point host.Point, conv string) {
	text, err := os.ReadFile(p.gathering())
	if err != nil {
		return
	}
	var r round
	if _, err := fmt.Sscan(string(text), &r.Point, &r.Convs, &r.Calls); err != nil || point != r.Point || !strings.HasPrefix(conv, r.Convs) {
		return
	}
	if gathered.Add(1) == r.Calls && os.Remove(p.gathering()) == nil {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
	}
	select {}
}

// announce says which round it is.
func (p part) announce(r round) error {
	return putFile(p.gathering(), fmt.Sprintf("%s %s %d", r.Point, r.Convs, r.Calls))
}

// putFile writes all of a file or nothing.
func putFile(file, text string) error {
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
