package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Pins is the file of people's approvals. It is in the data folder, where no agent writes.
type Pins struct {
	path string

	mu      sync.Mutex
	stamp   fileStamp
	book    []approval
	version uint64 // grows whenever the book was read anew
}

// approval holds the approved tools of one server.
type approval struct {
	Scope string `json:"scope"`
	Name  string `json:"name"`
	// Server is the identity of the entry, Shown its text.
	Server string  `json:"server"`
	Shown  string  `json:"shown"`
	Tools  []Offer `json:"tools"`
}

type fileStamp struct {
	at   time.Time
	size int64
}

// pinsVersion is the version of the file's form.
const pinsVersion = 1

type pinsFile struct {
	Version int        `json:"version"`
	Servers []approval `json:"servers"`
}

// OpenPins uses a file, which need not exist yet.
func OpenPins(path string) *Pins { return &Pins{path: path} }

// read brings the book up to date.
func (p *Pins) read() error {
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		if p.book != nil {
			p.version++
		}
		p.book, p.stamp = nil, fileStamp{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what was approved: %w", err)
	}
	stamp := fileStamp{info.ModTime(), info.Size()}
	if stamp == p.stamp {
		return nil
	}
	data, err := os.ReadFile(p.path)
	if err != nil {
		return fmt.Errorf("read what was approved: %w", err)
	}
	var file pinsFile
	err = json.Unmarshal(data, &file)
	if err == nil && file.Version != pinsVersion {
		err = fmt.Errorf("its version is %d, not %d", file.Version, pinsVersion)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read, remove it and approve the servers again: %w", p.path, err)
	}
	for _, a := range file.Servers {
		for i := range a.Tools {
			a.Tools[i].Schema = compact(a.Tools[i].Schema)
		}
	}
	p.book, p.stamp = file.Servers, stamp
	p.version++
	return nil
}

// find is the approval of a server. It is empty for another identity.
func (p *Pins) find(e Entry) (approval, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.read(); err != nil {
		return approval{}, err
	}
	for _, a := range p.book {
		if a.Scope == e.Scope && a.Name == e.Name {
			return a, nil
		}
	}
	return approval{}, nil
}

// current is another number when the book may be another one.
func (p *Pins) current() (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.read()
	return p.version, err
}

// Approve pins a server's tools as they are. Those that cannot be used are left out.
func (p *Pins) Approve(e Entry, list []Offer) error {
	a := approval{Scope: e.Scope, Name: e.Name, Server: e.Identity(), Shown: e.String()}
	for _, o := range list {
		if o.Problem == "" {
			a.Tools = append(a.Tools, o)
		}
	}
	return p.edit(func(book []approval) []approval { return append(without(book, e.Scope, e.Name), a) })
}

// Forget withdraws the approval of a server.
func (p *Pins) Forget(scope, name string) error {
	return p.edit(func(book []approval) []approval { return without(book, scope, name) })
}

func without(book []approval, scope, name string) []approval {
	return slices.DeleteFunc(slices.Clone(book), func(a approval) bool { return a.Scope == scope && a.Name == name })
}

// edit changes the file: a reader sees it as it was or as it is.
func (p *Pins) edit(change func([]approval) []approval) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.read(); err != nil {
		return err
	}
	book := change(p.book)
	data, err := json.MarshalIndent(pinsFile{Version: pinsVersion, Servers: book}, "", " ")
	if err != nil {
		return fmt.Errorf("write what was approved: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return fmt.Errorf("write what was approved: %w", err)
	}
	beside, err := os.CreateTemp(filepath.Dir(p.path), ".mcp-*.tmp") // readable by its owner only
	if err != nil {
		return fmt.Errorf("write what was approved: %w", err)
	}
	_, err = beside.Write(data)
	if err = errors.Join(err, beside.Sync(), beside.Close()); err == nil {
		err = os.Rename(beside.Name(), p.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write what was approved: %w", err), os.Remove(beside.Name()))
	}
	p.stamp = fileStamp{} // the next look reads it again
	return nil
}

// compact is JSON without blanks: the file is laid out for people.
func compact(data json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return data
	}
	return out.Bytes()
}
