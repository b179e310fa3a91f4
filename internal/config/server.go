package config

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/retinue-dev/retinue/internal/config/document"
)

// ServerScope says whose an MCP server is.
type ServerScope string

// The scopes. A project's servers are used when the project is trusted, and hide the person's own
// of the same name there.
const (
	ScopeUser    ServerScope = "user"
	ScopeProject ServerScope = "project"
)

// Server is an MCP server as a file describes it: a program that is started, or an address.
type Server struct {
	Name   string
	Scope  ServerScope
	Origin document.Origin

	Command string
	Args    []Template
	Env     map[string]Template
	Cwd     string

	URL     string
	Headers map[string]Template

	// Hosts are where a program may send requests.
	Hosts    []string
	Disabled bool
}

// Servers are the MCP servers of the files.
type Servers struct {
	List     []Server
	Warnings []document.Warning
}

// ServerFile is where servers of a scope are described: mcp.json among a person's settings,
// .mcp.json in a project.
func (l Loaded) ServerFile(scope ServerScope, project string) string {
	switch scope {
	case ScopeUser:
		if home := l.inputs.configHome(); home != "" {
			return filepath.Join(home, "retinue", "mcp.json")
		}
	case ScopeProject:
		if project != "" {
			return filepath.Join(project, ".mcp.json")
		}
	}
	return ""
}

// TrustsProject reports whether the files of a folder may name programs to run.
func (l Loaded) TrustsProject(project string) bool {
	in := l.inputs
	in.Project = project
	return in.trusts(l.Settings.Trust)
}

// Servers reads the MCP servers that may be used in a project. An error in one does not keep the
// others from being used.
func (l Loaded) Servers(project string) Servers {
	var out Servers
	if at := l.ServerFile(ScopeUser, project); at != "" {
		data, err := document.ReadFile(os.DirFS(filepath.Dir(at)), filepath.Base(at))
		out.read(serverFile{path: at, scope: ScopeUser, home: l.inputs.Home}, data, err)
	}
	at := l.ServerFile(ScopeProject, project)
	if at == "" {
		return out
	}
	if info, err := os.Lstat(at); err == nil && info.IsDir() {
		return out // a sandbox holds the place of a file that is not there
	}
	data, err := readBelow(project, filepath.Base(at))
	if err == nil && !l.TrustsProject(project) {
		out.Warnings = append(out.Warnings, document.Warning{
			File: at, Skipped: true, Text: "this project is not trusted; list it under trust in your own settings to use its servers",
		})
		return out
	}
	out.read(serverFile{path: at, scope: ScopeProject, home: l.inputs.Home}, data, err)
	return out
}

