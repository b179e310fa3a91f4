// Package apitest holds what tests of the API share: a server on a journal in memory, and a client
// that checks every exchange against the served document. It is for tests.
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
	counts   Counts
}

// Counts say how much was checked against a document.
type Counts struct {
	// Answers are all that were whole, and Events those of streams among them.
	Answers, Events int
}

// String implements fmt.Stringer.
func (n Counts) String() string {
	return fmt.Sprintf("%d answers and %d events of streams were held against the served document", n.Answers, n.Events)
}

// operation is one operation of a document.
type operation struct {
	ID          string `json:"operationId"`
	Parameters  []parameter
	RequestBody *struct {
		Content map[string]any
	}
	Responses map[string]struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			}
		}
	}

	method  string
	parts   []string
	pointer string
	// events are where the schema of each type of event is, for operations that stream.
	events map[string]string
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
		Components struct {
			Schemas map[string]struct {
				Discriminator struct{ Mapping map[string]string }
			}
		}
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, err
	}
	for path, methods := range parsed.Paths {
		for method, op := range methods {
			op.method, op.parts = strings.ToUpper(method), strings.Split(path, "/")
			op.pointer = documentURL + "#/paths/" + escape(path) + "/" + method
			stream := op.Responses["200"].Content["text/event-stream"].Schema.Ref
			op.events = parsed.Components.Schemas[strings.TrimPrefix(stream, "#/components/schemas/")].Discriminator.Mapping
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

// Counts say how much was checked against the document so far.
func (c *Contract) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// exchange is a request with its answer.
type exchange struct {
	op       *operation
	request  *http.Request
	sent     []byte
	response *http.Response
}

// fail says what is wrong with an exchange.
func (e exchange) fail(what string, err error) error {
	return fmt.Errorf("%s %s (%s) %s: %w", e.request.Method, e.request.URL.Path, e.op.ID, what, err)
}

// head says what of an answer's status and content type, and of the request that was carried out,
// the document does not promise.
func (c *Contract) head(e exchange) error {
	if err := e.op.promises(e.response); err != nil {
		return e.fail(fmt.Sprint("answers ", e.response.StatusCode), err)
	}
	if e.response.StatusCode < 200 || e.response.StatusCode > 299 {
		return nil
	}
	if err := c.taken(e); err != nil {
		return e.fail("takes what it does not promise to take", err)
	}
	return nil
}

// body says what of an answer that is here whole the document does not promise.
func (c *Contract) body(e exchange, received []byte) error {
	kind, pointer := e.op.place(e.response)
	var err error
	switch {
	case pointer == "" && len(received) > 0:
		err = fmt.Errorf("no content is promised")
	case strings.HasSuffix(kind, "json") && pointer != "":
		err = c.check(pointer, received)
	}
	if err != nil {
		return e.fail(fmt.Sprint("answers ", e.response.StatusCode), err)
	}
	return nil
}

// event says what of an event of a stream the document does not promise.
func (c *Contract) event(e exchange, name string, data []byte) error {
	c.mu.Lock()
	c.counts.Events++
	c.mu.Unlock()
	var typed struct{ Type string }
	err := json.Unmarshal(data, &typed)
	schema, ok := e.op.events[typed.Type]
	switch {
	case err != nil:
	case !ok:
		err = fmt.Errorf("no such type is promised")
	case typed.Type != name:
		err = fmt.Errorf("it is called %q", name)
	default:
		err = c.check(documentURL+schema, data)
	}
	if err != nil {
		return e.fail(fmt.Sprintf("sends %.300s", data), err)
	}
	return nil
}

// note counts an answer. Whole ones that went well are what an operation was seen by.
func (c *Contract) note(e exchange, well bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Answers++
	c.asked[e.op.ID]++
	if well && e.response.StatusCode >= 200 && e.response.StatusCode <= 299 {
		c.seen[e.op.ID]++
	}
}

// find is the operation of an address, the one with the most words of its own. An address that the
// document does not know is nobody's promise.
func (c *Contract) find(method, path string) (found *operation) {
	most, have := -1, strings.Split(path, "/")
	for _, op := range c.operations {
		if op.method != method {
			continue
		}
		if words, ok := fits(op.parts, have); ok && words > most {
			found, most = op, words
		}
	}
	return found
}

// fits reports whether a path is one of a template's, and how many of its parts are no variables.
func fits(template, path []string) (words int, ok bool) {
	if len(template) != len(path) {
		return 0, false
	}
	for i, part := range template {
		switch {
		case strings.HasPrefix(part, "{"):
			if path[i] == "" {
				return 0, false
			}
		case part != path[i]:
			return 0, false
		default:
			words++
		}
	}
	return words, true
}

// promises refuses a status, or a content type of it, that an operation does not have.
func (op *operation) promises(r *http.Response) error {
	promised, ok := op.Responses[strconv.Itoa(r.StatusCode)]
	if !ok {
		return fmt.Errorf("no such answer is promised")
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if _, ok := promised.Content[kind]; !ok && len(promised.Content) > 0 {
		return fmt.Errorf("the content type %q is not promised", kind)
	}
	return nil
}

// place is where the schema of an answer's content is, empty if none is promised.
func (op *operation) place(r *http.Response) (kind, pointer string) {
	kind, _, _ = strings.Cut(r.Header.Get("Content-Type"), ";")
	status := strconv.Itoa(r.StatusCode)
	if _, ok := op.Responses[status].Content[kind]; !ok {
		return kind, ""
	}
	return kind, op.pointer + "/responses/" + status + "/content/" + escape(kind) + "/schema"
}

// taken checks a request that was carried out against what the document says of it.
func (c *Contract) taken(e exchange) error {
	op := e.op
	for name := range e.request.URL.Query() {
		if !slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.In == "query" && p.Name == name }) {
			return fmt.Errorf("the query has %q", name)
		}
	}
	for _, p := range op.Parameters {
		if p.In == "header" && p.Required && e.request.Header.Get(p.Name) == "" {
			return fmt.Errorf("the header %s is missing", p.Name)
		}
	}
	if op.RequestBody == nil {
		if len(e.sent) > 0 {
			return fmt.Errorf("it has a body")
		}
		return nil
	}
	if _, ok := op.RequestBody.Content["application/json"]; !ok {
		return nil
	}
	return c.check(op.pointer+"/requestBody/content/application~1json/schema", e.sent)
}

// check validates a value against a schema.
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
