package config

import (
	"fmt"
	"path/filepath"
	"regexp"
)

var (
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	hostRule = regexp.MustCompile(`^(\*|(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*)$`)
)

func (s Sandbox) checkReadOnly() error {
	for _, path := range s.ReadOnly {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
			return fmt.Errorf("%q: expected the whole path of a folder below /", path)
		}
	}
	return nil
}

func (s Sandbox) checkPass() error {
	for _, name := range s.Pass {
		if !variable.MatchString(name) {
			return fmt.Errorf("%q: expected the name of a variable, without its value", name)
		}
	}
	return nil
}

func (s Sandbox) checkHosts() error {
	for _, host := range s.Hosts {
		if !hostRule.MatchString(host) {
			return fmt.Errorf("%q: expected a host such as modules.example.org, *.example.org for all below it, or *", host)
		}
	}
	return nil
}

func (s Sandbox) checkHostBytes() error {
	if s.HostBytes < 1 {
		return fmt.Errorf("%d: expected a number of bytes above 0", s.HostBytes)
	}
	return nil
}
