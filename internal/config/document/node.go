package document

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Node is a value of a YAML or JSON document and its place in the file. Anchors, aliases, tags and
// merge keys are refused: nobody needs them here, and they let a small file stand for a huge one.
type Node struct {
	Line, Column int
	Kind         Kind
	// Text is a scalar as written, without its quotes.
	Text  string
	Items []Node
	Pairs []Pair
}

// Pair is a key of a table, its place, and its value.
type Pair struct {
	Key          string
	Line, Column int
	Value        Node
}

// Kind is what a value is, in words for people.
type Kind string

// The kinds of values.
const (
	Null   Kind = "nothing"
	Text   Kind = "text"
	Number Kind = "a number"
	Bool   Kind = "true or false"
	List   Kind = "a list"
	Table  Kind = "a table of keys and values"
)

const (
	// deepest is how far values may be nested.
	deepest = 32
	// largest is how many bytes a document may have: on some texts the parser takes time in
	// proportion to the square, ten seconds for 120 KiB.
	largest = 32 << 10
)

// Complaint is a fault at one place of a document.
type Complaint struct {
	Line, Column int
	Text         string
}

// Error implements error.
func (c *Complaint) Error() string { return c.Text }

// At makes a complaint about a place.
func At(line, column int, format string, args ...any) error {
	return &Complaint{line, column, fmt.Sprintf(format, args...)}
}

// Complain makes a complaint about a value.
func (n Node) Complain(format string, args ...any) error {
	return At(n.Line, n.Column, format, args...)
}

// Parse reads one document. An empty one is a table without pairs. Lines are counted from first.
func Parse(data []byte, first int) (Node, error) {
	if len(data) > largest {
		return Node{}, At(first, 1, "it is larger than %d KiB", largest>>10)
	}
	if err := tooDeep(data); err != nil {
		return Node{}, err
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return Node{}, located(err, first)
	}
	root := Node{Line: first, Column: 1, Kind: Table}
	for i, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if i > 0 {
			return Node{}, &Complaint{first, 1, "there is more than one document"}
		}
		if root, err = convert(doc.Body, first-1, 0); err != nil {
			return Node{}, err
		}
	}
	if root.Kind == Null {
		root.Kind = Table
	}
	if root.Kind != Table {
		return Node{}, root.Complain("expected keys and values, found %s", root.Kind)
	}
	return root, nil
}

// tooDeep keeps brackets without end away from the parser, which is recursive.
func tooDeep(data []byte) error {
	line, open := 1, 0
	for _, c := range data {
		switch c {
		case '\n':
			line++
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		}
		if open > 8*deepest {
			return &Complaint{line, 1, "too many open brackets"}
		}
	}
	return nil
}

// located takes the place out of the parser's error.
func located(err error, first int) error {
	var placed yaml.Error
	c := &Complaint{Line: first, Column: 1, Text: strings.SplitN(err.Error(), "\n", 2)[0]}
	if errors.As(err, &placed) {
		c.Text, _, _ = strings.Cut(placed.GetMessage(), " at [") // a place that ignores the values above it
		if tk := placed.GetToken(); tk != nil && tk.Position != nil {
			c.Line, c.Column = first-1+tk.Position.Line, tk.Position.Column
		}
	}
	return c
}

// convert makes a node of the parser's tree; offset is added to its lines.
func convert(from ast.Node, offset, depth int) (Node, error) {
	n := place(from.GetToken(), offset)
	if depth > deepest {
		return n, n.Complain("nested too deeply")
	}
	switch v := from.(type) {
	case *ast.NullNode:
		n.Kind = Null
	case *ast.StringNode:
		n.Kind, n.Text = Text, v.Value
	case *ast.LiteralNode:
		n.Kind, n.Text = Text, v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode:
		n.Kind, n.Text = Number, from.GetToken().Value
	case *ast.BoolNode:
		n.Kind, n.Text = Bool, fmt.Sprint(v.Value)
	case *ast.SequenceNode:
		return n.list(v, offset, depth)
	case *ast.MappingNode:
		return n.table(v.Values, offset, depth)
	case *ast.MappingValueNode:
		return n.table([]*ast.MappingValueNode{v}, offset, depth)
	default:
		return n, n.Complain("%s cannot be used here; write the value out", strings.ToLower(from.Type().String()))
	}
	return n, nil
}

func (n Node) list(v *ast.SequenceNode, offset, depth int) (Node, error) {
	n.Kind = List
	for _, value := range v.Values {
		item, err := convert(value, offset, depth+1)
		if err != nil {
			return n, err
		}
		n.Items = append(n.Items, item)
	}
	return n, nil
}

func (n Node) table(values []*ast.MappingValueNode, offset, depth int) (Node, error) {
	n.Kind = Table
	for i, v := range values {
		key, err := convert(v.Key, offset, depth+1)
		if err != nil {
			return n, err
		}
		if key.Kind == List || key.Kind == Table {
			return n, key.Complain("a key must be a word")
		}
		value, err := convert(v.Value, offset, depth+1)
		if err != nil {
			return n, err
		}
		if i == 0 {
			n.Line, n.Column = key.Line, key.Column
		}
		n.Pairs = append(n.Pairs, Pair{Key: key.Text, Line: key.Line, Column: key.Column, Value: value})
	}
	return n, nil
}

func place(tk *token.Token, offset int) Node {
	if tk == nil || tk.Position == nil {
		return Node{Line: offset + 1, Column: 1}
	}
	return Node{Line: offset + tk.Position.Line, Column: tk.Position.Column}
}
