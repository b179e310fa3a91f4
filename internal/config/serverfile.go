package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ServerEntry is a server as it is written into a file.
type ServerEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Hosts   []string          `json:"hosts,omitempty"`
}

// AddServer writes a server into the file of a scope and returns the file's path. The rest of the
// file stays. An unusable server is not written.
func (l Loaded) AddServer(scope ServerScope, project, name string, e ServerEntry) (string, error) {
	if err := CheckServerName(name); err != nil {
		return "", err
	}
	entry, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("write server %s: %w", name, err)
	}
	return l.editServers(scope, project, func(servers map[string]json.RawMessage) error {
		if _, taken := servers[name]; taken {
			return fmt.Errorf("there is a server %s already: run 'retinue mcp remove %s' first, or choose another name", name, name)
		}
		servers[name] = entry
		return nil
	}, name)
}

// RemoveServer takes a server out of the file of a scope and returns the file's path.
func (l Loaded) RemoveServer(scope ServerScope, project, name string) (string, error) {
	return l.editServers(scope, project, func(servers map[string]json.RawMessage) error {
		if _, ok := servers[name]; !ok {
			return fmt.Errorf("there is no server %s", name)
		}
		delete(servers, name)
		return nil
	}, "")
}

// editServers changes the servers of a file. The server called check must be usable afterwards.
func (l Loaded) editServers(
	scope ServerScope, project string, edit func(map[string]json.RawMessage) error, check string,
) (string, error) {
	at := l.ServerFile(scope, project)
	if at == "" {
		return "", errors.New("there is no place for servers: neither a home folder nor a project was found")
	}
	whole, servers := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	data, err := readBelow(filepath.Dir(at), filepath.Base(at))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return at, fmt.Errorf("read %s: %w", at, err)
	default:
		if err := json.Unmarshal(data, &whole); err != nil {
			return at, fmt.Errorf("%s is not JSON, so it is left alone: %w", at, err)
		}
	}
	if raw, ok := whole["mcpServers"]; ok {
		if err := json.Unmarshal(raw, &servers); err != nil {
			return at, fmt.Errorf("%s: mcpServers is not a table of servers, so it is left alone: %w", at, err)
		}
	}
	if err := edit(servers); err != nil {
		return at, fmt.Errorf("%s: %w", at, err)
	}
	if whole["mcpServers"], err = json.Marshal(servers); err != nil {
		return at, fmt.Errorf("write %s: %w", at, err)
	}
	if data, err = json.MarshalIndent(whole, "", "  "); err != nil {
		return at, fmt.Errorf("write %s: %w", at, err)
	}
	if err := usable(data, serverFile{path: at, scope: scope, home: l.inputs.Home}, check); err != nil {
		return at, err
	}
	return at, replaceFile(at, append(data, '\n'), scope)
}

// usable complains if a server cannot be read back.
func usable(data []byte, f serverFile, name string) error {
	var read Servers
	read.read(f, data, nil)
	for _, s := range read.List {
		if s.Name == name {
			return nil
		}
	}
	if name == "" {
		return nil
	}
	var errs error
	for _, w := range read.Warnings {
		errs = errors.Join(errs, errors.New(w.Text))
	}
	return errs
}

// replaceFile writes a file beside its place and renames it. Only the person can read a personal
// file.
func replaceFile(at string, data []byte, scope ServerScope) error {
	mode, folder := fs.FileMode(0o644), fs.FileMode(0o755)
	if scope == ScopeUser {
		mode, folder = 0o600, 0o700
	}
	if err := os.MkdirAll(filepath.Dir(at), folder); err != nil {
		return fmt.Errorf("make the folder of %s: %w", at, err)
	}
	beside, err := os.CreateTemp(filepath.Dir(at), ".retinue-*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", at, err)
	}
	_, err = beside.Write(data)
	err = errors.Join(err, beside.Chmod(mode), beside.Close())
	if err == nil {
		err = os.Rename(beside.Name(), at)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", at, err), os.Remove(beside.Name()))
	}
	return nil
}