// readBelow reads a file of a folder that is not a link out of it.
func readBelow(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, document.Plain(err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	return document.ReadFile(root.FS(), name)
}

// serverFile is one file with servers.
type serverFile struct {
	path  string
	scope ServerScope
	home  string
}

// read adds the servers of a file; of two servers with one name the later counts.
func (s *Servers) read(f serverFile, data []byte, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var root document.Node
	if err == nil {
		root, err = document.Parse(data, 1)
	}
	if err != nil {
		s.warn(f, document.Node{}, err, true)
		return
	}
	for _, p := range root.Pairs {
		if p.Key != "mcpServers" {
			continue
		}
		if p.Value.Kind != document.Table {
			s.warn(f, p.Value, p.Value.Complain("mcpServers: expected a server for each name, found %s", p.Value.Kind), true)
			return
		}
		for _, entry := range p.Value.Pairs {
			server, err := s.entry(f, entry)
			if err != nil {
				s.warn(f, entry.Value, err, true)
				continue
			}
			s.put(server)
		}
	}
}

func (s *Servers) put(server Server) {
	for i := range s.List {
		if s.List[i].Name == server.Name {
			s.List[i] = server
			return
		}
	}
	s.List = append(s.List, server)
}

func (s *Servers) warn(f serverFile, at document.Node, err error, skipped bool) {
	w := document.Warning{File: f.path, Line: at.Line, Column: at.Column, Skipped: skipped, Text: err.Error()}
	if c, ok := errors.AsType[*document.Complaint](err); ok {
		w.Line, w.Column = c.Line, c.Column
	}
	s.Warnings = append(s.Warnings, w)
}

// serverName matches the names of servers. Two underscores separate the name from a tool's, so they
// are neither in it nor at its ends.
var serverName = regexp.MustCompile(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$`)

// longestServerName leaves room for the names of tools: models know names of 64 letters at most.
const longestServerName = 32

// CheckServerName complains of a name that no server may have.
func CheckServerName(name string) error {
	if !serverName.MatchString(name) || len(name) > longestServerName {
		return errors.New(`a server cannot be called "` + name + `": use up to 32 letters, digits, - and single _ between them`)
	}
	return nil
}

// entry reads one server.
func (s *Servers) entry(f serverFile, p document.Pair) (Server, error) {
	out := Server{Name: p.Key, Scope: f.scope, Origin: document.Origin{Kind: document.FromFile, Name: f.path, Line: p.Line, Column: p.Column}}
	if err := CheckServerName(p.Key); err != nil {
		return out, document.At(p.Line, p.Column, "%v", err)
	}
	if p.Value.Kind != document.Table {
		return out, p.Value.Complain("%s: expected keys and values, found %s", p.Key, p.Value.Kind)
	}
	kind := ""
	for _, field := range p.Value.Pairs {
		known, err := out.field(f, field, &kind)
		if err != nil {
			return out, field.Value.Complain("%s.%s: %v", p.Key, field.Key, err)
		}
		if !known {
			s.warn(f, field.Value, field.Value.Complain("%s.%s is ignored", p.Key, field.Key), false)
		}
	}
	if err := out.check(kind); err != nil {
		return out, p.Value.Complain("%s: %v", p.Key, err)
	}
	return out, nil
}

// field reads one key of a server and says whether there is one of that name.
func (v *Server) field(f serverFile, p document.Pair, kind *string) (known bool, err error) {
	n := p.Value
	if n.Kind == document.Null {
		return true, nil
	}
	switch p.Key {
	case "type", "transport":
		err = n.ToText(kind)
	case "command":
		err = n.ToText(&v.Command)
	case "args":
		v.Args, err = f.templates(n)
	case "env":
		v.Env, err = f.table(n)
	case "cwd":
		err = n.ToText(&v.Cwd)
	case "url":
		err = n.ToText(&v.URL)
	case "headers":
		v.Headers, err = f.table(n)
	case "hosts":
		v.Hosts, err = texts(n)
	case "disabled":
		err = n.ToBool(&v.Disabled)
	default:
		return false, nil
	}
	return true, err
}

// texts reads a list of texts.
func texts(n document.Node) ([]string, error) {
	if n.Kind != document.List {
		return nil, n.Complain("expected a list, found %s", n.Kind)
	}
	var out []string
	for _, item := range n.Items {
		var text string
		if err := item.ToText(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func (f serverFile) templates(n document.Node) ([]Template, error) {
	list, err := texts(n)
	if err != nil {
		return nil, err
	}
	var out []Template
	for _, text := range list {
		t, err := f.template(text)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (f serverFile) table(n document.Node) (map[string]Template, error) {
	if n.Kind != document.Table {
		return nil, n.Complain("expected keys and values, found %s", n.Kind)
	}
	out := map[string]Template{}
	for _, p := range n.Pairs {
		var text string
		if err := p.Value.ToText(&text); err != nil {
			return nil, err
		}
		t, err := f.template(text)
		if err != nil {
			return nil, p.Value.Complain("%s: %v", p.Key, err)
		}
		out[p.Key] = t
	}
	return out, nil
}

func (f serverFile) template(text string) (Template, error) {
	return parseTemplate(text, filepath.Dir(f.path), f.home)
}

// check finds parts of a server that do not fit each other.
func (v Server) check(kind string) error {
	switch kind {
	case "", "stdio", "http", "streamable-http", "streamableHttp":
	case "sse":
		return errors.New("the old SSE transport is not spoken here: give the server's streamable HTTP address, and type http")
	default:
		return errors.New(`there is no type "` + kind + `": stdio or http`)
	}
	switch {
	case v.Command == "" && v.URL == "":
		return errors.New("give it a command or a url")
	case v.Command != "" && v.URL != "":
		return errors.New("it has a command and a url: give one")
	case v.URL != "" && kind == "stdio", v.Command != "" && kind != "" && kind != "stdio":
		return errors.New("type " + kind + " does not fit the rest")
	case v.URL != "" && (len(v.Hosts) > 0 || len(v.Env) > 0 || len(v.Args) > 0 || v.Cwd != ""):
		return errors.New("hosts, env, args and cwd are for servers with a command")
	case v.Command != "" && len(v.Headers) > 0:
		return errors.New("headers are for servers with a url")
	case v.URL != "":
		return checkServerURL(v.URL)
	}
	for _, host := range v.Hosts {
		if host == "" || strings.ContainsAny(host, "/ @") {
			return errors.New("hosts: write names such as api.example.com, *.example.com or example.com:8443")
		}
	}
	return nil
}

func checkServerURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("url: write an address such as https://mcp.example.com/mcp")
	}
	if u.User != nil || looksSecret(text) {
		return errors.New("url: a secret must not be written here: put it into a header, as {env:NAME}")
	}
	return nil
}
