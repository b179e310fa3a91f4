package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// Inputs is where settings come from. Empty folders are not looked at.
type Inputs struct {
	// Managed is the folder of the person who runs the machine, /etc/retinue.
	Managed string
	// Home, ConfigHome and DataHome are the person's; the latter two are $XDG_CONFIG_HOME and
	// $XDG_DATA_HOME, and have their usual place below Home.
	Home, ConfigHome, DataHome string
	// Project is the root of the project.
	Project string
	// Environ holds variables as NAME=value; those that begin with RETINUE_ are settings.
	Environ []string
	// Flags are the settings of the command line.
	Flags []Flag

	trusted bool
}

// Flag is one setting on the command line.
type Flag struct{ Name, Key, Value string }

// Loaded is the settings in force, and where each came from.
type Loaded struct {
	Settings Settings
	// Origins is by path, such as providers.local.base_url.
	Origins  map[string]document.Origin
	Warnings []document.Warning
	// Trusted means that the project is on the person's list.
	Trusted bool

	inputs Inputs
}

// File is a place where settings are looked for.
type File struct {
	Layer string `json:"layer"`
	Path  string `json:"path"`
	Found bool   `json:"found"`
}

// extensions are the formats that settings are written in. JSON is read as the YAML it is.
var extensions = []string{".yaml", ".yml", ".json"}

// LoadSettings reads all layers, nearest last. The error joins all faults, each a Warning with its
// place. No setting is used until all can be.
func LoadSettings(in Inputs) (Loaded, error) {
	// Whether a project is trusted must be known before its own file is read. Errors in the other
	// layers are found again below.
	alone := in
	alone.Project = ""
	others, _ := alone.read()
	in.trusted = in.trusts(others.Settings.Trust)
	return in.read()
}

