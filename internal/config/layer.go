package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/config/document"
)

// layer puts the values of one source over those of the sources below it.
type layer struct {
	settings *Settings
	// origins says where each value came from, by its path.
	origins map[string]document.Origin
	kind    document.OriginKind
	name    string
	dir     string // against which files are looked up
	root    string // which links must not leave, if it is set
	home    string
	read    func(*layer)
	// stranger means that the source may not set personal values, project that it may not set the
	// operator's, trusted or not.
	stranger, project bool
	warnings          []document.Warning
	errors            []error
}

// key is one settable thing: a field of Settings or of something in it.
type key struct {
	name               string
	personal, operator bool
	index              []int
}

// keysOf lists the keys of a struct, those of embedded structs included.
func keysOf(t reflect.Type) []key {
	var keys []key
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && !f.Anonymous {
			keys = append(keys, key{
				name: name, personal: f.Tag.Get("personal") == "true", operator: f.Tag.Get("operator") == "true", index: f.Index,
			})
		}
	}
	return keys
}

func (l *layer) fail(n document.Node, format string, args ...any) {
	l.errors = append(l.errors, document.Warning{File: l.name, Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...)})
}

// put writes a document over a struct.
func (l *layer) put(n document.Node, to reflect.Value, path string) {
	if n.Kind != document.Table {
		l.fail(n, "%s: expected keys and values, found %s", strings.TrimSuffix(path, "."), n.Kind)
		return
	}
	keys := keysOf(to.Type())
	for _, p := range n.Pairs {
		at := document.Node{Line: p.Line, Column: p.Column}
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == p.Key })
		switch {
		case i < 0:
			var names []string
			for _, k := range keys {
				names = append(names, k.name)
			}
			l.fail(at, "there is no setting %s: %s", path+p.Key, document.Meant(p.Key, names))
		case keys[i].operator && l.project:
			l.warnings = append(l.warnings, document.Warning{
				File: l.name, Line: p.Line, Column: p.Column,
				Text: path + p.Key + " is ignored: no project can set it; write it into your own settings",
			})
		case keys[i].personal && l.stranger:
			l.warnings = append(l.warnings, document.Warning{
				File: l.name, Line: p.Line, Column: p.Column,
				Text: path + p.Key + " is ignored: this project is not trusted; list it under trust in your own settings to change that",
			})
		case p.Value.Kind != document.Null:
			l.set(p.Value, to.FieldByIndex(keys[i].index), path+p.Key)
		}
	}
}

// set writes one value of any type.
func (l *layer) set(n document.Node, to reflect.Value, path string) {
	switch {
	case to.Type() == reflect.TypeFor[Secret]():
		l.leaf(n, to, path)
	case to.Kind() == reflect.Struct:
		l.put(n, to, path+".")
	case to.Kind() == reflect.Map:
		l.entries(n, to, path)
	default:
		l.leaf(n, to, path)
	}
}

// entries writes a table of names; entries that the layers below have are changed, not replaced.
func (l *layer) entries(n document.Node, to reflect.Value, path string) {
	if n.Kind != document.Table {
		l.fail(n, "%s: expected keys and values, found %s", path, n.Kind)
		return
	}
	changed := reflect.MakeMap(to.Type())
	for _, k := range to.MapKeys() {
		changed.SetMapIndex(k, to.MapIndex(k))
	}
	for _, p := range n.Pairs {
		name := reflect.ValueOf(p.Key)
		entry := reflect.New(to.Type().Elem()).Elem()
		if before := changed.MapIndex(name); before.IsValid() {
			entry.Set(before)
		}
		l.set(p.Value, entry, path+"."+p.Key)
		changed.SetMapIndex(name, entry)
	}
	to.Set(changed)
}

// leaf writes a single value or a list.
func (l *layer) leaf(n document.Node, to reflect.Value, path string) {
	if err := l.decode(n, to, path); err != nil {
		l.fail(n, "%s: %v", path, err)
		return
	}
	l.origins[path] = document.Origin{Kind: l.kind, Name: l.name, Line: n.Line, Column: n.Column}
}

func (l *layer) decode(n document.Node, to reflect.Value, path string) error {
	switch v := to.Addr().Interface().(type) {
	case *Secret:
		secret, err := l.secret(n)
		*v = secret
		return err
	case *document.Millis:
		return n.ToMillis(time.Second, (*int64)(v))
	case *Price:
		return n.ToPrice((*int64)(v))
	case *ProviderKind:
		return document.ToWord(n, v, KindAnthropic, KindOpenAI)
	case *SandboxTier:
		return document.ToWord(n, v, SandboxBubblewrap, SandboxGVisor, SandboxNone)
	case *SearchKind:
		return document.ToWord(n, v, KindTavily)
	case *[]string:
		return l.list(n, v, path)
	case *string:
		return n.ToText(v)
	case *bool:
		return n.ToBool(v)
	case *int:
		count, err := strconv.Atoi(strings.ReplaceAll(n.Text, "_", ""))
		if err != nil || count < 0 || count > 1<<40 || n.Kind == document.Bool {
			return n.Complain("expected a whole number that is not negative")
		}
		*v = count
		return nil
	}
	return fmt.Errorf("settings have no values of type %s", to.Type())
}

// list replaces a list, except that denials and canaries add up.
func (l *layer) list(n document.Node, to *[]string, path string) error {
	words, err := n.Words()
	if err != nil {
		return err
	}
	var list []string
	if path == "permissions.deny" || path == "canaries.values" {
		list = slices.Clone(*to)
	}
	for _, w := range words {
		if word := strings.TrimSpace(w.Text); !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	*to = list
	return nil
}

// secret reads a reference. A variable of our own is referred to instead of copied.
func (l *layer) secret(n document.Node) (Secret, error) {
	if l.kind == document.FromEnv {
		return Secret{ref: "{env:" + l.name + "}"}, nil
	}
	var text string
	if err := n.ToText(&text); err != nil {
		return Secret{}, err
	}
	return parseSecret(text, l.dir, l.home)
}
