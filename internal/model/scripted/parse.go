package scripted

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Parse reads a script from YAML. Every fault is reported as file:line:column, with the allowed
// values.
func Parse(file string, text []byte) (*Script, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, placed(file, err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return nil, fmt.Errorf("%s:1:1: want one YAML document with name, rules and default", file)
	}
	var faults []error
	walk(tree.Docs[0].Body, reflect.TypeFor[Script](), func(at ast.Node, text string) {
		faults = append(faults, fmt.Errorf("%s: %s", position(file, at), text))
	})
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	script := &Script{}
	if err := yaml.UnmarshalWithOptions(text, script, yaml.Strict()); err != nil {
		return nil, placed(file, err)
	}
	if script.Name == "" {
		script.Name = file
	}
	for _, p := range script.problems() {
		faults = append(faults, fmt.Errorf("%s: %s", locate(file, tree, p.path), p.text))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return script, nil
}

// placed puts a parser's error into the same form as ours.
func placed(file string, err error) error {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		if at := e.GetToken(); at != nil {
			return fmt.Errorf("%s:%d:%d: %s", file, at.Position.Line, at.Position.Column, e.GetMessage())
		}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// locate finds the node that a path leads to, or the nearest one above it that exists.
func locate(file string, tree *ast.File, path string) string {
	for {
		if p, err := yaml.PathString(path); err == nil {
			if node, err := p.FilterFile(tree); err == nil && node != nil {
				return position(file, node)
			}
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return file + ":1:1"
		}
		path = path[:cut]
	}
}

func position(file string, node ast.Node) string {
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		node = m.Values[0].Key
	}
	at := node.GetToken().Position
	return fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
}

// walk checks the keys of a YAML tree against the fields of a type.
func walk(node ast.Node, t reflect.Type, report func(ast.Node, string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		walk(n.Value, t, report)
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice {
			return
		}
		for _, v := range n.Values {
			walk(v, t.Elem(), report)
		}
	case *ast.MappingNode:
		if t.Kind() != reflect.Struct {
			return
		}
		fields := map[string]reflect.Type{}
		var allowed []string
		for f := range t.Fields() {
			fields[f.Tag.Get("yaml")] = f.Type
			allowed = append(allowed, f.Tag.Get("yaml"))
		}
		for _, v := range n.Values {
			key := v.Key.GetToken().Value
			field, ok := fields[key]
			if !ok && key != "<<" {
				report(v.Key, fmt.Sprintf("unknown field %q: allowed are %s", key, strings.Join(allowed, ", ")))
				continue
			}
			if ok {
				walk(v.Value, field, report)
			}
		}
	}
}