// trusts reports whether the project is on a list of folders.
func (in Inputs) trusts(folders []string) bool {
	for _, folder := range folders {
		if rest, ok := strings.CutPrefix(folder, "~/"); ok {
			folder = filepath.Join(in.Home, rest)
		}
		if rel, err := filepath.Rel(filepath.Clean(folder), in.Project); err == nil && in.Project != "" && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// read puts the layers on top of each other.
func (in Inputs) read() (Loaded, error) {
	out := Loaded{
		Settings: Defaults(filepath.Join(in.dataHome(), "retinue")), Origins: map[string]document.Origin{}, Trusted: in.trusted,
		inputs: in,
	}
	for _, e := range out.Entries() {
		out.Origins[e.Key] = document.Origin{Kind: document.FromDefault}
	}
	var problems []error
	for _, l := range in.layers(&out) {
		l.read(&l)
		out.Warnings = append(out.Warnings, l.warnings...)
		problems = append(problems, l.errors...)
	}
	for name, p := range out.Settings.Providers {
		if p.BaseURL == "" && p.Kind != "" {
			p.BaseURL = usualURL[p.Kind]
			out.Settings.Providers[name] = p
			out.Origins["providers."+name+".base_url"] = document.Origin{Kind: document.FromDefault}
		}
	}
	if len(problems) == 0 {
		problems = out.check()
	}
	return out, errors.Join(problems...)
}

// layers lists the sources of settings, farthest first. Each writes over what those before it said.
func (in Inputs) layers(out *Loaded) []layer {
	var list []layer
	add := func(l layer) {
		l.settings, l.origins, l.home = &out.Settings, out.Origins, in.Home
		list = append(list, l)
	}
	for _, f := range in.folders() {
		project := f.layer == "project"
		l := layer{kind: document.FromFile, dir: f.path, stranger: project && !in.trusted, project: project, read: (*layer).file}
		if project {
			l.root = in.Project
		}
		add(l)
	}
	for _, variable := range in.Environ {
		add(layer{kind: document.FromEnv, read: func(l *layer) { l.variable(variable) }})
	}
	for _, f := range in.Flags {
		add(layer{kind: document.FromFlag, name: f.Name, read: func(l *layer) { l.assign(f.Key, f.Value) }})
	}
	return list
}

type folder struct{ layer, path string }

// folders are where files of settings are looked for, farthest first.
func (in Inputs) folders() []folder {
	var list []folder
	if in.Managed != "" {
		list = append(list, folder{"managed", in.Managed})
	}
	if home := in.configHome(); home != "" {
		list = append(list, folder{"user", filepath.Join(home, "retinue")})
	}
	if in.Project != "" {
		list = append(list, folder{"project", filepath.Join(in.Project, ".retinue")})
	}
	return list
}

func (in Inputs) configHome() string {
	if in.ConfigHome == "" && in.Home != "" {
		return filepath.Join(in.Home, ".config")
	}
	return in.ConfigHome
}

func (in Inputs) dataHome() string {
	if in.DataHome == "" && in.Home != "" {
		return filepath.Join(in.Home, ".local", "share")
	}
	return in.DataHome
}

// Files lists where settings are looked for, nearest first.
func (l Loaded) Files() []File {
	var files []File
	for _, f := range slices.Backward(l.inputs.folders()) {
		file := File{Layer: f.layer, Path: filepath.Join(f.path, "retinue.yaml")}
		for _, ext := range extensions {
			if _, err := os.Stat(filepath.Join(f.path, "retinue"+ext)); err == nil {
				file.Path, file.Found = filepath.Join(f.path, "retinue"+ext), true
			}
		}
		files = append(files, file)
	}
	return files
}

// Sources is where roles come from under these settings.
func (l Loaded) Sources() (role.Sources, error) {
	s := role.Sources{
		Project: l.inputs.Project, Home: l.inputs.Home, ConfigHome: l.inputs.ConfigHome, Trusted: l.Trusted,
		Preset: l.Settings.Roles.Preset, Defaults: l.Settings.Roles.Defaults,
	}
	rules, err := l.Settings.Permissions.Rules()
	s.Rules = rules
	return s, err
}

// Denials reads the current denials of the machine's owner. No other setting, rule, trust or
// approval overrides them, also for runs that began before.
func (l Loaded) Denials() ([]role.Rule, error) {
	if l.inputs.Managed == "" {
		return nil, nil
	}
	managed := Loaded{Origins: map[string]document.Origin{}}
	var problems []error
	for _, layer := range (Inputs{Managed: l.inputs.Managed}).layers(&managed) {
		layer.read(&layer)
		problems = append(problems, layer.errors...)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return role.Permissions{Deny: managed.Settings.Permissions.Deny}.Rules()
}

// file reads the file of a folder, if there is one. Two would leave open which one counts.
func (l *layer) file() {
	if _, err := os.Stat(filepath.Join(l.dir, "retinue.toml")); err == nil {
		l.name = filepath.Join(l.dir, "retinue.toml")
		l.fail(document.Node{}, "TOML is not read; write retinue.yaml or retinue.json")
		return
	}
	for _, ext := range extensions {
		at := filepath.Join(l.dir, "retinue"+ext)
		data, err := l.open("retinue" + ext)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if l.name != "" {
			l.fail(document.Node{Line: 1, Column: 1}, "there is also %s; keep one of the two", at)
			return
		}
		l.name = at
		if err != nil {
			l.fail(document.Node{}, "%v", err)
			return
		}
		root, err := document.Parse(data, 1)
		var c *document.Complaint
		switch {
		case errors.As(err, &c):
			l.fail(document.Node{Line: c.Line, Column: c.Column}, "%s", c.Text)
		case err != nil:
			l.fail(document.Node{}, "%v", err)
		default:
			l.put(root, reflect.ValueOf(l.settings).Elem(), "")
		}
	}
}

// open reads a file of the layer's folder. A project's file cannot be a link that leads out of it.
func (l *layer) open(name string) ([]byte, error) {
	if l.root == "" {
		return document.ReadFile(os.DirFS(l.dir), name)
	}
	root, err := os.OpenRoot(l.root)
	if err != nil {
		return nil, document.Plain(err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	return document.ReadFile(root.FS(), ".retinue/"+name)
}

// KeyVariable holds the key with which commands go to a server. It is no setting: it belongs to one
// shell, not to a project.
const KeyVariable = "RETINUE_API_KEY"

// variable takes a setting from the environment: RETINUE_JOURNAL_DSN is journal.dsn.
func (l *layer) variable(entry string) {
	name, value, _ := strings.Cut(entry, "=")
	rest, ours := strings.CutPrefix(name, "RETINUE_")
	if !ours || name == KeyVariable {
		return
	}
	l.name = name
	keys := variables(reflect.TypeFor[Settings](), "")
	for _, pattern := range slices.Sorted(maps.Keys(keys)) {
		path := keys[pattern]
		prefix, suffix, table := strings.Cut(pattern, "*")
		switch {
		case rest == pattern:
			l.assign(path, value)
			return
		case table && strings.HasPrefix(rest, prefix) && strings.HasSuffix(rest, suffix) && len(rest) > len(pattern)-1:
			entry := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(rest, prefix), suffix))
			l.assign(strings.Replace(path, "*", entry, 1), value)
			return
		}
	}
	w := document.Warning{File: name, Text: "there is no such setting"}
	if best := document.Nearest(rest, slices.Sorted(maps.Keys(keys))); best != "" {
		w.Text += fmt.Sprintf(" (did you mean RETINUE_%s?)", best)
	}
	l.warnings = append(l.warnings, w)
}

// variables maps the names of variables to paths; * stands for the name of an entry.
func variables(t reflect.Type, path string) map[string]string {
	names := map[string]string{}
	for _, k := range keysOf(t) {
		at, elem := path+k.name, t.FieldByIndex(k.index).Type
		if elem.Kind() == reflect.Map && elem.Elem().Kind() == reflect.Struct {
			at, elem = at+".*", elem.Elem()
		}
		if elem.Kind() == reflect.Struct && elem != reflect.TypeFor[Secret]() {
			maps.Copy(names, variables(elem, at+"."))
		} else if elem.Kind() != reflect.Map && k.name != "$schema" {
			names[strings.ToUpper(strings.ReplaceAll(at, ".", "_"))] = at
		}
	}
	return names
}

// assign sets one path, as if a file had said it.
func (l *layer) assign(path, value string) {
	words := strings.Split(path, ".")
	n := document.Node{Kind: document.Text, Text: value}
	for _, word := range slices.Backward(words) {
		n = document.Node{Kind: document.Table, Pairs: []document.Pair{{Key: word, Value: n}}}
	}
	l.put(n, reflect.ValueOf(l.settings).Elem(), "")
}

// Project is the root of the project that the settings were read for.
func (l Loaded) Project() string { return l.inputs.Project }
