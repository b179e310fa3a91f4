package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// sights is a program's view from inside. Open compares it with the tier's promises.
type sights struct {
	Processes    int      // that are visible
	Interfaces   []string // of the network
	Capabilities string
	Seccomp      string
	NoNewPrivs   string
	UnixSocket   bool // could make one
	Namespace    bool // could make one
	RootWritable bool
	Root         []string // the folders in /
	User         int
}

func probe(w io.Writer) int {
	var s sights
	s.User = os.Getuid()
	if processes, err := filepath.Glob("/proc/[0-9]*"); err == nil {
		s.Processes = len(processes)
	}
	if text, err := os.ReadFile("/proc/net/dev"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, _, ok := strings.Cut(line, ":"); ok {
				s.Interfaces = append(s.Interfaces, strings.TrimSpace(name))
			}
		}
	}
	if text, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			switch value = strings.TrimSpace(value); name {
			case "CapEff":
				s.Capabilities = value
			case "Seccomp":
				s.Seccomp = value
			case "NoNewPrivs":
				s.NoNewPrivs = value
			}
		}
	}
	if c, err := net.ListenPacket("unixgram", "/tmp/probe.sock"); err == nil {
		s.UnixSocket = true
		_ = c.Close()
	}
	s.Namespace = unix.Unshare(unix.CLONE_NEWUSER) == nil
	s.RootWritable = os.WriteFile("/probe", nil, 0o600) == nil
	entries, err := os.ReadDir("/")
	if err == nil {
		for _, e := range entries {
			s.Root = append(s.Root, e.Name())
		}
	}
	if err := json.NewEncoder(w).Encode(s); err != nil {
		return 1
	}
	return 0
}

// holds lists the broken promises of the tier, as seen by a program that has these folders.
func (s sights) holds(shown ...string) error {
	var problems []error
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	refuse(s.Processes != 2, "%d processes are visible, not only the first one and the probe", s.Processes)
	refuse(s.User == 0, "programs run as root")
	refuse(len(s.Interfaces) != 1 || s.Interfaces[0] != "lo", "the network is reachable: %v", s.Interfaces)
	refuse(strings.Trim(s.Capabilities, "0") != "" || s.Capabilities == "", "capabilities are left: %q", s.Capabilities)
	refuse(s.Seccomp != "2", "there is no system call filter")
	refuse(s.NoNewPrivs != "1", "privileges can be gained")
	refuse(s.UnixSocket, "unix sockets can be made")
	refuse(s.Namespace, "namespaces can be made")
	refuse(s.RootWritable, "/ can be written")
	for _, name := range []string{"home", "root", "var", "sys", "boot"} {
		wanted := slices.ContainsFunc(shown, func(dir string) bool { return strings.HasPrefix(dir, "/"+name+"/") })
		refuse(slices.Contains(s.Root, name) && !wanted, "/%s is visible", name)
	}
	return errors.Join(problems...)
}
