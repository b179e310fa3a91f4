package role

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/retinue-dev/retinue/internal/config/document"
)

// Output is the shape of a role's results.
type Output struct {
	Schema json.RawMessage
	// Open says why a result has room for words, empty if it has none: then the schema is closed.
	Open string

	resolved *jsonschema.Resolved
	root     map[string]any
}

const (
	// resultBytes is how large a result of a closed schema may be.
	resultBytes = 4 << 10
	// itemsMost is how many items a list of a closed schema may have.
	itemsMost = 100
	// wordBytes is how long a word of a closed schema may be, and wordsBytes all of a result together.
	wordBytes  = 64
	wordsBytes = 256
)

// Output reads the schema of the role's results. A role without one has a nil Output.
func (r Role) Output() (*Output, error) {
	if len(r.Result) == 0 {
		return nil, nil //nolint:nilnil // most roles have none
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(r.Result, &schema); err != nil {
		return nil, fmt.Errorf("read output_schema: %w", err)
	}
	if schema.Type != "object" {
		return nil, errors.New("output_schema must be of type object")
	}
	o := &Output{Schema: r.Result}
	var err error
	if o.resolved, err = schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("resolve output_schema: %w", err)
	}
	if err := json.Unmarshal(r.Result, &o.root); err != nil {
		return nil, fmt.Errorf("read output_schema: %w", err)
	}
	o.Open = opening(o.root, "the result")
	return o, nil
}

// closedWords are the keywords that a closed schema may use.
var closedWords = []string{
	"$schema", "title", "description", "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
	"uniqueItems", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "multipleOf",
}

// opening says where a schema leaves room for words.
func opening(schema map[string]any, at string) string {
	for _, word := range slices.Sorted(maps.Keys(schema)) {
		if !slices.Contains(closedWords, word) {
			return fmt.Sprintf("%s has %s, which no closed schema may use", at, word)
		}
	}
	if fixed(schema) {
		return ""
	}
	switch schema["type"] {
	case "object":
		if schema["additionalProperties"] != false {
			return at + " allows other properties: set additionalProperties to false"
		}
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			below, ok := properties[name].(map[string]any)
			if !ok {
				return fmt.Sprintf("%s of %s may be anything", name, at)
			}
			if why := opening(below, name); why != "" {
				return why
			}
		}
		return ""
	case "array":
		most, ok := schema["maxItems"].(float64)
		items, listed := schema["items"].(map[string]any)
		if !ok || most > itemsMost || !listed {
			return fmt.Sprintf("%s needs items, and maxItems of at most %d", at, itemsMost)
		}
		return opening(items, "an item of "+at)
	case "string":
		return openingText(schema, at)
	case "number", "integer", "boolean", "null":
		return ""
	}
	return at + " needs one type"
}

// fixed reports whether a schema lists all its values.
func fixed(schema map[string]any) bool {
	_, one := schema["const"]
	_, some := schema["enum"].([]any)
	return one || some
}

func openingText(schema map[string]any, at string) string {
	switch schema["format"] {
	case "date", "date-time", "uri":
		return ""
	case nil:
	default:
		return fmt.Sprintf("%s has a format that is not date, date-time or uri", at)
	}
	most, bounded := schema["maxLength"].(float64)
	if _, ok := schema["pattern"].(string); !ok || !bounded || most > wordBytes {
		return fmt.Sprintf("%s is a free text: give it an enum, a format, or a pattern and maxLength of at most %d", at, wordBytes)
	}
	return ""
}

// longestProblem is the longest description of a result's fault.
const longestProblem = 600

// Check returns the fault of a task's result, which is JSON. For a closed schema it also checks
// what a schema cannot express: dates are dates, an address is one that the task names, and words
// are words.
func (o *Output) Check(result, task string) error {
	var value any
	if err := json.Unmarshal([]byte(result), &value); err != nil {
		return errors.New("they are no JSON")
	}
	if err := o.resolved.Validate(value); err != nil {
		return fmt.Errorf("they do not fit the schema: %s", document.Clip(err.Error(), longestProblem))
	}
	if o.Open != "" {
		return nil
	}
	if len(result) > resultBytes {
		return fmt.Errorf("they have %d bytes, more than %d", len(result), resultBytes)
	}
	c := closedCheck{task: task, left: wordsBytes}
	return c.check(o.root, value, "the result")
}

// closedCheck looks through one result.
type closedCheck struct {
	task string
	// left is how many bytes of words there may be.
	left int
}

var wordPattern = regexp.MustCompile(`^[A-Za-z0-9._:/@+-]*$`)

func (c *closedCheck) check(schema map[string]any, value any, at string) error {
	if fixed(schema) {
		return nil
	}
	switch x := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(x)) {
			below, _ := properties[name].(map[string]any)
			if err := c.check(below, x[name], name); err != nil {
				return err
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range x {
			if err := c.check(items, item, "an item of "+at); err != nil {
				return err
			}
		}
	case string:
		return c.text(schema, x, at)
	}
	return nil
}

func (c *closedCheck) text(schema map[string]any, text, at string) error {
	switch schema["format"] {
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return fmt.Errorf("%s is no date such as 2026-11-18", at)
		}
		return nil
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return fmt.Errorf("%s is no time such as 2026-11-18T09:30:00Z", at)
		}
		return nil
	case "uri":
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || !slices.Contains(strings.FieldsFunc(c.task, separates), text) {
			return fmt.Errorf("%s is no address that the task names", at)
		}
		return nil
	}
	if c.left -= len(text); c.left < 0 {
		return fmt.Errorf("there are more than %d bytes of words in it", wordsBytes)
	}
	if !wordPattern.MatchString(text) {
		return fmt.Errorf("%s is no word of letters, digits and . _ : / @ + -", at)
	}
	return nil
}

// separates reports whether a character can surround an address in a text.
func separates(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`<>()[]{}|,;", r) }
