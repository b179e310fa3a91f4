// Package apitest holds what tests of the API share: a server on a journal in memory, and a client
// that holds every exchange against the served document. It is for tests.
package apitest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed openapi-3.1.schema.json
var openAPI []byte

const (
	documentURL = "file:///openapi.json"
	specURL     = "https://spec.openapis.org/oas/3.1/schema/2021-04-15"
)

// Contract is what a document promises.
type Contract struct {
	operations []*operation

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
	seen     map[string]int
	asked    map[string]int
}

// operation is one operation of a document.
type operation struct {
	ID          string `json:"operationId"`
	Parameters  []parameter
	RequestBody *struct {
		Content map[string]any
	}
	Responses map[string]struct {
		Content map[string]any
	}

	method, path string
	pointer      string
}

// parameter is one thing that an operation takes beside a body.
type parameter struct {
	Name, In string
	Required bool
}

// NewContract reads a document. One that is not OpenAPI 3.1 is refused.
func NewContract(document []byte) (*Contract, error) {
	c := &Contract{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}, seen: map[string]int{}, asked: map[string]int{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	for address, text := range map[string][]byte{specURL: openAPI, documentURL: document} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", address, err)
		}
		if err := c.compiler.AddResource(address, value); err != nil {
			return nil, fmt.Errorf("read %s: %w", address, err)
		}
	}
	if err := c.check(specURL, document); err != nil {
		return nil, fmt.Errorf("the document is not OpenAPI 3.1: %w", err)
	}
	var parsed struct {
		Paths      map[string]map[string]*operation
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, err
	}
	for path, methods := range parsed.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method), path
			op.pointer = documentURL + "#/paths/" + escape(path) + "/" + method
			c.operations = append(c.operations, op)
		}
	}
	slices.SortFunc(c.operations, func(a, b *operation) int { return strings.Compare(a.ID, b.ID) })
	for name := range parsed.Components.Schemas { // each can be used
		if _, err := c.schema(documentURL + "#/components/schemas/" + escape(name)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// escape writes a name as a part of a JSON pointer in an address.
func escape(name string) string {
	return url.PathEscape(strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"))
}

// Operations are the ids of all operations.
func (c *Contract) Operations() []string {
	var out []string
	for _, op := range c.operations {
		out = append(out, op.ID)
	}
	return out
}

// Unseen are the operations that no exchange was about that went well.
func (c *Contract) Unseen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(c.Operations(), func(id string) bool { return c.seen[id] > 0 })
}

// Unasked are the operations that no exchange was about.
func (c *Contract) Unasked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(c.Operations(), func(id string) bool { return c.asked[id] > 0 })
}

// Exchange is a request with its answer.
type Exchange struct {
	Method   string
	URL      *url.URL
	Request  http.Header
	Sent     []byte
	Status   int
	Response http.Header
	Received []byte
}

// Check says what of an exchange the document does not promise. What the document does not know is
// nobody's promise.
func (c *Contract) Check(e Exchange) error {
	op := c.find(e.Method, e.URL.EscapedPath())
	if op == nil {
		return nil
	}
	if err := c.answer(op, e); err != nil {
		return fmt.Errorf("%s %s (%s) answers %d: %w", e.Method, e.URL.Path, op.ID, e.Status, err)
	}
	c.mu.Lock()
	c.asked[op.ID]++
	c.mu.Unlock()
	if e.Status < 200 || e.Status > 299 {
		return nil
	}
	if err := c.request(op, e); err != nil {
		return fmt.Errorf("%s %s (%s) takes what it does not promise to take: %w", e.Method, e.URL.Path, op.ID, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[op.ID]++
	return nil
}

// find is the operation of an address, the one with the most words of its own.
func (c *Contract) find(method, path string) (found *operation) {
	most := -1
	for _, op := range c.operations {
		if words, ok := fits(op.path, path); ok && op.method == method && words > most {
			found, most = op, words
		}
	}
	return found
}

// fits reports whether a path is one of a template's, and how many of its parts are no variables.
func fits(template, path string) (words int, ok bool) {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return 0, false
	}
	for i, part := range want {
		switch {
		case strings.HasPrefix(part, "{"):
			if have[i] == "" {
				return 0, false
			}
		case part != have[i]:
			return 0, false
		default:
			words++
		}
	}
	return words, true
}

// answer holds an answer against what is promised for its status.
func (c *Contract) answer(op *operation, e Exchange) error {
	status := strconv.Itoa(e.Status)
	promised, ok := op.Responses[status]
	if !ok {
		return fmt.Errorf("no such answer is promised")
	}
	if len(promised.Content) == 0 {
		if len(e.Received) > 0 {
			return fmt.Errorf("no content is promised")
		}
		return nil
	}
	kind, _, _ := strings.Cut(e.Response.Get("Content-Type"), ";")
	if _, ok := promised.Content[kind]; !ok {
		return fmt.Errorf("the content type %q is not promised", kind)
	}
	pointer := op.pointer + "/responses/" + status + "/content/" + escape(kind) + "/schema"
	switch {
	case kind == "text/event-stream":
		for _, data := range datas(e.Received) {
			if err := c.check(pointer, data); err != nil {
				return fmt.Errorf("%.200s: %w", data, err)
			}
		}
		return nil
	case strings.HasSuffix(kind, "json") && kind != "application/x-ndjson":
		return c.check(pointer, e.Received)
	}
	return nil
}

// datas are the data of the events in a part of a stream.
func datas(stream []byte) (out [][]byte) {
	for frame := range strings.SplitSeq(string(stream), "\n\n") {
		for line := range strings.SplitSeq(frame, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok && json.Valid([]byte(data)) {
				out = append(out, []byte(data))
			}
		}
	}
	return out
}

// request holds a request that was carried out against what the document says of it.
func (c *Contract) request(op *operation, e Exchange) error {
	for name := range e.URL.Query() {
		if !slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.In == "query" && p.Name == name }) {
			return fmt.Errorf("the query has %q", name)
		}
	}
	for _, p := range op.Parameters {
		if p.In == "header" && p.Required && e.Request.Get(p.Name) == "" {
			return fmt.Errorf("the header %s is missing", p.Name)
		}
	}
	if op.RequestBody == nil {
		if len(e.Sent) > 0 {
			return fmt.Errorf("it has a body")
		}
		return nil
	}
	if _, ok := op.RequestBody.Content["application/json"]; !ok {
		return nil
	}
	return c.check(op.pointer+"/requestBody/content/application~1json/schema", e.Sent)
}

// check holds a value against a schema.
func (c *Contract) check(address string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	schema, err := c.schema(address)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// schema compiles the schema at an address, once.
func (c *Contract) schema(address string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.schemas[address]; ok {
		return s, nil
	}
	s, err := c.compiler.Compile(address)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", address, err)
	}
	c.schemas[address] = s
	return s, nil
}
